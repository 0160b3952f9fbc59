// The transpose of a row-major matrix: result[j,i] = matrix[i,j], with matrix: height x width.
//
// No arithmetic: memory limits it. A block transposes a 32x32 tile in shared memory, so that reads and writes both
// go along rows. Geometry: 32x8 threads, four elements each. Indices are int: height * width must stay below 2^31.

#define TILE 32
#define THREAD_ROWS 8

extern "C" __global__ void __launch_bounds__(TILE * THREAD_ROWS)
transpose(const float* __restrict__ matrix, float* __restrict__ result, int height, int width)
{
    // One column more than needed: a column of the tile then lies in 32 different banks.
    __shared__ float tile[TILE][TILE + 1];

    const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    for (int row = threadIdx.y; row < TILE; row += THREAD_ROWS) {
        const int i = top + row, j = left + threadIdx.x;
        if (i < height && j < width)
            tile[row][threadIdx.x] = matrix[i * width + j];
    }
    __syncthreads();
    for (int row = threadIdx.y; row < TILE; row += THREAD_ROWS) {
        const int i = top + threadIdx.x, j = left + row;
        if (i < height && j < width)
            result[j * height + i] = tile[threadIdx.x][row];
    }
}
