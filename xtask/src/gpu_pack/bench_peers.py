"""Times the same kernels with gpuprof's benchmarks and with its peers, in turn, and compares them.

The kernels come from the PTX that the benchmarks load. Peers: Triton's do_bench (cold) and do_bench_cudagraph
(against replays of a graph and calls in a row), NVIDIA's nvbench (cold, and its batches against calls in a row), and
torch.utils.benchmark from 1 ms up. A peer that cannot be measured is reported with the reason.

usage: bench_peers.py FOLDER OUT [--rounds N] [--simulated]
           FOLDER has the program `kernels` and the folder `ptx`; OUT receives peers.json and peers.txt
       bench_peers.py --self-test
           checks what needs no GPU
"""

import csv
import ctypes
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone

ROUNDS = 10
# No round starts that would end later than this, in seconds.
MAX_TOTAL = 450
# Seconds that one program may run, so that a hang ends.
MAX_PROGRAM = 120
# Seconds of one measurement: our --max-time, nvbench's timeout and torch's min_run_time.
LIMIT = 0.4
# Seconds of GPU time in nvbench's batches.
BATCH = 0.2
# Triton's `rep`, in ms: of calls, and of each of 10 replays.
REP, GRAPH_REP = 100, 20
SETTINGS = (
    f"gpuprof: at most {LIMIT} s a mode, or until its rule ends it, median; do_bench: rep {REP} ms, median; "
    f"do_bench_cudagraph: rep {GRAPH_REP} ms, median of 10 replays; nvbench: cold at most {LIMIT} s, batches of "
    f"{BATCH} s; Timer: {LIMIT} s, median"
)
# Sizes that the simulated device computes in a moment.
SIMULATED = ["--axis", "n=256,1024,65536,1048576", "--max-time", "0.01", "--min-samples", "2"]
# From so many ns on, medians must agree within this share.
AGREEMENT = [(50_000, 0.02), (10_000, 0.05)]
# Our spread over theirs, or over our median.
SPREAD, LEAST_SPREAD = 1.5, 0.005
# torch.utils.benchmark times the host too, so that it takes part from so many ns on.
TORCH_FROM = 1e6
# A peer, its way, and the mode of ours that it is compared with. nvbench has no median of its batches.
WAYS = [
    ("triton", "do_bench", "cold"),
    ("triton", "do_bench_cudagraph", "graph"),
    ("triton", "do_bench_cudagraph", "hot"),
    ("nvbench", "cold median", "cold"),
    ("nvbench", "cold mean", "cold"),
    ("nvbench", "batch mean", "hot"),
    ("torch", "Timer", "hot"),
]
PEERS = ["triton", "nvbench", "torch"]
WIDER = "wider spread"


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
        wrong.append(WIDER)
    return difference, wrong


def table(ours, peers):
    """Rows of the comparison, and whether one of them fails."""
    rows, failed = [], False
    for case, modes in ours.items():
        alone = dict(modes)
        for peer, way, mode in WAYS:
            times = peers.get(peer, {}).get(case, {}).get(way)
            if not times or mode not in modes:
                continue
            alone.pop(mode, None)
            difference, wrong = verdicts(modes[mode], times)
            if (way, mode) == ("do_bench_cudagraph", "hot"):
                # Calls in a row vary with their launches, replays do not.
                wrong = [one for one in wrong if one != WIDER]
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
        for mode, times in alone.items():
            median = f"{statistics.median(times) / 1e3:.2f}"
            rows.append([case, mode, median, "none", "", "", f"{spread(times):.2%}", "", "NOT MEASURED"])
    # A benchmark that lost its peer's name, or failed.
    for peer, found in peers.items():
        for case in found.keys() - ours.keys():
            rows.append([case, "", "", peer, "", "", "", "", "not measured by gpuprof"])
            failed = True
    return rows, failed


HEADINGS = ["kernel", "mode", "ours (µs)", "peer", "peer (µs)", "difference", "our spread", "its spread", "verdict"]


