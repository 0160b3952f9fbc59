// y = a*x + y on n elements, one thread per element.
//
// Two flops and twelve bytes (read x, read y, write y) per element: every GPU is limited by its
// memory here, so the GB/s that a profile shows should come near the device's peak.
// Geometry: any one-dimensional one with at least n threads; the crate's `saxpy_geometry` is one.

extern "C" __global__ void saxpy(unsigned int n, float a, const float* __restrict__ x,
                                 float* __restrict__ y)
{
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
