"""Reads a sample trace with HolisticTraceAnalysis and compares its breakdowns with our own sums:
python check_hta.py SAMPLES"""

import json
import logging
import sys
from pathlib import Path

from hta.common.trace import get_cpu_gpu_correlation
from hta.trace_analysis import TraceAnalysis

logging.disable(logging.WARNING)
failed = False


def check(promise, found, expected):
    global failed
    if found == expected:
        print(f"ok HTA: {promise}")
    else:
        print(f"FAILED HTA: {promise}: found {found}, expected {expected}")
        failed = True


samples = Path(sys.argv[1])
expected = json.loads((samples / "expected.json").read_text())
analyzer = TraceAnalysis(trace_dir=str(samples / "hta"))

times = analyzer.get_temporal_breakdown(visualize=False).iloc[0]
busy = times["kernel_time(us)"] - times["idle_time(us)"]
check(
    "busy and idle time of the device",
    {"busy": int(busy), "idle": int(times["idle_time(us)"])},
    {"busy": expected["busy"], "idle": expected["idle"]},
)

_, kernels = analyzer.get_gpu_kernel_breakdown(
    visualize=False, num_kernels=1000, include_memory_kernels=True
)
check(
    "time of each kernel, copy and memset",
    {
        row["name"]: {"sum": int(row["sum (us)"]), "max": int(row["max (us)"])}
        for _, row in kernels.iterrows()
    },
    expected["kernels"],
)

idle, _ = analyzer.get_idle_time_breakdown(ranks=[0], visualize=False)
check(
    "idle time of each stream",
    {
        str(stream): int(rows["idle_time"].sum())
        for stream, rows in idle.groupby("stream")
    },
    expected["idle_by_stream"],
)

# HTA's launch statistics know calls of the CUDA runtime only; the correlation is what they go by.
check(
    "a launch for each kernel, by correlation id",
    len(get_cpu_gpu_correlation(analyzer.t.get_trace(0))),
    expected["launches"],
)

spans = analyzer.get_gpu_user_annotation_breakdown(visualize=False)
check(
    "GPU spans as annotations",
    {row["name"]: int(row["sum (us)"]) for _, row in spans.iterrows()},
    expected["gpu_spans"],
)

ranks = TraceAnalysis(
    trace_files={rank: str(samples / f"rank{rank}.json") for rank in range(2)}
)
check(
    "ranks of one job",
    sorted(int(rank) for rank in ranks.get_temporal_breakdown(visualize=False)["rank"]),
    [0, 1],
)
sys.exit(1 if failed else 0)
