"""What the queries in docs/fleets must give: the figures of the profile that `gpuprof merge` wrote."""

import json
import re
from pathlib import Path

# The job of the samples: a name that paths escape in part.
JOB = "train/17 größe"

# The number of the samples.
RANKS = 1_000

# The rank that the samples make slow.
SLOW_RANK = 637

# The ranks that the samples make late, the latest first.
LATE_RANKS = [637, 404, 12]

# Those that are late in some steps alone, the costliest first, with the first and the last step in
# windows of four.
LATE_STEPS = [(801, 69, 100), (250, 41, 60)]

FUNCTION = ("module", "function", "file", "line", "namesake")
MODEL = ("device_name", "multiprocessors")
PERCENTILES = ("p50_ns", "p90_ns", "p95_ns", "p99_ns")

# The columns of each query: those that say what a row is about, and those that are compared.
QUERIES = {
    "function-sums": (
        FUNCTION,
        (
            "calls", "cpu_total_ns", "cpu_min_ns", "cpu_max_ns", "gpu_timed_calls", "gpu_total_ns",
            "gpu_min_ns", "gpu_max_ns", "busy_ns",
        ),
    ),
    "function-percentiles": ((*FUNCTION, "kind"), PERCENTILES),
    "imbalance": (
        (*FUNCTION, "kind"),
        ("ran", "min_ns", "mean_ns", "max_ns", "imbalance", "slowest_rank", "slowest_host"),
    ),
    "kernel-sums": (("symbol", *MODEL), ("calls", "total_ns", "min_ns", "max_ns")),
    "kernel-percentiles": (("symbol", *MODEL), ("p50_ns", "p99_ns")),
    "device-busy": (("uuid", "device_name"), ("busy_ns",)),
    "late-ranks": (("rank",), ("host", "collective_ns", "other_ns")),
    "late-steps": (("rank", "first_step"), ("host", "last_step", "late_ns")),
    "copy-sums": (("kind",), ("calls", "total_ns", "bytes", "pageable_ns")),
    "api-sums": (("api",), ("calls", "total_ns", "min_ns", "max_ns", "failed")),
    "memory-peaks": (
        ("kind",), ("allocations", "allocated_bytes", "live_bytes", "peak_bytes", "peak_function"),
    ),
}


def expected(merged: Path) -> dict[str, dict[tuple, tuple]]:
    """The rows of each query by what they are about."""
    job = json.loads(merged.read_text())
    profiles = job["ranks"]["profiles"]
    assert profiles == RANKS, f"{profiles} profiles were merged, expected {RANKS}"
    rows = {query: {} for query in QUERIES}
    keys = function_keys(job["functions"])
    for key, function in zip(keys, job["functions"]):
        cpu, gpu = function["cpu"], function.get("gpu") or {}
        ran = function["calls"] > 0
        rows["function-sums"][key] = (
            function["calls"], cpu["total_ns"], cpu["min_ns"] if ran else None,
            cpu["max_ns"] if ran else None, gpu.get("timed_calls"), gpu.get("total_ns"),
            gpu.get("min_ns"), gpu.get("max_ns"), function.get("busy_ns"),
        )
        for kind in ("cpu", "wall", "gpu"):
            times = function.get(kind)
            if times and times["histogram"]:
                row = tuple(times[name] for name in PERCENTILES)
                rows["function-percentiles"][(*key, kind)] = row
    for spread in job["ranks"]["functions"]:
        for kind in ("cpu", "gpu", "busy"):
            if of := spread.get(kind):
                rows["imbalance"][(*keys[spread["function"]], kind)] = (
                    # The profile says in how many ranks the function ran, and not in how many it
                    # was timed.
                    spread["profiles"] if kind == "cpu" else ...,
                    of["min_ns"], of["mean_ns"], of["max_ns"], of["imbalance"],
                    of["slowest_rank"], of["slowest_host"],
                )
    devices = {device["ordinal"]: device for device in job["devices"]}
    for kernel in job["kernels"]:
        device = devices[kernel["device"]]
        key = (kernel["symbol"], device["name"], device["sm_count"])
        rows["kernel-sums"][key] = tuple(kernel[name] for name in QUERIES["kernel-sums"][1])
        rows["kernel-percentiles"][key] = (kernel["p50_ns"], kernel["p99_ns"])
    for busy in job["gpu_busy"]:
        device = devices[busy["device"]]
        rows["device-busy"][(device["uuid"], device["name"])] = (busy["busy_ns"],)
    for process in job["ranks"]["collective_processes"]:
        if (rank := process["process"]["rank"]) in LATE_RANKS:
            row = (process["process"]["host"], process["collective_ns"], process["other_ns"])
            rows["late-ranks"][(rank,)] = row
    for part in job["ranks"]["late_steps"]:
        process, last_step = part["process"], part["first_step"] + part["steps"] - 1
        row = (process["host"], last_step, part["late_ns"])
        rows["late-steps"][(process["rank"], part["first_step"])] = row
    rows["copy-sums"] = sums(job["copies"], "kind", QUERIES["copy-sums"][1])
    rows["api-sums"] = {
        (api["name"],): tuple(api[name] for name in QUERIES["api-sums"][1]) for api in job["api"]
    }
    uses = job["memory"]["uses"]
    for key, row in sums(uses, "kind", QUERIES["memory-peaks"][1][:3]).items():
        peak = max((use for use in uses if use["kind"] == key[0]), key=lambda use: use["peak_bytes"])
        rows["memory-peaks"][key] = (*row, peak["peak_bytes"], peak["peak_function"])
    return rows


