// Pairs of kernels: of the first one gpuprof has a finding by measurement, and not of the second.
// The GPU pack's check `findings` runs each. The argument is the kernel's name.
//
//     nvcc -O3 -arch=native -lineinfo -o findings findings.cu && gpuprof run --stalls -- ./findings few_warps

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

constexpr int THREADS = 256;

__device__ size_t thread() { return blockIdx.x * (size_t)blockDim.x + threadIdx.x; }

// Reads all values. Neighbouring threads read neighbouring ones, or those of different rows.
template <size_t ROW> __device__ void read_rows(const float *in, float *out, size_t n) {
    float sum = 0;
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t column = 0; column < ROW; column++)
        for (size_t i = thread(); i < n / ROW; i += step)
            sum += in[i * ROW + column];
    out[thread()] = sum;
}

__global__ void strided(const float *in, float *out, size_t n) { read_rows<32>(in, out, n); }
__global__ void coalesced(const float *in, float *out, size_t n) { read_rows<1>(in, out, n); }

// Reads columns of a tile in shared memory, whose rows are padded or not.
template <int ROW> __device__ void read_tile(float *out, int n) {
    __shared__ float tile[32 * ROW];
    for (int i = threadIdx.x; i < 32 * ROW; i += blockDim.x)
        tile[i] = i;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < n; i++) {
        float value = tile[threadIdx.x % 32 * ROW + i % 32];
        for (int k = 0; k < 12; k++)
            sum = sum * 1.0001f + value;
    }
    out[thread()] = sum;
}

__global__ void conflicting(float *out, int n) { read_tile<32>(out, n); }
__global__ void padded(float *out, int n) { read_tile<33>(out, n); }

// The same with nothing between the reads.
__global__ void queued(float *out, int n) {
    __shared__ float values[32 * 32];
    for (int i = threadIdx.x; i < 32 * 32; i += blockDim.x)
        values[i] = i;
    __syncthreads();
    float sum = 0;
    int at = threadIdx.x % 32 * 32;
    for (int i = 0; i < n; i++) {
        sum += values[at];
        at = (at + 32) & 1023;
    }
    out[thread()] = sum;
}

// One of eight ways, each with constants of its own.
template <int WAY> __device__ float go(float a, int n) {
    for (int i = 0; i < n + WAY; i++)
        a = a * (1 + WAY * 1e-4f) + WAY;
    return a;
}

__device__ float choose(int way, float a, int n) {
    switch (way) {
    case 0: return go<0>(a, n);
    case 1: return go<1>(a, n);
    case 2: return go<2>(a, n);
    case 3: return go<3>(a, n);
    case 4: return go<4>(a, n);
    case 5: return go<5>(a, n);
    case 6: return go<6>(a, n);
    default: return go<7>(a, n);
    }
}

__global__ void diverging(float *out, int n) { out[thread()] = choose(threadIdx.x % 8, 1, n); }
__global__ void uniform(float *out, int n) { out[thread()] = choose(threadIdx.x / 32 % 8, 1, n); }

// Between two barriers the first warp does the work of all, or each its share.
__device__ void work_and_meet(float *out, int rounds, int n) {
    float a = threadIdx.x;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < n; i++)
            a = a * 1.0001f + 0.5f;
        __syncthreads();
    }
    out[thread()] = a;
}

__global__ void unequal_warps(float *out, int rounds, int n) {
    work_and_meet(out, rounds, threadIdx.x < 32 ? n : 0);
}

__global__ void equal_warps(float *out, int rounds, int n) {
    work_and_meet(out, rounds, n / (THREADS / 32));
}

// Code of 512 multiplications that differ from those of other blocks.
template <int BLOCK> __device__ void multiply(float (&a)[4], float by) {
#pragma unroll
    for (int i = 0; i < 512; i++)
        a[i % 4] = a[i % 4] * by + (BLOCK * 512 + i);
}

template <int FIRST, int LAST> __device__ void jump(int block, float (&a)[4], float by) {
    if constexpr (FIRST == LAST)
        multiply<FIRST>(a, by);
    else if (block <= (FIRST + LAST) / 2)
        jump<FIRST, (FIRST + LAST) / 2>(block, a, by);
    else
        jump<(FIRST + LAST) / 2 + 1, LAST>(block, a, by);
}

// Each warp runs blocks of code in an order of its own: of 512 KiB, or one of 8 KiB.
template <int BLOCKS> __device__ void run_code(float *out, float by, int n) {
    unsigned next = thread() / 32 * 2654435761u;
    float a[4] = {by, by + 1, by + 2, by + 3};
    for (int i = 0; i < n; i++) {
        next = next * 1664525u + 1013904223u;
        jump<0, BLOCKS - 1>((next >> 16) % BLOCKS, a, by);
    }
    out[thread()] = a[0] + a[1] + a[2] + a[3];
}

__global__ void large_code(float *out, float by, int n) { run_code<64>(out, by, n); }
__global__ void small_code(float *out, float by, int n) { run_code<1>(out, by, n); }

// Each read of a warp depends on the one before. Shared memory lets few warps fit at once, or all.
__device__ void follow(const unsigned *next, float *out, int n) {
    unsigned i = thread() / 32 * 2654435761u, lane = threadIdx.x % 32;
    for (int k = 0; k < n; k++)
        i = (next[(i >> 6 & 0x3ffffe0) + lane] + i) * 1664525u + 1013904223u;
    out[thread()] = i;
}

__global__ void few_warps(const unsigned *next, float *out, int n) { follow(next, out, n); }
__global__ void many_warps(const unsigned *next, float *out, int n) { follow(next, out, n); }

