//! Every setting of gpuprof in one table: its environment variable, its default, the values that it
//! takes, what it means, and its method of the session builder.

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// Which setting it is.
    pub setting: Setting,
    /// The name of the environment variable.
    pub name: &'static str,
    /// The value that stands for the default, or what applies without a value.
    pub default: &'static str,
    /// The accepted values, as a message says it: "it takes …".
    pub accepts: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// The method of `SessionBuilder`; `None` for a setting of the process.
    pub builder: Option<&'static str>,
}

/// The settings. Exhaustive: the code that reads them must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "`VARIABLES` describes each")]
pub enum Setting {
    Mode,
    Report,
    Sort,
    Limit,
    Filter,
    Sample,
    TraceLimit,
    FromStart,
    Delay,
    For,
    ExitWait,
    Signals,
    Checkpoint,
    Cupti,
    CuptiLibrary,
    Counters,
    Stacks,
    Stalls,
    Memory,
    Meta,
    Metrics,
    Live,
    Tracing,
}

/// Whether measuring begins at the start, or at the program's call of `cudaProfilerStart`.
pub const FROM_START: &str = "GPUPROF_FROM_START";

/// How long after CUDA is initialized measuring begins, or after the first profiled call. Has no
/// effect if [`FROM_START`] is off.
pub const DELAY: &str = "GPUPROF_DELAY";

/// How long the program is measured. Has no effect if [`FROM_START`] is off.
pub const FOR: &str = "GPUPROF_FOR";

/// Names the libcupti to open. It is read when CUPTI starts, for sessions of the program as well.
pub const CUPTI_LIBRARY: &str = "GPUPROF_CUPTI_LIBRARY";

/// Samples hardware counters. It has an effect only if CUPTI is on.
pub const COUNTERS: &str = "GPUPROF_COUNTERS";

/// The order of the rows in a report.
pub const SORT: &str = "GPUPROF_SORT";

/// How many rows a report has.
pub const LIMIT: &str = "GPUPROF_LIMIT";

/// The time between rewrites of JSON files.
pub const CHECKPOINT: &str = "GPUPROF_CHECKPOINT";

/// Samples the stacks of launches. It has an effect only if CUPTI is on.
pub const STACKS: &str = "GPUPROF_STACKS";

/// Samples for what kernels wait. It has an effect only if CUPTI is on.
pub const STALLS: &str = "GPUPROF_STALLS";

/// Facts about the run. It is read when a profile is taken, for sessions of the program as well.
pub const META: &str = "GPUPROF_META";

/// Which spans of `tracing` are measured. It is read when the program makes the layer.
pub const TRACING: &str = "GPUPROF_TRACING";