def sums(rows: list[dict], key: str, figures: tuple) -> dict[tuple, tuple]:
    """The sums of these figures by the text `key`."""
    found: dict[tuple, tuple] = {}
    for row in rows:
        before = found.get((row[key],), (0,) * len(figures))
        found[(row[key],)] = tuple(sum + row[name] for sum, name in zip(before, figures))
    return found


def late_finding(merged: Path) -> str:
    """What the merged profile finds about late ranks.

    Raises AssertionError if it names other ranks than those that the samples make late.
    """
    found = [of["evidence"] for of in json.loads(merged.read_text())["findings"]]
    assert len(found) == 2, f"{len(found)} findings, expected two about late ranks: {found}"
    named = [int(rank) for rank in re.findall(r"rank (\d+) by", found[0])]
    assert named == LATE_RANKS, f"late ranks {named}, expected {LATE_RANKS}: {found[0]}"
    parts = re.findall(r"rank (\d+) in (\d+) to (\d+) by", found[1])
    named = [tuple(map(int, part)) for part in parts]
    assert named == LATE_STEPS, f"late in steps {named}, expected {LATE_STEPS}: {found[1]}"
    return "; ".join(found)


def function_keys(functions: list[dict]) -> list[tuple]:
    """Place and number among those of one place, of each function."""
    seen: dict[tuple, int] = {}
    keys = []
    for function in functions:
        place = tuple(function[name] for name in ("module", "name", "file", "line"))
        keys.append((*place, seen.get(place, 0)))
        seen[place] = seen.get(place, 0) + 1
    return keys


def compare(query: str, found: list[dict], expected: dict[tuple, tuple]) -> str:
    """Compares every figure for equality, and says how many there were.

    Raises AssertionError with the first rows that differ.
    """
    names, figures = QUERIES[query]
    if query == "imbalance":
        slowest = found[0]["slowest_rank"]
        assert slowest == SLOW_RANK, f"{query}: rank {slowest} comes first, expected {SLOW_RANK}"
    if query == "late-ranks":
        late = [row["rank"] for row in found]
        assert late == LATE_RANKS, f"{query}: ranks {late}, expected {LATE_RANKS}"
    if query == "late-steps":
        late = [(row["rank"], row["first_step"], row["last_step"]) for row in found]
        assert late == LATE_STEPS, f"{query}: {late}, expected {LATE_STEPS}"
    rows = {}
    for row in found:
        assert row["job"] == JOB, f"{query}: job {row['job']!r}, expected {JOB!r}"
        key = tuple(row[name] for name in names)
        assert key not in rows, f"{query}: two rows of {key}"
        rows[key] = tuple(row[name] for name in figures)
    missing = sorted(map(str, expected.keys() ^ rows.keys()))
    assert not missing, f"{query}: in one of both only: {missing[:3]}"
    for key, row in expected.items():
        pairs = zip(figures, rows[key], row)
        differ = [(name, *pair) for name, *pair in pairs if pair[1] is not ... and pair[0] != pair[1]]
        assert not differ, f"{query}: {key}: (name, found, expected): {differ}"
    compared = sum(figure is not ... for row in expected.values() for figure in row)
    assert compared > 0, f"{query}: nothing to compare"
    return f"{len(rows)} rows, {compared} figures are those of gpuprof merge"
