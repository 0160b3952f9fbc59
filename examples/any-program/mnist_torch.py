"""A training of MNIST's size in PyTorch, on random digits.

With the argument `nvtx` each step has NVTX ranges.
"""

import contextlib
import sys

import torch
from torch import nn

STEPS = 200
BATCH = 128


def main():
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10),
    ).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    digits = torch.randn(STEPS, BATCH, 1, 28, 28)
    labels = torch.randint(10, (STEPS, BATCH))
    named = torch.cuda.nvtx.range if "nvtx" in sys.argv else lambda name: contextlib.nullcontext()

    for step in range(STEPS):
        with named("load"):
            batch, wanted = digits[step].cuda(), labels[step].cuda()
        with named("forward"):
            loss = nn.functional.cross_entropy(model(batch), wanted)
        with named("backward"):
            optimizer.zero_grad()
            loss.backward()
        with named("step"):
            optimizer.step()
    print(f"loss {loss.item():.4f}")


main()
