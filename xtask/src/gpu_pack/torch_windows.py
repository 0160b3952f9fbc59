"""Prints how many kernels torch.profiler records in each of two windows of 30 launches, after 50 launches before
the first.
"""

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

BEFORE = 50
LAUNCHES = 30


def launches(values, count):
    for _ in range(count):
        values.add_(1)
    torch.cuda.synchronize()


def recorded(values):
    with profile(activities=[ProfilerActivity.CUDA]) as window:
        launches(values, LAUNCHES)
    copies = ("Memcpy", "Memset")
    return sum(of.device_type == DeviceType.CUDA and not of.name.startswith(copies) for of in window.events())


def main():
    values = torch.ones(1 << 20, device="cuda")
    launches(values, BEFORE)
    print(recorded(values), recorded(values))


main()