def text(rows):
    rows = [HEADINGS] + rows
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def read_csv(printed):
    """Median ns by case and mode, from what our program prints, and whether the device is the simulated one."""
    medians, simulated = {}, False
    for row in csv.DictReader(io.StringIO(printed)):
        simulated |= row["device"].startswith("simulated")
        medians.setdefault(row["benchmark"], {})[row["mode"]] = float(row["median_ns"])
    return medians, simulated


def read_nvbench(file):
    """ns by case and statistic from the file of nvbench's --json, and the reasons of skipped cases."""
    with open(file, encoding="utf-8") as opened:
        root = json.load(opened)
    found, skipped = {}, {}
    for benchmark in root["benchmarks"]:
        for state in benchmark["states"]:
            (axis,) = state["axis_values"]
            case = axis.get("value") or axis["input_string"]
            if state.get("is_skipped"):
                skipped[case] = state.get("skip_reason") or "no reason given"
                continue
            values = {
                summary["tag"]: data["value"]
                for summary in state["summaries"] or []
                for data in summary["data"]
                if data["name"] == "value" and data.get("value") is not None
            }
            times = {}
            for statistic in ("median", "mean"):
                if f"nv/cold/time/gpu/{statistic}" in values:
                    times[f"cold {statistic}"] = float(values[f"nv/cold/time/gpu/{statistic}"]) * 1e9
                    break
            if "nv/batch/time/gpu/mean" in values:
                times["batch mean"] = float(values["nv/batch/time/gpu/mean"]) * 1e9
            found[case] = times
    return found, skipped


def add(all_times, case, way, ns):
    all_times.setdefault(case, {}).setdefault(way, []).append(ns)


def fail(failures, what, case, reason):
    """Keeps the first reason for which something was not measured, and the cases."""
    failures.setdefault(what, (reason, set()))[1].add(case)


def reasons(failures):
    lines = []
    for what, (reason, found) in failures.items():
        of = f" for {', '.join(sorted(found))}" if found != {""} else ""
        lines.append(f"{what} is NOT MEASURED{of}: {reason}")
    return lines


def last_words(printed):
    """The end of what a program printed, without tracebacks and the names of our benchmarks."""
    lines = [line for line in printed.splitlines() if line.strip() and not line.startswith((" ", "Traceback"))]
    lines = [line for line in lines if not line.endswith("…")]
    return "; ".join(lines[-3:]) or "no output"


# From here on a GPU is needed.


