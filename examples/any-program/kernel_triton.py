"""A Triton kernel that adds two vectors, launched 50 times."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, sums, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    total = tl.load(x + offsets, mask=inside) + tl.load(y + offsets, mask=inside)
    tl.store(sums + offsets, total, mask=inside)


n = 1 << 24
x, y = torch.ones(n, device="cuda"), torch.ones(n, device="cuda")
sums = torch.empty_like(x)
for _ in range(50):
    add[(triton.cdiv(n, 1024),)](x, y, sums, n, BLOCK=1024)
print(float(sums[-1]))
