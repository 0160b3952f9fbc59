//! The rows of the benchmark, and the setting under which each is measured.

/// One of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// `cost`, where the attribute measures.
    On,
    /// `cost-off`, built without the feature `enable`.
    Off,
}

/// The settings of a worker process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) program: Program,
    /// Environment variables, in addition to `GPUPROF_REPORT=none`.
    pub(crate) environment: &'static [(&'static str, &'static str)],
}

const fn setting(
    name: &'static str,
    program: Program,
    environment: &'static [(&'static str, &'static str)],
) -> Setting {
    Setting {
        name,
        program,
        environment,
    }
}

/// The numbers of threads of each row.
pub(crate) const THREADS: [u64; 4] = [1, 2, 8, 16];

/// The defaults.
pub(crate) const PLAIN: Setting = setting("plain", Program::On, &[]);
/// Without the feature `enable`.
pub(crate) const SWITCHED_OFF: Setting = setting("switched off", Program::Off, &[]);
/// The GPU rows, in a process of their own because CUDA starts threads, with every call timed.
pub(crate) const GPU: Setting = setting("gpu", Program::On, &[("GPUPROF_SAMPLE", "1")]);
/// The GPU rows under the default sampling.
const GPU_DEFAULT: Setting = setting("gpu by default", Program::On, &[]);
/// The GPU rows with hardly a call timed.
const GPU_SAMPLED_OUT: Setting = setting(
    "gpu, sampled out",
    Program::On,
    &[("GPUPROF_SAMPLE", "1000000")],
);
const HIT: Setting = setting("hit", Program::On, &[("GPUPROF_FILTER", "^bench/span$")]);
const MISS: Setting = setting("miss", Program::On, &[("GPUPROF_FILTER", "^bench/cpu$")]);
/// Every call is recorded.
const TIME_LINE: Setting = setting(
    "time line",
    Program::On,
    &[("GPUPROF_REPORT", "trace=/dev/null")],
);
const OFF: Setting = setting("off", Program::On, &[("GPUPROF", "off")]);
/// hotpath's metrics server would listen on a port.
const HOTPATH: Setting = setting(
    "hotpath",
    Program::On,
    &[("HOTPATH_METRICS_SERVER_OFF", "1")],
);
const FASTRACE: Setting = setting("fastrace", Program::On, &[]);
const TRACING: Setting = setting("tracing", Program::On, &[]);
const TRACING_GPUPROF: Setting = setting("tracing, gpuprof", Program::On, &[]);
const TRACING_CHROME: Setting = setting("tracing, chrome", Program::On, &[]);
const TRACING_FASTRACE: Setting = setting("tracing, fastrace", Program::On, &[]);

/// The GPU rows with CUPTI's records, and hardly a call timed by events.
pub(crate) const GPU_CUPTI: Setting = setting(
    "gpu with CUPTI",
    Program::On,
    &[("GPUPROF_CUPTI", "on"), ("GPUPROF_SAMPLE", "1000000")],
);

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// The name in the JSON and in promises.
    pub(crate) name: &'static str,
    /// The label in the table.
    pub(crate) label: &'static str,
    /// The row of the worker.
    pub(crate) row: &'static str,
    pub(crate) setting: Setting,
    /// The case that this one is compared with.
    pub(crate) bare: &'static str,
    /// True if the row launches kernels.
    pub(crate) gpu: bool,
}

const fn cpu(name: &'static str, label: &'static str, row: &'static str, setting: Setting) -> Case {
    Case {
        name,
        label,
        row,
        setting,
        bare: "raw-tsc",
        gpu: false,
    }
}

/// A span under a layer for `tracing`.
const fn layer(name: &'static str, label: &'static str, setting: Setting) -> Case {
    cpu(name, label, name, setting)
}

const fn gpu(name: &'static str, label: &'static str) -> Case {
    Case {
        name,
        label,
        row: name,
        setting: GPU,
        bare: "gpu-hand",
        gpu: true,
    }
}

/// A launch in an annotated function under a setting of sampling.
const fn sampled(name: &'static str, label: &'static str, setting: Setting) -> Case {
    Case {
        row: "gpu-span",
        setting,
        bare: "gpu-bare",
        ..gpu(name, label)
    }
}

/// A row whose threads launch on one stream.
const fn shared(name: &'static str, label: &'static str) -> Case {
    Case {
        bare: "gpu-hand-shared",
        ..gpu(name, label)
    }
}