def cases(folder):
    """What each case launches: a function of the stream's address. Each is called once, which loads its kernel."""
    import cupy

    modules, streams = {}, {0: cupy.cuda.Stream.null}
    libcuda = ctypes.CDLL("libcuda.so.1")
    libcuda.cuMemcpyDtoDAsync_v2.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p]

    def zeros(count):
        return cupy.zeros(count, dtype=cupy.float32)

    def kernel(module, name, grid, block, arguments):
        if module not in modules:
            modules[module] = cupy.RawModule(path=os.path.join(folder, "ptx", f"{module}.ptx"))
        function = modules[module].get_function(name)

        def launch(stream):
            if stream not in streams:
                streams[stream] = cupy.cuda.ExternalStream(stream)
            with streams[stream]:
                function(grid, block, arguments)

        return launch

    def copy(count):
        source, target = zeros(count), zeros(count)

        def launch(stream):
            code = libcuda.cuMemcpyDtoDAsync_v2(target.data.ptr, source.data.ptr, 4 * count, stream)
            if code != 0:
                raise RuntimeError(f"cuMemcpyDtoDAsync returned {code}")

        return launch

    import numpy

    u32, i32 = numpy.uint32, numpy.int32
    all_cases = {}
    for n in (1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26):
        arguments = (u32(n), numpy.float32(2), zeros(n), zeros(n))
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
    for n in (256, 512, 1024, 2048, 4096):
        arguments = (zeros(n * n), zeros(n * n), zeros(n * n), i32(n), i32(n), i32(n))
        name = "matmul_tiled"
        all_cases[f"matmul kernel={name} n={n}"] = kernel("matmul", name, (n // 16, n // 16), (16, 16), arguments)
    for launch in all_cases.values():
        launch(0)
    cupy.cuda.runtime.deviceSynchronize()
    return all_cases


def run_nvbench(folder, out):
    """In a process of its own: nvbench takes the arguments of its process."""
    import cuda.bench

    all_cases = cases(folder)

    def one(state):
        launch = all_cases[state.get_string("case")]
        state.exec(lambda launched: launch(launched.get_stream().addressof()), batched=True)

    benchmark = cuda.bench.register(one)
    benchmark.add_string_axis("case", list(all_cases)).set_timeout(LIMIT).set_batch_target_time(BATCH)
    cuda.bench.run_all_benchmarks(["nvbench", "--quiet", "--devices", "0", "--json", out])


def measure_nvbench(folder, times, failures):
    """A round of nvbench. After a failure there is no further round."""
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "nvbench.json")
        program = [sys.executable, os.path.abspath(__file__), "--nvbench", folder, file]
        try:
            ran = subprocess.run(program, capture_output=True, text=True, timeout=MAX_PROGRAM)
            if ran.returncode != 0 or not os.path.exists(file):
                raise RuntimeError(f"exit status {ran.returncode}: {last_words(ran.stderr or ran.stdout)}")
            found, skipped = read_nvbench(file)
        except Exception as error:
            fail(failures, "nvbench", "", str(error))
            return
    for case, reason in skipped.items():
        fail(failures, "nvbench, a case", case, reason)
    for case, ways in found.items():
        for way, ns in ways.items():
            add(times["nvbench"], case, way, ns)


def measure_torch(all_cases, ours, times, failures):
    """A round of Triton and of torch.utils.benchmark."""
    import torch
    import torch.utils.benchmark

    def of_triton(function, **arguments):
        import triton.testing

        return getattr(triton.testing, function)(run, return_mode="median", **arguments) * 1e6

    for case, launch in all_cases.items():

        def run():
            launch(torch.cuda.current_stream().cuda_stream)

        def timer():
            timer = torch.utils.benchmark.Timer("run()", globals={"run": run})
            return timer.blocked_autorange(min_run_time=LIMIT).median * 1e9

        ways = {
            ("triton", "do_bench"): lambda: of_triton("do_bench", rep=REP),
            ("triton", "do_bench_cudagraph"): lambda: of_triton("do_bench_cudagraph", rep=GRAPH_REP),
        }
        if statistics.median(ours.get(case, {}).get("hot", [0])) >= TORCH_FROM:
            ways["torch", "Timer"] = timer
        for (peer, way), measured in ways.items():
            try:
                add(times[peer], case, way, measured())
            except Exception as error:
                fail(failures, f"{peer} {way}", case, repr(error))


def measure_ours(folder, simulated, ours, failures):
    program = [os.path.join(folder, "kernels"), "--bench", "--modes", "cold,hot,graph", "--format", "csv"]
    program += ["--axis", "kernel=matmul_tiled"]
    program += SIMULATED if simulated else ["--max-time", str(LIMIT)]
    environment = dict(os.environ, GPUPROF_SIM="1") if simulated else None
    try:
        ran = subprocess.run(program, capture_output=True, text=True, timeout=MAX_PROGRAM, env=environment)
    except Exception as error:
        fail(failures, "gpuprof", "", str(error))
        return
    if ran.returncode != 0:
        fail(failures, "gpuprof", "", f"exit status {ran.returncode}: {last_words(ran.stderr)}")
    medians, is_simulated = read_csv(ran.stdout)
    if is_simulated and not simulated:
        fail(failures, "gpuprof", "", "it found no CUDA device and ran on the simulated one")
        return
    for case, modes in medians.items():
        for mode, ns in modes.items():
            add(ours, case, mode, ns)


def measure(folder, rounds, simulated):
    """Times in ns of ours and of the peers, what failed, and the number of rounds."""
    ours, times, failures = {}, {peer: {} for peer in PEERS}, {}
    all_cases = {}
    started, longest = time.monotonic(), 0
    if simulated:
        for peer in PEERS:
            fail(failures, peer, "", "the device is simulated")
    else:
        try:
            import torch

            torch.zeros(1, device="cuda")
            all_cases = cases(folder)
        except Exception as error:
            fail(failures, "triton", "", repr(error))
            fail(failures, "torch", "", repr(error))
    # A device that was idle runs the first seconds half a percent faster: nothing of that round is kept.
    for number in range(rounds + 1):
        begun = time.monotonic()
        if number > 1 and begun - started + longest > MAX_TOTAL:
            print(f"no round {number}: it would end after {MAX_TOTAL} s", flush=True)
            return ours, times, failures, number - 1
        if number == 1:
            ours, times = {}, {peer: {} for peer in PEERS}
        print(f"round {number} of {rounds}" if number else "a round to warm up", flush=True)
        measure_ours(folder, simulated, ours, failures)
        if all_cases:
            measure_torch(all_cases, ours, times, failures)
        if "nvbench" not in failures:
            measure_nvbench(folder, times, failures)
        longest = max(longest, time.monotonic() - begun)
    return ours, times, failures, rounds


def versions():
    """The versions of all, by name."""
    from importlib import metadata

    found = {"date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"), "python": sys.version.split()[0]}
    for name in ("torch", "triton", "cupy"):
        try:
            found[name] = str(__import__(name).__version__)
        except Exception:
            found[name] = "none"
    for name in ("cuda-bindings", "cuda-bench"):
        try:
            found[name] = metadata.version(name)
        except Exception:
            found[name] = "none"
    try:
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        ran = subprocess.run(query, capture_output=True, text=True, timeout=30)
        found["device, driver"] = "; ".join(ran.stdout.strip().splitlines()) or "none"
    except Exception:
        found["device, driver"] = "none"
    return found


