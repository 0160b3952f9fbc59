// A 13x13 convolution of a row-major image, three times over:
//
//   result[i,j] = sum over k,l = 0..12 of mask[k,l] * image[i-k+6, j-l+6], zero outside the image.
//
// convolve_double  the accumulator is a double by mistake; everything else is convolve_single
// convolve_single  the same code in single precision
// convolve_tiled   image tile and mask in shared memory, eight results per thread
//
// All three produce the same image. Indices are int: height * width must stay below 2^31.

#define MASK 13
#define RADIUS 6

// Geometry of the two plain versions: 16x16 threads, one result each.

// The bug that a profile should expose. One word, `double`, turns each of the 169 multiply-adds
// into a double-precision one and adds conversions. Consumer GPUs have one double-precision
// unit for 32 or 64 single-precision ones; data-centre GPUs have one for two, and hide the bug.
extern "C" __global__ void convolve_double(const float* __restrict__ image,
                                           const float* __restrict__ mask,
                                           float* __restrict__ result, int height, int width)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= height || j >= width)
        return;
    double sum = 0.0;
    for (int k = 0; k < MASK; ++k) {
        const int row = i - k + RADIUS;
        if (row < 0 || row >= height)
            continue;
        for (int l = 0; l < MASK; ++l) {
            const int column = j - l + RADIUS;
            if (column < 0 || column >= width)
                continue;
            const double weight = mask[k * MASK + l];
            sum += weight * image[row * width + column];
        }
    }
    result[i * width + j] = sum;
}

extern "C" __global__ void convolve_single(const float* __restrict__ image,
                                           const float* __restrict__ mask,
                                           float* __restrict__ result, int height, int width)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= height || j >= width)
        return;
    float sum = 0.0f;
    for (int k = 0; k < MASK; ++k) {
        const int row = i - k + RADIUS;
        if (row < 0 || row >= height)
            continue;
        for (int l = 0; l < MASK; ++l) {
            const int column = j - l + RADIUS;
            if (column < 0 || column >= width)
                continue;
            const float weight = mask[k * MASK + l];
            sum += weight * image[row * width + column];
        }
    }
    result[i * width + j] = sum;
}

// Geometry of the tiled version: 32x8 threads; a block makes 32 columns by 64 rows of the result,
// a thread one column of eight rows. With its halo of RADIUS on each side the tile is 76x44
// floats: 13,376 bytes, and the mask 676 more.
#define TILE_WIDTH 32
#define THREAD_ROWS 8
#define ROWS 8
#define TILE_HEIGHT (THREAD_ROWS * ROWS)
#define HALO_WIDTH (TILE_WIDTH + MASK - 1)
#define HALO_HEIGHT (TILE_HEIGHT + MASK - 1)

extern "C" __global__ void __launch_bounds__(TILE_WIDTH * THREAD_ROWS)
convolve_tiled(const float* __restrict__ image, const float* __restrict__ mask,
               float* __restrict__ result, int height, int width)
{
    __shared__ float tile[HALO_HEIGHT][HALO_WIDTH];
    __shared__ float weights[MASK][MASK];

    const int thread = threadIdx.y * TILE_WIDTH + threadIdx.x;
    const int threads = TILE_WIDTH * THREAD_ROWS;
    const int top = blockIdx.y * TILE_HEIGHT - RADIUS;
    const int left = blockIdx.x * TILE_WIDTH - RADIUS;

    for (int n = thread; n < MASK * MASK; n += threads)
        weights[n / MASK][n % MASK] = mask[n];
    for (int n = thread; n < HALO_HEIGHT * HALO_WIDTH; n += threads) {
        const int row = top + n / HALO_WIDTH;
        const int column = left + n % HALO_WIDTH;
        const bool inside = row >= 0 && row < height && column >= 0 && column < width;
        tile[n / HALO_WIDTH][n % HALO_WIDTH] = inside ? image[row * width + column] : 0.0f;
    }
    __syncthreads();

    // One image column of ROWS + MASK - 1 values serves ROWS results: 33 shared-memory reads
    // for 104 multiply-adds, where the plain versions read twice for each one.
    const int first = threadIdx.y * ROWS;
    float sum[ROWS] = {0.0f};
    for (int l = 0; l < MASK; ++l) {
        float column[ROWS + MASK - 1];
#pragma unroll
        for (int r = 0; r < ROWS + MASK - 1; ++r)
            column[r] = tile[first + r][threadIdx.x + 2 * RADIUS - l];
#pragma unroll
        for (int k = 0; k < MASK; ++k) {
            const float weight = weights[k][l];
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
                sum[r] += weight * column[r - k + 2 * RADIUS];
        }
    }

    const int j = blockIdx.x * TILE_WIDTH + threadIdx.x;
    const int i = blockIdx.y * TILE_HEIGHT + first;
    if (j >= width)
        return;
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (i + r < height)
            result[(i + r) * width + j] = sum[r];
}
