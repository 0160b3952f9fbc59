// Sums, without atomics: the order of the additions is fixed, so the same input gives the same bits each time.
//
// reduce_sum   one partial sum per block: partial[block] = sum of the elements read by the block.
//              A second launch with one block on the partial sums gives the whole sum.
// column_sums  sums[j] = sum over i of matrix[i,j], row-major, rows x columns
//
// reduce_sum reads four bytes for each addition: memory limits it.
// Geometry of reduce_sum: 256 threads, any number of blocks, which stride through the input together.
// Geometry of column_sums: any one-dimensional one with at least `columns` threads, one column each.

#define THREADS 256

extern "C" __global__ void __launch_bounds__(THREADS)
reduce_sum(const float* __restrict__ x, float* __restrict__ partial, unsigned int n)
{
    __shared__ float sums[THREADS];

    float sum = 0.0f;
    // 64 bits: n near 2^32 plus a stride must not wrap around.
    const unsigned long long stride = (unsigned long long)gridDim.x * THREADS;
    for (unsigned long long i = (unsigned long long)blockIdx.x * THREADS + threadIdx.x; i < n; i += stride)
        sum += x[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sums[0];
}

extern "C" __global__ void column_sums(const float* __restrict__ matrix, float* __restrict__ sums,
                                       int rows, int columns)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= columns)
        return;
    float sum = 0.0f;
    for (int i = 0; i < rows; ++i)
        sum += matrix[i * columns + j];
    sums[j] = sum;
}
