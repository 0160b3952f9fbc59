#!/bin/sh
# Runs everything in this folder on this machine's GPU and writes down what came of it.
set -eu

usage() {
    cat <<'END'
usage: run.sh [--short] [--simulated] [--only NAME]... [--skip NAME]... [OUT]

Makes every check of gpuprof on this machine's GPU, runs the examples and the benchmark, prints a table
(check, measured, wanted, verdict) and writes into the folder OUT, ./out if none is given:

  gpu-pack.json, gpu-pack.md   the table, with device, driver, date and command line
  examples.txt                 what the examples printed
  bench.json, bench.txt        the benchmark
  torch.json, torch.txt        the same for torch.profiler, if python3 has PyTorch
  peers.json, peers.txt        gpuprof's benchmarks beside Triton, nvbench and torch.utils.benchmark, those
                               of them that python3 can import, in less than 8 minutes

  --short       as little as shows that everything works; nothing of it is a measurement
  --simulated   on the simulated device, to try the pack itself
  --only NAME   this check alone: a name that `gpu-checks list` shows, `examples`, `bench` or `peers`
  --skip NAME   all but this one

It needs an NVIDIA driver, glibc @GLIBC@ or newer, gzip, and nothing else. The exit status is 0 where everything is as wanted.
END
}

wrong() {
    echo "run.sh: $1" >&2
    usage >&2
    exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
out=./out
flags=
simulated=
names=
checks=yes
bench=yes
peers=yes
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h)
        usage
        exit 0
        ;;
    --short) flags="$flags --short" ;;
    --simulated)
        flags="$flags --simulated"
        simulated=--simulated
        ;;
    --only | --skip)
        [ $# -ge 2 ] || wrong "$1 needs a name"
        case "$1 $2" in
        "--only bench")
            checks=no
            peers=no
            ;;
        "--only peers")
            checks=no
            bench=no
            ;;
        "--skip bench") bench=no ;;
        "--skip peers") peers=no ;;
        *[!a-z0-9\ -]*) wrong "there is no check \`$2\`" ;;
        --only*)
            bench=no
            peers=no
            names="$names $1 $2"
            ;;
        *) names="$names $1 $2" ;;
        esac
        shift
        ;;
    -*) wrong "cannot use \`$1\`" ;;
    *) out=$1 ;;
    esac
    shift
done

# The caller's settings of gpuprof are not what is measured here.
for name in $(env | sed -n 's/^\(GPUPROF[A-Z_]*\)=.*/\1/p'); do
    unset "$name"
done
for packed in "$here"/*.gz; do
    [ ! -e "$packed" ] || gzip -df "$packed"
done
# The copy may have lost the permissions; where they cannot be mended they are right already.
chmod +x "$here"/* 2>/dev/null || true

# In containers and on some distributions the driver lies where the loader does not look by itself.
answers() {
    "$here/gpu-checks" machine $simulated >/dev/null 2>&1
}
if ! answers; then
    path=${LD_LIBRARY_PATH:-}
    for folder in /usr/lib/x86_64-linux-gnu /usr/lib/aarch64-linux-gnu /usr/lib64 /usr/lib64/nvidia /usr/lib/nvidia* \
        /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib/wsl/lib /run/opengl-driver/lib /usr/local/cuda/compat; do
        [ -e "$folder/libcuda.so.1" ] || continue
        export LD_LIBRARY_PATH="$folder${path:+:$path}"
        answers && break
        export LD_LIBRARY_PATH="$path"
    done
fi
if ! answers; then
    # Once more, for what it says.
    "$here/gpu-checks" machine $simulated || exit 1
fi

mkdir -p "$out"
status=0
if [ $checks = yes ]; then
    # Both are lists of words that were looked at above.
    # shellcheck disable=SC2086
    "$here/gpu-checks" --out "$out" $flags $names || status=1
fi
if [ $bench = yes ]; then
    [ -z "$simulated" ] || export GPUPROF_SIM=1
    case $flags in
    *--short*) short=--short ;;
    *) short= ;;
    esac
    "$here/cost" $short --off "$here/cost-off" --json "$out/bench.json" >"$out/bench.txt" || status=1
    cat "$out/bench.txt"
    if [ -n "$simulated" ]; then
        echo "run.sh: torch.profiler is not measured: no GPU"
    elif ! python3 -c "import torch" 2>/dev/null; then
        echo "run.sh: torch.profiler is NOT MEASURED: python3 has no PyTorch here"
    else
        python3 "$here/torch_profiler.py" "$out/torch.json" >"$out/torch.txt" || status=1
        cat "$out/torch.txt"
    fi
fi
if [ $peers = yes ]; then
    case $flags in
    *--short* | *--simulated*) rounds=2 ;;
    *) rounds=10 ;;
    esac
    if command -v python3 >/dev/null 2>&1; then
        python3 "$here/bench_peers.py" "$here" "$out" --rounds $rounds $simulated || status=1
    else
        echo "run.sh: the benchmarks and their peers are NOT MEASURED: there is no python3 here"
    fi
fi
exit $status
