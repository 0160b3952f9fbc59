//! The settings of a window, from the environment or from a
//! [`SessionBuilder`](crate::SessionBuilder).

mod environment;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::time::Duration;

use regex_lite::Regex;

pub(crate) use self::environment::from_env;
pub(crate) use gpuprof_report::schedule::Schedule;
pub(crate) use gpuprof_report::settings::{CuptiMode, Mode, Output, Sampling, Sort};

/// The settings of one measuring window.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    pub(crate) outputs: Vec<Output>,
    pub(crate) sort: Sort,
    /// Rows of the table; `None` for all.
    pub(crate) limit: Option<NonZeroUsize>,
    pub(crate) filter: Option<Regex>,
    /// Which calls are timed on the GPU.
    pub(crate) sampling: Sampling,
    pub(crate) exit_wait: Duration,
    pub(crate) schedule: Option<Schedule>,
    /// Whether SIGINT and SIGTERM write the report first.
    pub(crate) signals: bool,
    /// Time between rewrites of the JSON files.
    pub(crate) checkpoint: Option<Duration>,
    pub(crate) cupti: CuptiMode,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::On,
            outputs: vec![Output::Table],
            sort: Sort::default(),
            limit: NonZeroUsize::new(30),
            filter: None,
            sampling: Sampling::AUTO,
            exit_wait: Duration::from_secs(2),
            schedule: None,
            signals: false,
            checkpoint: None,
            cupti: CuptiMode::Off,
        }
    }
}

impl Settings {
    pub(crate) fn asks_for_cupti(&self) -> bool {
        self.cupti != CuptiMode::Off
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