/// Every setting, in the order of the documentation.
pub const VARIABLES: [Variable; 23] = [
    Variable {
        setting: Setting::Mode,
        name: "GPUPROF",
        default: "on",
        accepts: "on, standby, nvtx or off",
        meaning: "measure; measure while a viewer looks; emit NVTX ranges only; do nothing",
        builder: Some("mode"),
    },
    Variable {
        setting: Setting::Report,
        name: "GPUPROF_REPORT",
        default: "table",
        accepts: "none, or a comma list of table, table:full, json=PATH, csv=PATH, folded=PATH, \
                  folded:cpu=PATH, pprof=PATH, html=PATH and trace=PATH",
        meaning: "what is written at exit (outputs); PATH takes {pid}, {rank} and {exe}",
        builder: Some("outputs"),
    },
    Variable {
        setting: Setting::Sort,
        name: SORT,
        default: "gpu",
        accepts: "gpu, cpu, calls, max or name",
        meaning: "the order of the rows",
        builder: None,
    },
    Variable {
        setting: Setting::Limit,
        name: LIMIT,
        default: "30",
        accepts: "a number of rows, 0 for all",
        meaning: "how many rows the call tree shows; the others are summed. Other tables show a \
                  third of it",
        builder: None,
    },
    Variable {
        setting: Setting::Filter,
        name: "GPUPROF_FILTER",
        default: "all functions",
        accepts: "a regular expression",
        meaning: "only functions whose name matches are measured; the others cost what GPUPROF=off \
                  does",
        builder: Some("filter"),
    },
    Variable {
        setting: Setting::Sample,
        name: "GPUPROF_SAMPLE",
        default: "auto:1%",
        accepts: "auto:P% with a budget of P percent of the program's time, auto for auto:1%, or a \
                  whole number N from 1, for 1 call in N",
        meaning: "which calls are timed on the GPU: as many as the budget pays for, or one in N at \
                  random, and 1 for all (sampling)",
        builder: Some("sampling"),
    },
    Variable {
        setting: Setting::TraceLimit,
        name: "GPUPROF_TRACE_LIMIT",
        default: "1000000",
        accepts: "a number of events from 1",
        meaning: "how many events the time line of trace=PATH keeps, the newest; an event takes \
                  16 to 40 bytes",
        builder: Some("trace_limit"),
    },
    Variable {
        setting: Setting::FromStart,
        name: FROM_START,
        default: "on",
        accepts: "on or off",
        meaning: "measure from the start, or with off from each cudaProfilerStart to the next \
                  cudaProfilerStop of the program; off switches GPUPROF_CUPTI on",
        builder: None,
    },
    Variable {
        setting: Setting::Delay,
        name: DELAY,
        default: "none",
        accepts: "a duration such as 500ms or 2s",
        meaning: "how long after CUDA is initialized measuring begins, or after the first profiled \
                  call of a program with gpuprof",
        builder: None,
    },
    Variable {
        setting: Setting::For,
        name: FOR,
        default: "to the end",
        accepts: "a duration such as 500ms or 2s",
        meaning: "how long the program is measured; it goes on, and is reported at its end",
        builder: None,
    },
    Variable {
        setting: Setting::ExitWait,
        name: "GPUPROF_EXIT_WAIT",
        default: "2s",
        accepts: "a duration such as 500ms or 2s",
        meaning: "how long exit waits, at most, for pending GPU work",
        builder: Some("exit_wait"),
    },
    Variable {
        setting: Setting::Signals,
        name: "GPUPROF_SIGNALS",
        default: "off",
        accepts: "off or on",
        meaning: "on SIGINT and SIGTERM, write the report before the process ends",
        builder: None,
    },
    Variable {
        setting: Setting::Checkpoint,
        name: CHECKPOINT,
        default: "off",
        accepts: "a number of seconds from 0.01, such as 10, or off",
        meaning: "the interval at which the JSON files are rewritten",
        builder: None,
    },
    Variable {
        setting: Setting::Cupti,
        name: "GPUPROF_CUPTI",
        default: "off",
        accepts: "off, on or full",
        meaning: "record kernels inside functions; full adds allocations, frees and look-ups of \
                  kernels to the API calls",
        builder: Some("cupti"),
    },
    Variable {
        setting: Setting::CuptiLibrary,
        name: CUPTI_LIBRARY,
        default: "a search in the usual places",
        accepts: "a path",
        meaning: "which libcupti to open",
        builder: None,
    },
    Variable {
        setting: Setting::Counters,
        name: COUNTERS,
        default: "off",
        accepts: "off, on, or a comma list of at most 8 metrics of CUPTI such as \
                  lts__t_sectors.sum",
        meaning: "sample the hardware counters of the GPU: the listed metrics, and gpuprof's own \
                  (bandwidth, units, caches, tensor cores, links) per function and kernel; \
                  switches GPUPROF_CUPTI on",
        builder: Some("counters"),
    },
    Variable {
        setting: Setting::Stacks,
        name: STACKS,
        default: "off",
        accepts: "off or on",
        meaning: "report from which source lines kernels are launched, above all those outside any \
                  profiled function; switches GPUPROF_CUPTI on",
        builder: Some("stacks"),
    },
    Variable {
        setting: Setting::Stalls,
        name: STALLS,
        default: "off",
        accepts: "off or on",
        meaning: "sample for what the warps of each kernel wait, and at which source lines; \
                  switches GPUPROF_CUPTI on",
        builder: Some("stalls"),
    },
    Variable {
        setting: Setting::Memory,
        name: "GPUPROF_MEMORY",
        default: "off",
        accepts: "off or on",
        meaning: "record which function allocates and frees device and pinned memory, the peak, \
                  and what is live at exit; switches GPUPROF_CUPTI on",
        builder: Some("memory"),
    },
    Variable {
        setting: Setting::Meta,
        name: META,
        default: "args, and commit in CI",
        accepts: "KEY=VALUE,KEY=VALUE, at most 32 pairs",
        meaning: "facts about the run that its JSON holds and gpuprof diff compares; an empty \
                  VALUE removes args or commit",
        builder: None,
    },
    Variable {
        setting: Setting::Metrics,
        name: "GPUPROF_METRICS",
        default: "off",
        accepts: "off, or a comma list of listen=ADDRESS and prometheus=PATH; ADDRESS is a port of \
                  127.0.0.1, IP:PORT or localhost:PORT",
        meaning: "with the feature metrics, serve metrics for Prometheus on ADDRESS, and write \
                  them into the text file PATH at exit and at each checkpoint; both take {pid} and \
                  {rank}",
        builder: None,
    },
    Variable {
        setting: Setting::Live,
        name: "GPUPROF_LIVE",
        default: "off",
        accepts: "off or on",
        meaning: "let gpuprof top, snapshot and trace connect",
        builder: None,
    },
    Variable {
        setting: Setting::Tracing,
        name: TRACING,
        default: "info,candle=trace",
        accepts: "TARGET=LEVEL,TARGET=LEVEL, and LEVEL for all other targets",
        meaning: "with the feature tracing and its layer, which spans of tracing are measured",
        builder: None,
    },
];
