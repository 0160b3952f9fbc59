"""Times the same kernels with gpuprof's benchmarks and with its peers, in turn, and compares them.

The kernels come from the PTX that the benchmarks load. Peers: Triton's do_bench (cold) and do_bench_cudagraph
(against replays of a graph and calls in a row), NVIDIA's nvbench (cold, and its batches against calls in a row), and
torch.utils.benchmark from 1 ms up. A peer that Python cannot import is not measured, and the table says so.

usage: bench_peers.py FOLDER OUT [--rounds N]   FOLDER has the program `kernels` and the folder `ptx`
       bench_peers.py --self-test               checks what needs no GPU
"""

import array
import csv
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
from datetime import datetime, timezone

ROUNDS = 10
# Seconds that one measurement may take, here and there.
LIMIT = 0.4
# From so many ns on, medians must agree within this share.
AGREEMENT = [(50_000, 0.02), (10_000, 0.05)]
# Our spread over theirs, or over our median.
SPREAD, LEAST_SPREAD = 1.5, 0.005
# torch.utils.benchmark times the host too, so that it takes part from so many ns on.
TORCH_FROM = 1e6
# A peer, its way, and the mode of ours that it is compared with.
WAYS = [
    ("triton", "do_bench", "cold"),
    ("triton", "do_bench_cudagraph", "graph"),
    ("triton", "do_bench_cudagraph", "hot"),
    ("nvbench", "cold", "cold"),
    ("nvbench", "batch", "hot"),
    ("torch", "Timer", "hot"),
]


def spread(times):
    return (max(times) - min(times)) / statistics.median(times)


def verdicts(ours, theirs):
    """The difference of the medians, and what is wrong with it and with the spread."""
    mine, their = statistics.median(ours), statistics.median(theirs)
    difference = mine / their - 1
    wrong = []
    for least, allowed in AGREEMENT:
        if min(mine, their) >= least:
            if abs(difference) > allowed:
                wrong.append(f"differs by more than {allowed:.0%}")
            break
    if spread(ours) > max(SPREAD * spread(theirs), LEAST_SPREAD):
        wrong.append("wider spread")
    return difference, wrong


def table(ours, peers):
    """Rows of the comparison, and whether one of them fails."""
    rows, failed = [], False
    for case, modes in ours.items():
        for peer, way, mode in WAYS:
            times = peers.get(peer, {}).get(case, {}).get(way)
            if not times or mode not in modes:
                continue
            difference, wrong = verdicts(modes[mode], times)
            is_short = min(map(statistics.median, (modes[mode], times))) < AGREEMENT[-1][0]
            if is_short:
                wrong = []
            failed |= bool(wrong)
            rows.append(
                [
                    case,
                    mode,
                    f"{statistics.median(modes[mode]) / 1e3:.2f}",
                    f"{peer} {way}",
                    f"{statistics.median(times) / 1e3:.2f}",
                    f"{difference:+.1%}",
                    f"{spread(modes[mode]):.2%}",
                    f"{spread(times):.2%}",
                    "info" if is_short else "; ".join(wrong) or "pass",
                ]
            )
    return rows, failed


HEADINGS = ["kernel", "mode", "ours (µs)", "peer", "peer (µs)", "difference", "our spread", "its spread", "verdict"]


def text(rows):
    rows = [HEADINGS] + rows
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def read_csv(printed):
    """Median ns by case and mode, from what our program prints."""
    medians = {}
    for row in csv.DictReader(io.StringIO(printed)):
        medians.setdefault(row["benchmark"], {})[row["mode"]] = float(row["median_ns"])
    return medians


def read_nvbench(file):
    """The median ns of the cold samples and the mean of the batches by case, from nvbench's --jsonbin."""
    with open(file, encoding="utf-8") as opened:
        root = json.load(opened)
    found = {}
    for benchmark in root["benchmarks"]:
        for state in benchmark["states"]:
            summaries = {one["tag"]: {d["name"]: d.get("value") for d in one["data"]} for one in state["summaries"] or []}
            times = {}
            samples = summaries.get("nv/json/bin:nv/cold/sample_times")
            if samples:
                times["cold"] = statistics.median(seconds(file, samples["filename"])) * 1e9
            batch = summaries.get("nv/batch/time/gpu/mean")
            if batch:
                times["batch"] = float(batch["value"]) * 1e9
            (axis,) = state["axis_values"]
            found[axis.get("value") or axis["input_string"]] = times
    return found


def seconds(file, samples):
    places = [samples, os.path.join(os.path.dirname(file), samples), os.path.join(os.path.dirname(file), "..", samples)]
    place = next(place for place in places if os.path.exists(place))
    values = array.array("f")
    with open(place, "rb") as opened:
        values.frombytes(opened.read())
    return values


def add(all_times, case, way, ns):
    all_times.setdefault(case, {}).setdefault(way, []).append(ns)


# From here on a GPU is needed.


