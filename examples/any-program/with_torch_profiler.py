"""Runs a Python program under torch.profiler, and prints how many kernels it recorded, and their time.

    python3 with_torch_profiler.py PROGRAM [ARGUMENT]...
"""

import runpy
import sys

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

sys.argv = sys.argv[1:]
torch.cuda.init()
with profile(activities=[ProfilerActivity.CUDA]) as recorded:
    runpy.run_path(sys.argv[0], run_name="__main__")
    torch.cuda.synchronize()
kernels = [
    event
    for event in recorded.events()
    if event.device_type == DeviceType.CUDA and not event.name.startswith(("Memcpy", "Memset"))
]
total = sum(event.device_time_total for event in kernels)
print(f"torch.profiler: {len(kernels)} kernels, {total / 1000:.3f} ms")
