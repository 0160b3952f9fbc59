// Kernels that are each limited by something else: docs/counters.md has what `gpuprof run --counters`
// and Nsight Compute say of them. It takes how often each runs, and how often `reduce` runs before.
//
//     nvcc -O3 -arch=native -lineinfo -o limits limits.cu && gpuprof run --counters -- ./limits 200

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

constexpr int TILE = 32;

__device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Memory.
__global__ void copy(const float4 *from, float4 *to, size_t n) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += step)
        to[i] = from[i];
}

// Multiplications and additions: in `double` FP64 is the limit, in `float` the issue rate.
template <class T> __device__ void multiply_add(T *out, int n) {
    T a = threadIdx.x, b = 1.000001, c = 0.5, d = a + 1, e = a + 2, f = a + 3;
    for (int i = 0; i < n; i++) {
        a = a * b + c;
        d = d * b + c;
        e = e * b + c;
        f = f * b + c;
    }
    out[thread()] = a + d + e + f;
}

__global__ void fp64_loop(double *out, int n) { multiply_add(out, n); }
__global__ void fma_loop(float *out, int n) { multiply_add(out, n); }

// ALU: logic and comparisons.
__global__ void alu_loop(unsigned *out, int n) {
    unsigned a = threadIdx.x, b = a ^ 77, c = a + 5, d = a * 3;
    for (int i = 0; i < n; i++) {
        a = (a ^ b) | (c & 0x55);
        b = (b ^ c) & ~d;
        c = min(c ^ d, a);
        d = max(d ^ a, b);
    }
    out[thread()] = a + b + c + d;
}

// XU: special functions.
__global__ void xu_loop(float *out, int n) {
    float a = threadIdx.x * 1e-3f + 1, b = a + 1;
    for (int i = 0; i < n; i++) {
        a = rsqrtf(a) + 1.f;
        b = rsqrtf(b) + 1.f;
    }
    out[thread()] = a + b;
}

// The L2 cache: 16 MiB are read again and again, past L1.
__global__ void l2_read(const float4 *values, float *out, size_t n, int rounds) {
    float sum = 0;
    for (int round = 0; round < rounds; round++) {
        size_t i = (thread() + round * 4099) % n;
        for (int k = 0; k < 16; k++, i = (i + 262144) % n) {
            float4 v = __ldcg(values + i);
            sum += v.x + v.y + v.z + v.w;
        }
    }
    if (sum == 12345.f)
        out[0] = sum;
}

// Shared memory, without and with bank conflicts.
__global__ void shared_loop(float *out, int n) {
    __shared__ float values[1024];
    values[threadIdx.x] = threadIdx.x;
    __syncthreads();
    float sum = 0;
    int j = threadIdx.x;
    for (int i = 0; i < n; i++) {
        sum += values[j] + values[j ^ 32] + values[j ^ 64] + values[j ^ 96];
        j = (j + 128) & 1023;
    }
    out[thread()] = sum;
}

__global__ void bank_conflicts(float *out, int n) {
    __shared__ float values[1024 + 32];
    values[threadIdx.x] = threadIdx.x;
    __syncthreads();
    float sum = 0;
    int j = (threadIdx.x * 32) & 1023;
    for (int i = 0; i < n; i++) {
        sum += values[j];
        j = (j + 32) & 1023;
    }
    out[thread()] = sum;
}

// Two of 32 threads have work, one after the other.
__global__ void divergent(float *out, int n) {
    float a = threadIdx.x;
    if (threadIdx.x % 32 == 0)
        for (int i = 0; i < n; i++)
            a = a * 1.0001f + 0.5f;
    else if (threadIdx.x % 32 == 1)
        for (int i = 0; i < n; i++)
            a = a * 1.0002f + 0.25f;
    out[thread()] = a;
}

// Latency: each read depends on the one before.
__global__ void chase(const unsigned *next, unsigned *out, int n) {
    unsigned i = thread() * 1024u;
    for (int k = 0; k < n; k++)
        i = next[i & 0x3ffffff];
    out[thread()] = i;
}

__global__ void transpose_naive(const float *from, float *to, int n) {
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        to[(size_t)x * n + y + j] = from[(size_t)(y + j) * n + x];
}

