"""A loop of small CuPy operations: what numpy code becomes."""

import cupy

values = cupy.arange(1_000_000, dtype=cupy.float32)
for _ in range(100):
    values = cupy.sqrt(values * values + 1)
print(f"{float(values.sum()):.6e}")
