"""Prints as JSON what a report of Nsight Compute says of the samples of program counters: for each
kernel the samples, those with each reason, and those in each source line.

    python3 ncu_stalls.py REPORT [FOLDER]

FOLDER has NVIDIA's module `ncu_report`; without it, it is looked for where Nsight Compute is
installed. What the report or the module lacks is said in `problems`.
"""

import glob
import json
import os
import shutil
import sys

PREFIX = "smsp__pcsamp_warps_issue_stalled_"
# Samples in which no warp of the scheduler issued: they are among those of the metric without it.
SUFFIX = "_not_issued"
GROUP = "group:smsp__pcsamp_warp_stall_reasons"
# Where NVIDIA's packages put Nsight Compute.
PLACES = [
    "/opt/nvidia/nsight-compute/*/extras/python",
    "/usr/local/cuda*/nsight-compute-*/extras/python",
    "/opt/nvidia/nsight-compute*/extras/python",
]
MAX_PROBLEMS = 8


def folders(given):
    """The folders in which the module may be, the newest version first."""
    found = [given] if given else []
    ncu = os.environ.get("NCU") or shutil.which("ncu")
    if ncu:
        folder = os.path.dirname(os.path.realpath(ncu))
        for _ in range(4):
            found.append(os.path.join(folder, "extras", "python"))
            folder = os.path.dirname(folder)
    for place in PLACES:
        found.extend(sorted(glob.glob(place), reverse=True))
    return [folder for folder in found if os.path.isfile(os.path.join(folder, "ncu_report.py"))]


def load(given):
    """NVIDIA's module, or the reasons for which there is none."""
    reasons = []
    for folder in folders(given):
        sys.path.insert(0, folder)
        try:
            import ncu_report

            return ncu_report
        except Exception as error:
            reasons.append(f"{folder}: {type(error).__name__}: {error}")
            sys.path.pop(0)
    raise SystemExit("ncu_stalls.py: no module ncu_report: " + ("; ".join(reasons) or "not found"))


class Kernel:
    """The sums over all launches of a kernel."""

    def __init__(self, name):
        self.name = name
        self.reasons = {}
        self.lines = {}
        # What the report says of the sampling itself, such as the interval.
        self.settings = {}

    def as_json(self):
        lines = [
            {"file": file, "line": line, "samples": samples}
            for (file, line), samples in sorted(self.lines.items(), key=lambda of: -of[1])
        ]
        return {
            "kernel": self.name,
            "samples": sum(self.reasons.values()),
            "reasons": self.reasons,
            "lines": lines,
            "settings": self.settings,
        }


def names_of_reasons(action):
    """The metrics of all reasons: those of the group, or all with its prefix."""
    names = []
    try:
        group = action.metric_by_name(GROUP)
        if group is not None:
            names = [name.strip() for name in str(group.as_string()).split(",")]
    except Exception:
        pass
    if not any(name.startswith(PREFIX) for name in names):
        names = list(action.metric_names())
    return sorted(
        name for name in set(names) if name.startswith(PREFIX) and not name.endswith(SUFFIX)
    )


def instances(metric):
    """Pairs of a program counter and its samples."""
    count = metric.num_instances()
    if not count or not metric.has_correlation_ids():
        return []
    places = metric.correlation_ids()
    return [(places.as_uint64(i), metric.as_uint64(i)) for i in range(count)]


def place(action, counter):
    """File without its folders, and line; an empty name if there is none."""
    info = action.source_info(counter)
    if info is None:
        return ("", 0)
    return (os.path.basename(str(info.file_name())), int(info.line()))


def add(action, kernel, problems):
    """Adds what one launch has."""
    names = names_of_reasons(action)
    if not names:
        offered = ", ".join(sorted(name for name in action.metric_names() if "pcsamp" in name))
        problems.append(f"{kernel.name}: no metric {PREFIX}*; there are: {offered or 'none'}")
    for name in names:
        metric = action.metric_by_name(name)
        if metric is None:
            problems.append(f"{kernel.name}: {name} is listed, and not there")
            continue
        of_places = instances(metric)
        total = sum(samples for _, samples in of_places) or int(metric.as_uint64())
        reason = name[len(PREFIX):]
        kernel.reasons[reason] = kernel.reasons.get(reason, 0) + total
        for counter, samples in of_places:
            at = place(action, counter)
            kernel.lines[at] = kernel.lines.get(at, 0) + samples
    for name in action.metric_names():
        if "pcsamp" in name and not name.startswith((PREFIX, "group:")):
            try:
                kernel.settings[name] = str(action.metric_by_name(name).value())
            except Exception as error:
                problems.append(f"{name}: {error}")


def main():
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    module = load(sys.argv[2] if len(sys.argv) == 3 else None)
    context = module.load_report(sys.argv[1])
    kernels, problems = {}, []
    for i in range(context.num_ranges()):
        actions = context.range_by_idx(i)
        for j in range(actions.num_actions()):
            action = actions.action_by_idx(j)
            try:
                name = str(action.name())
                # `void copy(float4 const*, float4*, unsigned long)`, or `copy` alone.
                name = name.split("(")[0].split("<")[0].split()[-1]
                add(action, kernels.setdefault(name, Kernel(name)), problems)
            except Exception as error:
                offered = [name for name in dir(action) if not name.startswith("_")]
                problems.append(f"{type(error).__name__}: {error}; an action has: {offered}")
    if not kernels:
        problems.append(f"no kernel; a report has: {dir(context)}")
    left = len(problems) - MAX_PROBLEMS
    problems = problems[:MAX_PROBLEMS] + ([f"and {left} more"] if left > 0 else [])
    kernels = [kernel.as_json() for kernel in kernels.values()]
    print(json.dumps({"kernels": kernels, "problems": problems}))


main()
