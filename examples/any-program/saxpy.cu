// cudaMalloc, one kernel, cudaMemcpy: what a first CUDA program does. Build it with
// `nvcc -o saxpy saxpy.cu`.
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t status = call;                                                               \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                 \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

int main() {
    const int n = 1 << 24;
    float *host = static_cast<float *>(std::malloc(n * sizeof(float)));
    for (int i = 0; i < n; i++) host[i] = 1.0f;
    float *x, *y;
    CHECK(cudaMalloc(&x, n * sizeof(float)));
    CHECK(cudaMalloc(&y, n * sizeof(float)));
    CHECK(cudaMemcpy(x, host, n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(y, host, n * sizeof(float), cudaMemcpyHostToDevice));
    saxpy<<<(n + 255) / 256, 256>>>(n, 2.0f, x, y);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, y, n * sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("%g\n", host[n - 1]);
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return host[n - 1] == 3.0f ? 0 : 1;
}
