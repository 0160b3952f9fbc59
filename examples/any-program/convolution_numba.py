"""A convolution of an image with an 11 x 11 filter in Numba, in double and in single precision."""

import math

import numpy
from numba import cuda


@cuda.jit
def convolve(image, weights, result):
    row, column = cuda.grid(2)
    if row < result.shape[0] and column < result.shape[1]:
        total = weights[0, 0] * 0
        for i in range(weights.shape[0]):
            for j in range(weights.shape[1]):
                total += weights[i, j] * image[row + i, column + j]
        result[row, column] = total


def main():
    for precision in (numpy.float64, numpy.float32):
        image = cuda.to_device(numpy.ones((2058, 2058), precision))
        weights = cuda.to_device(numpy.full((11, 11), 1 / 121, precision))
        result = cuda.device_array((2048, 2048), precision)
        blocks = math.ceil(2048 / 16)
        for _ in range(10):
            convolve[(blocks, blocks), (16, 16)](image, weights, result)
        print(f"{precision.__name__}: {result.copy_to_host()[7, 7]:.4f}")


main()