__global__ void transpose_tiled(const float *from, float *to, int n) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = from[(size_t)(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        to[(size_t)(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void matmul_naive(const float *a, const float *b, float *c, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[(size_t)y * n + k] * b[(size_t)k * n + x];
    c[(size_t)y * n + x] = sum;
}

__global__ void matmul_tiled(const float *a, const float *b, float *c, int n) {
    __shared__ float of_a[TILE][TILE], of_b[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        of_a[threadIdx.y][threadIdx.x] = a[(size_t)y * n + k + threadIdx.x];
        of_b[threadIdx.y][threadIdx.x] = b[(size_t)(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += of_a[threadIdx.y][i] * of_b[i][threadIdx.x];
        __syncthreads();
    }
    c[(size_t)y * n + x] = sum;
}

// A convolution whose accumulator is a `double`, or not.
template <class Sum>
__device__ void convolve(const float *in, const float *weights, float *out, int n, int radius) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    Sum sum = 0;
    for (int j = -radius; j <= radius; j++)
        for (int i = -radius; i <= radius; i++) {
            int u = min(max(x + i, 0), n - 1), v = min(max(y + j, 0), n - 1);
            sum += (Sum)in[(size_t)v * n + u] *
                   (Sum)weights[(j + radius) * (2 * radius + 1) + i + radius];
        }
    out[(size_t)y * n + x] = (float)sum;
}

__global__ void conv_double(const float *in, const float *weights, float *out, int n, int radius) {
    convolve<double>(in, weights, out, n, radius);
}

__global__ void conv_single(const float *in, const float *weights, float *out, int n, int radius) {
    convolve<float>(in, weights, out, n, radius);
}

__global__ void reduce(const float *values, float *out, size_t n) {
    float sum = 0;
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += step)
        sum += values[i];
    for (int offset = 16; offset; offset /= 2)
        sum += __shfl_down_sync(~0u, sum, offset);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}

// A convolution of radius 5 with a block's part of the input in shared memory.
__global__ void conv_tiled(const float *in, const float *weights, float *out, int n) {
    const int radius = 5, size = 2 * radius + 1, width = 32 + 2 * radius, height = 8 + 2 * radius;
    __shared__ float tile[height][width], mask[size * size];
    int thread = threadIdx.y * 32 + threadIdx.x;
    int left = (int)blockIdx.x * 32 - radius, top = (int)blockIdx.y * 8 - radius;
    for (int i = thread; i < size * size; i += 256)
        mask[i] = weights[i];
    for (int i = thread; i < width * height; i += 256) {
        int u = min(max(left + i % width, 0), n - 1), v = min(max(top + i / width, 0), n - 1);
        tile[i / width][i % width] = in[(size_t)v * n + u];
    }
    __syncthreads();
    float sum = 0;
    for (int j = 0; j < size; j++)
        for (int i = 0; i < size; i++)
            sum += tile[threadIdx.y + j][threadIdx.x + i] * mask[j * size + i];
    out[(size_t)(blockIdx.y * 8 + threadIdx.y) * n + blockIdx.x * 32 + threadIdx.x] = sum;
}

static void check(cudaError_t status) {
    if (status != cudaSuccess) {
        printf("%s\n", cudaGetErrorString(status));
        exit(1);
    }
}

template <class Launch> static void run(int times, Launch launch) {
    for (int i = 0; i < times; i++)
        launch();
    check(cudaDeviceSynchronize());
}

int main(int count, char **arguments) {
    int times = count > 1 ? atoi(arguments[1]) : 20, first = count > 2 ? atoi(arguments[2]) : 0;
    size_t n = (size_t)1 << 28;
    float *a, *b, *weights, *small;
    check(cudaMalloc(&a, n * 4));
    check(cudaMalloc(&b, n * 4));
    check(cudaMalloc(&weights, 4096));
    check(cudaMalloc(&small, 64 << 20));
    check(cudaMemset(a, 0, n * 4));
    check(cudaMemset(weights, 0, 4096));
    check(cudaMemset(small, 0, 64 << 20));
    check(cudaDeviceSynchronize());
    int sms;
    check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    int blocks = sms * 8;
    dim3 rows(32, 8);
    // Sampling takes a while to start.
    run(first, [&] { reduce<<<blocks, 256>>>(a, small, n); });
    run(times, [&] { copy<<<blocks, 256>>>((float4 *)a, (float4 *)b, n / 4); });
    run(times, [&] { fp64_loop<<<blocks, 256>>>((double *)small, 4000); });
    run(times, [&] { fma_loop<<<blocks, 256>>>(small, 20000); });
    run(times, [&] { alu_loop<<<blocks, 256>>>((unsigned *)small, 8000); });
    run(times, [&] { xu_loop<<<blocks, 256>>>(small, 6000); });
    run(times, [&] { l2_read<<<blocks, 256>>>((float4 *)a, small, 1 << 20, 60); });
    run(times, [&] { shared_loop<<<sms * 2, 1024>>>(small, 6000); });
    run(times, [&] { bank_conflicts<<<sms * 2, 1024>>>(small, 800); });
    run(times, [&] { divergent<<<blocks, 256>>>(small, 20000); });
    run(times, [&] { chase<<<sms, 64>>>((unsigned *)a, (unsigned *)small, 3000); });
    run(times, [&] { transpose_naive<<<dim3(512, 512), rows>>>(a, b, 16384); });
    run(times, [&] { transpose_tiled<<<dim3(512, 512), rows>>>(a, b, 16384); });
    run(times, [&] { matmul_naive<<<dim3(64, 256), rows>>>(a, b, small, 2048); });
    run(times, [&] { matmul_tiled<<<dim3(64, 64), dim3(32, 32)>>>(a, b, small, 2048); });
    run(times, [&] { conv_double<<<dim3(128, 512), rows>>>(a, weights, b, 4096, 5); });
    run(times, [&] { conv_single<<<dim3(128, 512), rows>>>(a, weights, b, 4096, 5); });
    run(times, [&] { reduce<<<blocks, 256>>>(a, small, n); });
    run(times, [&] { conv_tiled<<<dim3(128, 512), rows>>>(a, weights, b, 4096); });
    puts("done");
}
