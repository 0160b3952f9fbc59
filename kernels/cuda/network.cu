// The kernels of a small network besides matrix products and sums. Matrices are row-major, a row per sample.
//
// bias                   x[i,j] += bias[j]
// bias_relu              x[i,j] = max(x[i,j] + bias[j], 0)
// relu_backward          gradient[i] = 0 if bias_relu set y[i] to 0
// softmax_cross_entropy  losses[i] = -log p[i,label], gradient[i,j] = (p[i,j] - (j == label)) / rows, where
//                        p[i,:] = softmax(logits[i,:]); labels must be in 0..columns
// sgd                    velocity = momentum * velocity + gradient; weights -= rate * velocity
//
// All take one-dimensional geometries, a thread per element (softmax_cross_entropy: a thread per row), spare
// threads do nothing. Indices are int: rows * columns must stay below 2^31.

extern "C" __global__ void bias(const float* __restrict__ bias, float* __restrict__ x, int rows, int columns)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns)
        x[i] += bias[i % columns];
}

extern "C" __global__ void bias_relu(const float* __restrict__ bias, float* __restrict__ x, int rows, int columns)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns)
        x[i] = fmaxf(x[i] + bias[i % columns], 0.0f);
}

extern "C" __global__ void relu_backward(const float* __restrict__ y, float* __restrict__ gradient, unsigned int n)
{
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && y[i] <= 0.0f)
        gradient[i] = 0.0f;
}

extern "C" __global__ void softmax_cross_entropy(const float* __restrict__ logits, const int* __restrict__ labels,
                                                 float* __restrict__ losses, float* __restrict__ gradient,
                                                 int rows, int columns)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows)
        return;
    const float* row = logits + i * columns;
    // Subtracting the largest logit prevents overflow of the exponential.
    float largest = row[0];
    for (int j = 1; j < columns; ++j)
        largest = fmaxf(largest, row[j]);
    float sum = 0.0f;
    for (int j = 0; j < columns; ++j)
        sum += expf(row[j] - largest);
    const int label = labels[i];
    for (int j = 0; j < columns; ++j) {
        const float p = expf(row[j] - largest) / sum;
        gradient[i * columns + j] = (p - (j == label ? 1.0f : 0.0f)) / rows;
    }
    losses[i] = logf(sum) - (row[label] - largest);
}

extern "C" __global__ void sgd(unsigned int n, float rate, float momentum, const float* __restrict__ gradient,
                               float* __restrict__ velocity, float* __restrict__ weights)
{
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    velocity[i] = momentum * velocity[i] + gradient[i];
    weights[i] -= rate * velocity[i];
}
