// The product of two row-major matrices, result = a * b, with a: m x k, b: k x n, result: m x n.
//
// matmul_naive  each thread reads a row of a and a column of b from global memory
// matmul_tiled  a block shares 16x16 tiles of both, so that it reads each value once and not 16 times
//
// Geometry of both: 16x16 threads, one result each. Indices are int: each matrix must stay below 2^31 elements.

#define TILE 16

extern "C" __global__ void matmul_naive(const float* __restrict__ a, const float* __restrict__ b,
                                        float* __restrict__ result, int m, int n, int k)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n)
        return;
    float sum = 0.0f;
    for (int l = 0; l < k; ++l)
        sum += a[i * k + l] * b[l * n + j];
    result[i * n + j] = sum;
}

extern "C" __global__ void __launch_bounds__(TILE * TILE)
matmul_tiled(const float* __restrict__ a, const float* __restrict__ b,
             float* __restrict__ result, int m, int n, int k)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int j = blockIdx.x * TILE + x;
    const int i = blockIdx.y * TILE + y;

    float sum = 0.0f;
    for (int start = 0; start < k; start += TILE) {
        tile_a[y][x] = i < m && start + x < k ? a[i * k + start + x] : 0.0f;
        tile_b[y][x] = start + y < k && j < n ? b[(start + y) * n + j] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int l = 0; l < TILE; ++l)
            sum += tile_a[y][l] * tile_b[l][x];
        // Other threads must have read the tile before it is overwritten.
        __syncthreads();
    }
    if (i < m && j < n)
        result[i * n + j] = sum;
}
