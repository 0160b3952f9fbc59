//! What windows that have ended measured: metrics count from the start of the process on, also
//! across resets and sessions. Empty without the feature `metrics`.

use std::sync::Arc;
use std::time::SystemTime;

use super::window_totals::HostTotals;
use crate::driver::Driver;
use crate::settings::Settings;
use crate::stats::host_totals::Totals;
use gpuprof_report::profile::CudaError;

/// The sums of all windows before the current one.
#[derive(Debug, Default)]
pub(super) struct EndedWindows {
    pub(super) totals: HostTotals,
    /// Of the last window.
    pub(super) settings: Option<Arc<Settings>>,
    /// When the first window began.
    pub(super) began_at: Option<SystemTime>,
    pub(super) ran_cupti: bool,
    /// gpuprof's failed driver calls.
    pub(super) errors: Vec<CudaError>,
}

/// What an ended window adds to the sum, copied before the window changes.
#[derive(Debug)]
pub(super) struct EndingWindow {
    pub(super) settings: Option<Arc<Settings>>,
    pub(super) began_at: SystemTime,
    pub(super) ran_cupti: bool,
    pub(super) wall_ticks: u64,
}

impl EndedWindows {
    /// Adds what a window that ends has counted.
    pub(super) fn add(&mut self, ending: Option<EndingWindow>, counters: Totals) {
        let Some(ending) = ending else {
            return;
        };
        self.totals.merge(&HostTotals {
            counters,
            wall_ticks: ending.wall_ticks,
        });
        self.settings = ending.settings;
        self.began_at.get_or_insert(ending.began_at);
        self.ran_cupti |= ending.ran_cupti;
    }

    /// Adds calls on threads that had ended.
    pub(super) fn add_dropped(&mut self, calls: u64) {
        if cfg!(feature = "metrics") {
            self.totals.counters.dropped += calls;
        }
    }

    /// Adds the errors that `clear` clears; it leaves those whose effect lasts.
    pub(super) fn add_cleared_errors(&mut self, clear: impl FnOnce()) {
        if !cfg!(feature = "metrics") {
            return clear();
        }
        let before = errors();
        clear();
        let left = errors();
        for mut error in before {
            let is_left =
                |other: &&CudaError| (&*other.call, other.code) == (&*error.call, error.code);
            error.count -= left
                .iter()
                .find(is_left)
                .map_or(0, |left| left.count.min(error.count));
            add_error(&mut self.errors, error);
        }
    }
}

/// gpuprof's failed driver calls in the current window.
pub(super) fn errors() -> Vec<CudaError> {
    let failures = Driver::loaded()
        .map(|driver| driver.failures())
        .into_iter()
        .flatten();
    failures
        .map(|(call, code, name, count)| {
            let mut error = CudaError::default();
            error.call = call.to_owned();
            error.code = code;
            error.name = name;
            error.count = count;
            error
        })
        .collect()
}

/// Adds an error to those with the same call and code.
pub(super) fn add_error(errors: &mut Vec<CudaError>, more: CudaError) {
    let is_same = |error: &&mut CudaError| (&*error.call, error.code) == (&*more.call, more.code);
    match errors.iter_mut().find(is_same) {
        Some(error) => error.count += more.count,
        None if more.count > 0 => errors.push(more),
        None => {}
    }
}
