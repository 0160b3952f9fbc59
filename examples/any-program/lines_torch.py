"""Forward and backward passes in PyTorch, and which line of Python launches their kernels.

    gpuprof run --stacks --report table:full --report json=lines.json -- python3 lines_torch.py
    python3 lines_torch.py check lines.json

The second command compares the report with the comments below: each line with a comment `launches`
must be the line of a kernel, in its own function.
"""

import json
import sys

STEPS = 3
WIDTH = 512


def train():
    import torch
    from torch import nn

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(context, values):
            context.save_for_backward(values)
            return values**3  # launches

        # PyTorch calls it on the thread of its backward pass.
        @staticmethod
        def backward(context, gradient):
            (values,) = context.saved_tensors
            return gradient * 3 * values**2  # launches

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(WIDTH, WIDTH)

        def forward(self, values):
            inner = self.inner(values)  # launches
            return Cube.apply(inner)

    def step(model, values):
        loss = model(values).mean()  # launches
        # Except for the first gradient its kernels are launched on a thread without functions of
        # Python, so they have native lines, and those of `Cube.backward`.
        loss.backward()  # launches
        return loss

    torch.manual_seed(1)
    model = Model().cuda()
    values = torch.randn(WIDTH, WIDTH).cuda()
    for _ in range(STEPS):
        loss = step(model, values)
    print(f"loss {loss.item():.4f}")


def check(report):
    with open(__file__) as file:
        text = enumerate(file, start=1)
        wanted = [number for number, line in text if line.endswith("# launches\n")]
    with open(report) as file:
        lines = [line for kernel in json.load(file)["kernels"] for line in kernel["launch_lines"]]
    is_own = [str(line.get("file")).endswith("lines_torch.py") for line in lines]
    own = {line["line"]: line for line, is_here in zip(lines, is_own) if is_here}
    for number in wanted:
        line = own.get(number, {"function": "MISSING"})
        print(number, line["function"], "from", line.get("caller"))
    others = [line for line, is_here in zip(lines, is_own) if not is_here]
    print("The backward pass has:")
    for line in others:
        print(line["calls"], line["function"], line.get("file"), "from", line.get("caller"))
    sys.exit(any(number not in own for number in wanted))


if sys.argv[1:2] == ["check"]:
    check(sys.argv[2])
else:
    train()