/// Every row, in table order.
pub(crate) const CASES: [Case; 31] = [
    cpu("nothing", "nothing", "nothing", PLAIN),
    cpu("raw-tsc", "two raw TSC reads", "raw-tsc", PLAIN),
    cpu("instant", "two Instant reads", "instant", PLAIN),
    cpu("span", "gpuprof", "span", PLAIN),
    cpu("span-cpu", "gpuprof, marked cpu", "span-cpu", PLAIN),
    cpu("filter-hit", "gpuprof, filter hit", "span", HIT),
    cpu("filter-miss", "gpuprof, filter miss", "span", MISS),
    cpu("time-line", "gpuprof, on a time line", "span", TIME_LINE),
    cpu("guard", "re-entry guard alone", "guard", PLAIN),
    cpu("off", "GPUPROF=off", "span", OFF),
    cpu("switched-off", "feature off", "span", SWITCHED_OFF),
    cpu(
        "nothing-there",
        "nothing, in that program",
        "nothing",
        SWITCHED_OFF,
    ),
    cpu("hotpath", "hotpath #[measure]", "hotpath", HOTPATH),
    cpu("fastrace", "fastrace #[trace]", "fastrace", FASTRACE),
    cpu("tracing", "tracing span, empty layer", "tracing", TRACING),
    layer("tracing-filtered", "the same, with a filter", TRACING),
    layer(
        "tracing-gpuprof",
        "the same, gpuprof's layer",
        TRACING_GPUPROF,
    ),
    layer("tracing-chrome", "the same, tracing-chrome", TRACING_CHROME),
    layer(
        "tracing-fastrace",
        "the same, fastrace-tracing",
        TRACING_FASTRACE,
    ),
    layer("tracing-stored", "stored span, empty layer", TRACING),
    layer(
        "tracing-stored-filtered",
        "the same, with a filter",
        TRACING,
    ),
    layer(
        "tracing-stored-gpuprof",
        "the same, gpuprof's layer",
        TRACING_GPUPROF,
    ),
    gpu("gpu-bare", "launch"),
    gpu("gpu-hand", "launch, 2 events"),
    gpu("gpu-hand-checked", "launch, events, checks"),
    gpu("gpu-span", "launch in gpuprof"),
    sampled("gpu-default", "the same, by default", GPU_DEFAULT),
    sampled("gpu-sampled-out", "the same, sampled out", GPU_SAMPLED_OUT),
    shared("gpu-bare-shared", "one stream: launch"),
    shared("gpu-hand-shared", "one stream: 2 events"),
    shared("gpu-span-shared", "one stream: gpuprof"),
];

/// A case for the simulated device alone: its libcupti is at hand.
pub(crate) const CUPTI_LAUNCH: Case =
    sampled("gpu-cupti", "the same, sampled out, with CUPTI", GPU_CUPTI);

/// A case whose memory is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryCase {
    /// A name in [`CASES`].
    pub(crate) name: &'static str,
    pub(crate) threads: u64,
    /// Calls of all threads.
    pub(crate) calls: u64,
    /// True if gpuprof's promises apply.
    pub(crate) promised: bool,
}

const fn memory(name: &'static str, threads: u64, calls: u64, promised: bool) -> MemoryCase {
    MemoryCase {
        name,
        threads,
        calls,
        promised,
    }
}

/// Ten million calls, and fewer if each is a launch.
pub(crate) const MEMORY: [MemoryCase; 8] = [
    memory("nothing", 1, 10_000_000, false),
    memory("span", 1, 10_000_000, true),
    memory("span", 4, 10_000_000, true),
    memory("hotpath", 1, 10_000_000, false),
    memory("hotpath", 4, 10_000_000, false),
    memory("gpu-bare", 1, 200_000, false),
    memory("gpu-span", 1, 200_000, true),
    memory("gpu-span", 4, 200_000, true),
];

/// The case with this name.
pub(crate) fn case(name: &str) -> Option<&'static Case> {
    CASES.iter().find(|case| case.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_is_referred_to_exists_once() {
        for case in &CASES {
            let same = CASES.iter().filter(|other| other.name == case.name);
            assert_eq!(same.count(), 1, "{}", case.name);
            assert!(CASES.iter().any(|other| other.name == case.bare));
        }
        assert!(MEMORY.iter().all(|memory| case(memory.name).is_some()));
    }
}