def main(folder, out, rounds, simulated):
    ours, times, failures, rounds = measure(folder, rounds, simulated)
    rows, failed = table(ours, times)
    all_versions = versions()
    head = ", ".join(f"{name} {version}" for name, version in all_versions.items())
    settings = "the simulated device, whose times are modelled" if simulated else SETTINGS
    printed = "\n".join([head, f"{rounds} rounds in turn after one to warm up; {settings}", text(rows) + "\n".join(reasons(failures)), ""])
    print(printed, end="")
    with open(os.path.join(out, "peers.txt"), "w", encoding="utf-8") as opened:
        opened.write(printed)
    everything = {
        "versions": all_versions,
        "rounds": rounds,
        "settings": settings,
        "ours_ns": ours,
        "peers_ns": times,
        "not_measured": reasons(failures),
        "rows": [dict(zip(HEADINGS, row)) for row in rows],
    }
    with open(os.path.join(out, "peers.json"), "w", encoding="utf-8") as opened:
        json.dump(everything, opened, indent=2)
    return 1 if failed or not ours or "gpuprof" in failures else 0


def self_test():
    printed = 'benchmark,mode,median_ns,device\na n=1,cold,12.5,H200\na n=1,hot,7,"H200, driver"\n'
    assert read_csv(printed) == ({"a n=1": {"cold": 12.5, "hot": 7.0}}, False)
    assert read_csv(printed.replace("H200,", "simulated device,"))[1]
    # 2 % is allowed from 50 µs on, 5 % from 10 µs on.
    assert verdicts([50_900.0] * 2, [50_000.0] * 2)[1] == []
    assert verdicts([51_100.0] * 2, [50_000.0] * 2)[1] == ["differs by more than 2%"]
    assert verdicts([20_900.0] * 2, [20_000.0] * 2)[1] == []
    assert verdicts([18_900.0] * 2, [20_000.0] * 2)[1] == ["differs by more than 5%"]
    # 0.5 % of spread is always allowed, more only beside a peer that has it too.
    assert verdicts([100_000.0, 100_400.0], [100_000.0] * 2)[1] == []
    assert verdicts([100_000.0, 101_000.0], [100_000.0] * 2)[1] == [WIDER]
    assert verdicts([100_000.0, 101_000.0], [100_000.0, 100_800.0])[1] == []
    ours = {"a": {"cold": [1e5], "hot": [9e4]}, "b": {"cold": [5e3]}}
    peers = {"triton": {"a": {"do_bench": [1.1e5]}, "b": {"do_bench": [9e3]}}}
    # The spread of calls in a row is not that of replays.
    wide, narrow = {"a": {"hot": [1e5, 1.01e5], "graph": [1e5, 1.01e5]}}, {"a": {"do_bench_cudagraph": [1e5] * 2}}
    assert [row[-1] for row in table(wide, {"triton": narrow})[0]] == [WIDER, "pass"]
    rows, failed = table(ours, peers)
    assert failed and [row[-1] for row in rows] == ["differs by more than 2%", "NOT MEASURED", "info"], rows
    assert text(rows).splitlines()[1].startswith("a       cold  100.00     triton do_bench  110.00"), text(rows)
    # A case that gpuprof lost fails; one that only gpuprof measured is shown.
    rows, failed = table({}, {"triton": {"a": {"do_bench": [1e5]}}})
    assert failed and [row[-1] for row in rows] == ["not measured by gpuprof"], rows
    assert not table({"a": {"cold": [1e5]}}, {})[1]
    # Below 10 µs there is no verdict.
    assert not table({"a": {"cold": [5e3, 6e3]}}, {"triton": {"a": {"do_bench": [9e3, 9e3]}}})[1]
    failures = {}
    fail(failures, "nvbench", "", "no module")
    fail(failures, "triton do_bench", "b", "an error")
    fail(failures, "triton do_bench", "a", "another")
    assert reasons(failures) == [
        "nvbench is NOT MEASURED: no module",
        "triton do_bench is NOT MEASURED for a, b: an error",
    ]

    assert last_words("Traceback:\n  File\nKeyError: 1\n\nsaxpy …\n") == "KeyError: 1"
    assert last_words("") == "no output"

    def summary(tag, value):
        return {"tag": tag, "data": [{"name": "value", "type": "float64", "value": value}]}

    def state(case, **more):
        return {"axis_values": [{"name": "case", "type": "string", "value": case}], **more}

    mean, batch = summary("nv/cold/time/gpu/mean", "3e-06"), summary("nv/batch/time/gpu/mean", "1.5e-06")
    median = summary("nv/cold/time/gpu/median", "2e-06")
    states = [
        state("a n=1", summaries=[mean, median, batch]),
        state("b", summaries=[mean, summary("nv/batch/time/gpu/mean", None)]),
        state("c", summaries=None, is_skipped=True, skip_reason="an error"),
    ]
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "x.json")
        with open(file, "w", encoding="utf-8") as opened:
            json.dump({"benchmarks": [{"states": states}]}, opened)
        found, skipped = read_nvbench(file)
    rounded = {case: {way: round(ns) for way, ns in ways.items()} for case, ways in found.items()}
    assert rounded == {"a n=1": {"cold median": 2000, "batch mean": 1500}, "b": {"cold mean": 3000}}, found
    assert skipped == {"c": "an error"}, skipped
    print("bench_peers.py: as it should be")


def command(arguments):
    """Runs what the arguments ask for. Returns the exit status."""
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) == 3 and arguments[0] == "--nvbench":
        return run_nvbench(*arguments[1:])
    simulated = "--simulated" in arguments
    rest = [one for one in arguments if one != "--simulated"]
    if len(rest) == 2 or (len(rest) == 4 and rest[2] == "--rounds"):
        return main(rest[0], rest[1], int(rest[3]) if rest[3:] else ROUNDS, simulated)
    return __doc__


if __name__ == "__main__":
    sys.exit(command(sys.argv[1:]))
