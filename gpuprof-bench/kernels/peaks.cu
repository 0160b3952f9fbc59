// What a device reaches at most: bytes moved, and multiply-adds computed.
//
// gpuprof_copy      each thread copies one vector of 16 bytes: on an H200 faster than several per thread or a
//                   grid-stride loop, and than the driver's copy
// gpuprof_fma_*     each thread computes 8 chains of `rounds` multiply-adds, enough to hide their
//                   latency at any occupancy; the result is written so that nothing is left out
//
// Geometry: one dimension, with a thread for each vector, or as many as the device holds at once.

#define CHAINS 8

extern "C" __global__ void gpuprof_copy(const float4* __restrict__ source, float4* __restrict__ target,
                                        unsigned long long count)
{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        target[i] = source[i];
}

template <typename T> __device__ void multiply_and_add(T* result, unsigned rounds)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    // Below 1, so that no chain overflows.
    const T factor = (T)0.5 + (T)thread * (T)1e-9;
    T chain[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; ++i)
        chain[i] = (T)i;
#pragma unroll 16
    for (unsigned round = 0; round < rounds; ++round)
#pragma unroll
        for (int i = 0; i < CHAINS; ++i)
            chain[i] = chain[i] * factor + factor;
    T sum = 0;
#pragma unroll
    for (int i = 0; i < CHAINS; ++i)
        sum += chain[i];
    result[thread] = sum;
}

extern "C" __global__ void gpuprof_fma_f32(float* result, unsigned rounds)
{
    multiply_and_add(result, rounds);
}

extern "C" __global__ void gpuprof_fma_f64(double* result, unsigned rounds)
{
    multiply_and_add(result, rounds);
}
