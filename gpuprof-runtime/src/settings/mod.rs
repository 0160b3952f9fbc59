//! The settings of a window, from the environment or from a
//! [`SessionBuilder`](crate::SessionBuilder).

mod environment;
mod metrics;
mod placeholders;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::time::Duration;

use gpuprof_report::live::Look;
use regex_lite::Regex;

pub(crate) use self::environment::from_env;
pub(crate) use self::metrics::Metrics;
#[cfg(feature = "metrics")]
pub(crate) use self::metrics::address as metrics_address;
pub(crate) use self::placeholders::PLACEHOLDERS;
pub(crate) use gpuprof_report::setting_values::{
    Counters, CuptiMode, Mode, Output, Sampling, Sort,
};

/// Events that a time line keeps.
const TRACE_LIMIT: usize = 1_000_000;

/// The settings of one measuring window.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    pub(crate) outputs: Vec<Output>,
    pub(crate) sort: Sort,
    /// Rows of the table; `None` for all.
    pub(crate) limit: Option<NonZeroUsize>,
    pub(crate) filter: Option<Regex>,
    /// Which calls are timed on the GPU, if it is stated.
    pub(crate) sampling: Option<Sampling>,
    /// Whether measuring begins at once, or when the program calls `cudaProfilerStart`.
    pub(crate) from_start: bool,
    /// How long after the program's start measuring begins; `None` with `from_start` off.
    pub(crate) delay: Option<Duration>,
    /// How long it is measured; `None` with `from_start` off.
    pub(crate) length: Option<Duration>,
    pub(crate) exit_wait: Duration,
    /// Whether SIGINT and SIGTERM write the report first.
    pub(crate) signals: bool,
    /// Time between rewrites of the JSON files.
    pub(crate) checkpoint: Option<Duration>,
    /// If it is not stated, what needs CUPTI's records switches them on.
    pub(crate) cupti: Option<CuptiMode>,
    /// Which hardware counters are sampled.
    pub(crate) counters: Counters,
    /// Whether the stacks of launches are sampled.
    pub(crate) stacks: bool,
    /// Whether program counters are sampled.
    pub(crate) stalls: bool,
    /// Whether allocations and frees are recorded.
    pub(crate) memory: bool,
    /// Events that the time line keeps.
    pub(crate) trace_limit: usize,
    /// Where metrics go.
    pub(crate) metrics: Metrics,
    /// `GPUPROF_TRACING` is set. The layer reads it, which may be made before.
    pub(crate) has_tracing_targets: bool,
    /// Whether viewers may connect.
    pub(crate) live: bool,
    /// Only what viewers ask for is measured, while they look. The mode of such a program is `Off`,
    /// and that of a look `On`.
    pub(crate) standby: bool,
    /// gpuprof was injected: the program contains nothing of it, and only CUPTI measures.
    pub(crate) is_injected: bool,
    /// Whether CUPTI is handed over to a profiler of the program's own that asks for it.
    pub(crate) hands_cupti_over: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::On,
            outputs: vec![Output::Table],
            sort: Sort::default(),
            limit: NonZeroUsize::new(30),
            filter: None,
            sampling: None,
            from_start: true,
            delay: None,
            length: None,
            exit_wait: Duration::from_secs(2),
            signals: false,
            checkpoint: None,
            cupti: None,
            counters: Counters::default(),
            stacks: false,
            stalls: false,
            memory: false,
            trace_limit: TRACE_LIMIT,
            metrics: Metrics::default(),
            has_tracing_targets: false,
            live: false,
            standby: false,
            is_injected: false,
            hands_cupti_over: false,
        }
    }
}

impl Settings {
    /// Those that measure, load and write nothing.
    pub(crate) fn off() -> Self {
        Self {
            mode: Mode::Off,
            outputs: Vec::new(),
            ..Self::default()
        }
    }

    /// Those of a program in standby while it is looked at for this.
    pub(crate) fn while_looked_at(&self, look: Look) -> Self {
        let cupti = match look {
            // All that can be known of such a program.
            _ if self.is_injected => CuptiMode::Full,
            Look { cupti: true, .. } => CuptiMode::On,
            Look { cupti: false, .. } => CuptiMode::Off,
        };
        Self {
            mode: Mode::On,
            cupti: Some(cupti),
            counters: look.counters.into(),
            stalls: look.stalls,
            memory: look.memory,
            ..self.clone()
        }
    }

    /// Whether anything is measured, now or when a viewer looks.
    pub(crate) fn may_measure(&self) -> bool {
        self.mode == Mode::On || self.standby
    }

    pub(crate) fn asks_for_cupti(&self) -> bool {
        match self.cupti {
            Some(mode) => mode != CuptiMode::Off,
            None => {
                let records = self.counters.is_on() || self.stacks || self.stalls || self.memory;
                records || !self.from_start
            }
        }
    }

    /// Whether times bound the part of the program that is measured.
    pub(crate) fn is_timed(&self) -> bool {
        self.delay.is_some() || self.length.is_some()
    }

    /// Whether less than the program may be measured.
    pub(crate) fn is_partial(&self) -> bool {
        !self.from_start || self.is_timed()
    }

    /// Which calls are timed on the GPU: all that are on a time line, unless it is stated.
    pub(crate) fn sampling(&self) -> Sampling {
        let default = match self.recorded_events() {
            Some(_) => Sampling::EveryCall,
            None => Sampling::AUTO,
        };
        self.sampling.unwrap_or(default)
    }

    /// How many events are recorded for the time line; `None` without one.
    pub(crate) fn recorded_events(&self) -> Option<usize> {
        let is_trace = |output: &Output| matches!(output, Output::Trace(_));
        let is_wanted = self.mode == Mode::On && self.outputs.iter().any(is_trace);
        is_wanted.then_some(self.trace_limit)
    }

    /// Whether a function with this reported name is measured.
    pub(crate) fn measures(&self, name: &str) -> bool {
        self.mode != Mode::Off
            && self
                .filter
                .as_ref()
                .is_none_or(|filter| filter.is_match(name))
    }
}