def cases(folder, float32, zeros):
    """What each case launches: a function of the stream's address."""
    import cupy

    modules = {}

    def kernel(module, name, grid, block, arguments):
        if module not in modules:
            modules[module] = cupy.RawModule(path=os.path.join(folder, "ptx", f"{module}.ptx"))
        function = modules[module].get_function(name)

        def launch(stream):
            with cupy.cuda.ExternalStream(stream):
                function(grid, block, arguments)

        return launch

    def copy(count):
        source, target = zeros(count), zeros(count)

        def launch(stream):
            cupy.cuda.runtime.memcpyAsync(
                target.data.ptr, source.data.ptr, 4 * count, cupy.cuda.runtime.memcpyDeviceToDevice, stream
            )

        return launch

    import numpy

    u32, i32 = numpy.uint32, numpy.int32
    all_cases = {}
    for n in (1 << 16, 1 << 20, 1 << 24, 1 << 26):
        arguments = (u32(n), float32(2), zeros(n), zeros(n))
        all_cases[f"saxpy n={n}"] = kernel("saxpy", "saxpy", ((n + 255) // 256,), (256,), arguments)
    for n in (1 << 20, 1 << 24, 1 << 26):
        all_cases[f"copy n={n}"] = copy(n)
    for n in (1 << 20, 1 << 24, 1 << 26):
        blocks = min((n + 255) // 256, 1024)
        arguments = (zeros(n), zeros(blocks), u32(n))
        all_cases[f"reduce_sum n={n}"] = kernel("reduction", "reduce_sum", (blocks,), (256,), arguments)
    for n in (1 << 10, 1 << 12, 1 << 13):
        arguments = (zeros(n * n), zeros(n * n), i32(n), i32(n))
        all_cases[f"transpose n={n}"] = kernel("transpose", "transpose", (n // 32, n // 32), (32, 8), arguments)
    for n in (256, 1024, 4096):
        arguments = (zeros(n * n), zeros(n * n), zeros(n * n), i32(n), i32(n), i32(n))
        name = "matmul_tiled"
        all_cases[f"matmul kernel={name} n={n}"] = kernel("matmul", name, (n // 16, n // 16), (16, 16), arguments)
    return all_cases


def zeros(count):
    import cupy

    return cupy.zeros(count, dtype=cupy.float32)


def run_nvbench(folder, out):
    """In a process of its own: nvbench takes the arguments of its process."""
    import cuda.bench
    import numpy

    all_cases = cases(folder, numpy.float32, zeros)

    def one(state):
        launch = all_cases[state.get_string("case")]
        state.exec(lambda launched: launch(launched.get_stream().addressof()), batched=True)

    cuda.bench.register(one).add_string_axis("case", list(all_cases)).set_timeout(LIMIT)
    cuda.bench.run_all_benchmarks(["nvbench", "--quiet", "--jsonbin", out])


def measure_torch(all_cases, times):
    """A round of Triton and of torch.utils.benchmark."""
    import torch
    import torch.utils.benchmark
    import triton.testing

    for case, launch in all_cases.items():
        run = lambda: launch(torch.cuda.current_stream().cuda_stream)
        cold = triton.testing.do_bench(run, rep=1e3 * LIMIT / 4, return_mode="median") * 1e6
        add(times["triton"], case, "do_bench", cold)
        replayed = triton.testing.do_bench_cudagraph(run, return_mode="median") * 1e6
        add(times["triton"], case, "do_bench_cudagraph", replayed)
        if cold >= TORCH_FROM:
            timer = torch.utils.benchmark.Timer("run()", globals={"run": run})
            add(times["torch"], case, "Timer", timer.blocked_autorange(min_run_time=LIMIT).median * 1e9)


def measure(folder, rounds):
    program = [os.path.join(folder, "kernels"), "--bench", "--modes", "cold,hot,graph", "--format", "csv"]
    program += ["--max-time", str(LIMIT), "--axis", "kernel=matmul_tiled"]
    ours, times, missing = {}, {"triton": {}, "nvbench": {}, "torch": {}}, []
    try:
        import numpy
        import torch
        import triton

        torch.zeros(1, device="cuda")
        all_cases = cases(folder, numpy.float32, zeros)
    except Exception as error:
        all_cases = {}
        missing.append(f"Triton and torch.utils.benchmark are NOT MEASURED: {error!r}")
    # A device that was idle runs the first seconds half a percent faster: nothing of that round is kept.
    for number in range(rounds + 1):
        if number == 1:
            ours.clear()
            times = {peer: {} for peer in times}
        print(f"round {number} of {rounds}" if number else "warm-up", flush=True)
        ran = subprocess.run(program, capture_output=True, text=True)
        if ran.returncode != 0:
            raise SystemExit(f"our benchmark failed: {ran.stderr}")
        for case, modes in read_csv(ran.stdout).items():
            for mode, ns in modes.items():
                add(ours, case, mode, ns)
        if all_cases:
            measure_torch(all_cases, times)
        if not any("nvbench" in line for line in missing):
            with tempfile.TemporaryDirectory() as place:
                file = os.path.join(place, "nvbench.json")
                ran = subprocess.run([sys.executable, __file__, "--nvbench", folder, file], capture_output=True, text=True)
                if ran.returncode == 0 and os.path.exists(file):
                    for case, found in read_nvbench(file).items():
                        for way, ns in found.items():
                            add(times["nvbench"], case, way, ns)
                else:
                    last = (ran.stderr.strip().splitlines() or ["no output"])[-1]
                    missing.append(f"nvbench is NOT MEASURED: {last}")
    return ours, times, missing


def versions():
    lines = [datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")]
    for name in ("torch", "triton", "cupy"):
        try:
            lines.append(f"{name} {__import__(name).__version__}")
        except Exception:
            lines.append(f"no {name}")
    try:
        from importlib.metadata import version

        lines.append(f"cuda-bench {version('cuda-bench')}")
    except Exception:
        lines.append("no cuda-bench")
    try:
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        lines.append(subprocess.run(query, capture_output=True, text=True).stdout.strip())
    except OSError:
        lines.append("no nvidia-smi")
    return ", ".join(lines)


def main(folder, out, rounds):
    ours, times, missing = measure(folder, rounds)
    rows, failed = table(ours, times)
    head = f"{versions()}; {rounds} rounds in turn after one to warm up, each measurement at most {LIMIT} s; nvbench's batches by their mean"
    printed = "\n".join([head, *missing, text(rows)])
    print(printed)
    with open(os.path.join(out, "peers.txt"), "w", encoding="utf-8") as opened:
        opened.write(printed)
    with open(os.path.join(out, "peers.json"), "w", encoding="utf-8") as opened:
        json.dump({"versions": head, "ours": ours, "peers": times, "rows": rows}, opened)
    return 1 if failed else 0


def self_test():
    assert read_csv("benchmark,mode,median_ns\na n=1,cold,12.5\na n=1,hot,7\n") == {"a n=1": {"cold": 12.5, "hot": 7.0}}
    # 2 % is allowed from 50 µs on, 5 % from 10 µs on.
    assert verdicts([50_900.0] * 2, [50_000.0] * 2)[1] == []
    assert verdicts([51_100.0] * 2, [50_000.0] * 2)[1] == ["differs by more than 2%"]
    assert verdicts([20_900.0] * 2, [20_000.0] * 2)[1] == []
    assert verdicts([18_900.0] * 2, [20_000.0] * 2)[1] == ["differs by more than 5%"]
    # 0.5 % of spread is always allowed, more only beside a peer that has it too.
    assert verdicts([100_000.0, 100_400.0], [100_000.0] * 2)[1] == []
    assert verdicts([100_000.0, 101_000.0], [100_000.0] * 2)[1] == ["wider spread"]
    assert verdicts([100_000.0, 101_000.0], [100_000.0, 100_800.0])[1] == []
    ours = {"a": {"cold": [1e5], "hot": [9e4]}, "b": {"cold": [5e3]}}
    peers = {"triton": {"a": {"do_bench": [1.1e5]}, "b": {"do_bench": [9e3]}}}
    rows, failed = table(ours, peers)
    assert failed and [row[-1] for row in rows] == ["differs by more than 2%", "info"], rows
    assert text(rows).splitlines()[1].startswith("a       cold  100.00     triton do_bench  110.00"), text(rows)
    with tempfile.TemporaryDirectory() as place:
        with open(os.path.join(place, "0.bin"), "wb") as opened:
            array.array("f", [3e-6, 1e-6, 2e-6]).tofile(opened)
        summaries = [
            {
                "tag": "nv/json/bin:nv/cold/sample_times",
                "data": [{"name": "filename", "value": "0.bin"}, {"name": "size", "value": "3"}],
            },
            {"tag": "nv/batch/time/gpu/mean", "data": [{"name": "value", "type": "float64", "value": "1.5e-06"}]},
        ]
        state = {"summaries": summaries, "axis_values": [{"name": "case", "value": "saxpy n=1"}]}
        file = os.path.join(place, "x.json")
        with open(file, "w", encoding="utf-8") as opened:
            json.dump({"benchmarks": [{"states": [state]}]}, opened)
        found = read_nvbench(file)["saxpy n=1"]
        assert round(found["cold"]) == 2000 and round(found["batch"]) == 1500, found
    print("bench_peers.py: as it should be")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    elif len(sys.argv) == 4 and sys.argv[1] == "--nvbench":
        run_nvbench(sys.argv[2], sys.argv[3])
    elif len(sys.argv) in (3, 5) and sys.argv[3:4] in ([], ["--rounds"]):
        sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[4]) if len(sys.argv) == 5 else ROUNDS))
    else:
        sys.exit(__doc__)
