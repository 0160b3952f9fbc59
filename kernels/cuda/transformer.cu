// The kernels of a decoder-only transformer besides matrix products and biases. Matrices are row-major, a row per token;
// `length` tokens make a sequence.
//
// embed           result[t,:] = table[tokens[t],:] + positions[t % length,:]; tokens must be rows of the table
// layer_norm      result[i,:] = gain * (x[i,:] - mean) / sqrt(variance + 1e-5) + bias
// causal_softmax  scores[i,:] = softmax over j <= i % length of scale * scores[i,j], and 0 for later j: square matrices
//                 of `length` rows, one under another, one per head and sequence
// merge_heads     result[t, h * width + j] = heads[h,t,j], for `count` heads of rows x width
//
// embed and merge_heads take one-dimensional geometries, a thread per result; spare threads do nothing.
// layer_norm and causal_softmax take a block of 256 threads per row. Sums are trees of a fixed order, so that the same
// input gives the same bits each time. Indices are int: each matrix must stay below 2^31 elements.

#define THREADS 256

// The sum, or with `largest` the maximum, of one value of each thread of the block, for all of them.
__device__ float all(float value, bool largest)
{
    __shared__ float values[THREADS];
    values[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const float other = values[threadIdx.x + half];
            values[threadIdx.x] = largest ? fmaxf(values[threadIdx.x], other) : values[threadIdx.x] + other;
        }
        __syncthreads();
    }
    const float result = values[0];
    // Other threads must have read the value before it is overwritten.
    __syncthreads();
    return result;
}

extern "C" __global__ void embed(const int* __restrict__ tokens, const float* __restrict__ table,
                                 const float* __restrict__ positions, float* __restrict__ result,
                                 int rows, int length, int columns)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns)
        return;
    const int token = i / columns, j = i % columns;
    result[i] = table[tokens[token] * columns + j] + positions[token % length * columns + j];
}

extern "C" __global__ void __launch_bounds__(THREADS)
layer_norm(const float* __restrict__ x, const float* __restrict__ gain, const float* __restrict__ bias,
           float* __restrict__ result, int columns)
{
    const float* row = x + blockIdx.x * columns;
    float sum = 0.0f, squares = 0.0f;
    for (int j = threadIdx.x; j < columns; j += THREADS)
        sum += row[j];
    const float mean = all(sum, false) / columns;
    for (int j = threadIdx.x; j < columns; j += THREADS)
        squares += (row[j] - mean) * (row[j] - mean);
    const float scale = rsqrtf(all(squares, false) / columns + 1e-5f);
    for (int j = threadIdx.x; j < columns; j += THREADS)
        result[blockIdx.x * columns + j] = gain[j] * (row[j] - mean) * scale + bias[j];
}

extern "C" __global__ void __launch_bounds__(THREADS)
causal_softmax(float* __restrict__ scores, float scale, int length)
{
    float* row = scores + blockIdx.x * length;
    const int seen = blockIdx.x % length + 1;
    // Subtracting the largest score prevents overflow of the exponential.
    float largest = scale * row[0], sum = 0.0f;
    for (int j = threadIdx.x; j < seen; j += THREADS)
        largest = fmaxf(largest, scale * row[j]);
    largest = all(largest, true);
    for (int j = threadIdx.x; j < seen; j += THREADS)
        sum += expf(scale * row[j] - largest);
    sum = all(sum, false);
    for (int j = threadIdx.x; j < length; j += THREADS)
        row[j] = j < seen ? expf(scale * row[j] - largest) / sum : 0.0f;
}

extern "C" __global__ void merge_heads(const float* __restrict__ heads, float* __restrict__ result,
                                       int count, int rows, int width)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count * rows * width)
        return;
    const int row = i / (count * width), head = i / width % count;
    result[i] = heads[(head * rows + row) * width + i % width];
}