// Logic alone, which only ALU does; and multiplications, which two units do.
__global__ void one_unit(unsigned *out, int n) {
    unsigned a = threadIdx.x, b = a ^ 77, c = a + 5, d = a * 3;
    for (int i = 0; i < n; i++) {
        a = (a ^ b) | (c & 0x55);
        b = (b ^ c) & ~d;
        c = min(c ^ d, a);
        d = max(d ^ a, b);
    }
    out[thread()] = a + b + c + d;
}

__global__ void two_units(float *out, int n) {
    float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
    for (int i = 0; i < n; i++) {
        a = a * 1.0001f + 0.5f;
        b = b * 1.0001f + 0.5f;
        c = c * 1.0001f + 0.5f;
        d = d * 1.0001f + 0.5f;
    }
    out[thread()] = a + b + c + d;
}

// Reads a few KiB from the L1 cache again and again: 32 values that are used once each, or one that
// is used 64 times.
template <int LOADS, int USES> __device__ void load_again(const float *in, float *out, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) {
        const float *from = in + i % 8 * 32 + threadIdx.x;
        float values[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            values[k] = __ldg(from + k * 16);
#pragma unroll
        for (int k = 0; k < USES; k++)
            sum = sum * 1.0001f + values[k % LOADS];
    }
    out[thread()] = sum;
}

__global__ void many_loads(const float *in, float *out, int n) { load_again<32, 32>(in, out, n); }
__global__ void few_loads(const float *in, float *out, int n) { load_again<1, 64>(in, out, n); }

// A sum in `double`, or in `float`.
template <class Sum> __device__ void add_up(const float *in, float *out, int n) {
    Sum sum = 0;
    for (int i = 0; i < n; i++) {
        Sum value = in[(i + threadIdx.x) & 1023];
        for (int k = 0; k < 16; k++)
            sum = sum * (Sum)0.5 + value;
    }
    out[thread()] = (float)sum;
}

__global__ void double_sum(const float *in, float *out, int n) { add_up<double>(in, out, n); }
__global__ void float_sum(const float *in, float *out, int n) { add_up<float>(in, out, n); }

// 16 MiB from the L2 cache again and again, past L1.
__global__ void l2_reads(const float4 *in, float *out, size_t n, int rounds) {
    float sum = 0;
    for (int round = 0; round < rounds; round++) {
        size_t i = thread() + round * 4099;
        for (int k = 0; k < 16; k++, i += 262144) {
            float4 v = __ldcg(in + (i & n - 1));
            sum += v.x + v.y + v.z + v.w;
        }
    }
    out[thread()] = sum;
}

static void check(cudaError_t status) {
    if (status != cudaSuccess) {
        printf("%s\n", cudaGetErrorString(status));
        exit(1);
    }
}

static bool is_found;
static const char *wanted;

// Launches the kernel for two seconds if it is the wanted one, with as many blocks as fit at once.
template <class... Parameters, class... Arguments>
static void run(const char *name, void (*kernel)(Parameters...), size_t shared, Arguments... arguments) {
    if (strcmp(name, wanted))
        return;
    is_found = true;
    int sms, fit;
    check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, THREADS, shared));
    auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(2)) {
        for (int i = 0; i < 10; i++)
            kernel<<<sms * fit, THREADS, shared>>>((Parameters)arguments...);
        check(cudaDeviceSynchronize());
    }
}

int main(int count, char **arguments) {
    wanted = count > 1 ? arguments[1] : "";
    size_t n = (size_t)1 << 28;
    void *in, *out;
    check(cudaMalloc(&in, n * 4));
    check(cudaMalloc(&out, 64 << 20));
    check(cudaMemset(in, 0, n * 4));
    check(cudaDeviceSynchronize());
#define RUN(kernel, ...) run(#kernel, kernel, __VA_ARGS__)
    RUN(strided, 0, (float *)in, (float *)out, n / 8);
    RUN(coalesced, 0, (float *)in, (float *)out, n);
    RUN(conflicting, 0, (float *)out, 1000);
    RUN(padded, 0, (float *)out, 10000);
    RUN(queued, 0, (float *)out, 2000);
    RUN(diverging, 0, (float *)out, 4000);
    RUN(uniform, 0, (float *)out, 30000);
    RUN(unequal_warps, 0, (float *)out, 50, 4000);
    RUN(equal_warps, 0, (float *)out, 50, 4000);
    RUN(large_code, 0, (float *)out, 0.5f, 50);
    RUN(small_code, 0, (float *)out, 0.5f, 100);
    RUN(few_warps, 100 << 10, (unsigned *)in, (float *)out, 2000);
    RUN(many_warps, 0, (unsigned *)in, (float *)out, 500);
    RUN(one_unit, 0, (unsigned *)out, 8000);
    RUN(two_units, 0, (float *)out, 20000);
    RUN(many_loads, 0, (float *)in, (float *)out, 500);
    RUN(few_loads, 0, (float *)in, (float *)out, 2000);
    // Beside another kernel, which says that this one is the exception.
    if (!strcmp(wanted, "double_sum"))
        for (int i = 0; i < 100; i++)
            float_sum<<<1024, THREADS>>>((float *)in, (float *)out, 5000);
    RUN(double_sum, 0, (float *)in, (float *)out, 2000);
    RUN(float_sum, 0, (float *)in, (float *)out, 5000);
    RUN(l2_reads, 0, (float4 *)in, (float *)out, (size_t)1 << 20, 60);
    if (!is_found)
        printf("there is no kernel `%s`\n", wanted);
    return !is_found;
}
