"""Times short kernels back to back without torch.profiler and with it, in turn, and prints the ratios.

The kernel is PyTorch's own spin kernel of about 5 µs. What the profiler does after the last kernel, when it
parses its records, is not timed. The argument is the file that the samples are written to, as JSON.
"""

import json
import statistics
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

LAUNCHES = 20_000
ROUNDS = 7
KERNEL_US = 5.0
WAYS = {
    "without": None,
    "CUDA": [ProfilerActivity.CUDA],
    "CPU and CUDA": [ProfilerActivity.CPU, ProfilerActivity.CUDA],
}


def launches(cycles, count):
    """Seconds that `count` launches take, with the wait for the GPU."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        torch.cuda._sleep(cycles)
    torch.cuda.synchronize()
    return time.perf_counter() - start


def cycles_of_a_kernel():
    """The cycles for which the kernel spins KERNEL_US."""
    long = 10_000_000
    launches(long, 3)
    return max(1, round(long * KERNEL_US * 1e-6 / (launches(long, 10) / 10)))


def run(cycles, activities):
    if activities is None:
        return launches(cycles, LAUNCHES)
    profiler = profile(activities=activities)
    profiler.start()
    try:
        return launches(cycles, LAUNCHES)
    finally:
        profiler.stop()


def main():
    cycles = cycles_of_a_kernel()
    for activities in WAYS.values():
        run(cycles, activities)
    seconds = {way: [] for way in WAYS}
    for _ in range(ROUNDS):
        for way, activities in WAYS.items():
            seconds[way].append(run(cycles, activities))
    kernel_us = statistics.median(seconds["without"]) / LAUNCHES * 1e6
    print(f"torch.profiler, PyTorch {torch.__version__}: {LAUNCHES} launches of {kernel_us:.2f} µs, {ROUNDS} rounds")
    for way in list(WAYS)[1:]:
        ratios = sorted(a / b for a, b in zip(seconds[way], seconds["without"]))
        median = statistics.median(ratios)
        print(f"  {way}: {median:.3f} times as long ({ratios[0]:.3f} to {ratios[-1]:.3f})")
    with open(sys.argv[1], "w") as file:
        json.dump({"torch": torch.__version__, "launches": LAUNCHES, "seconds": seconds}, file, indent=2)


main()
