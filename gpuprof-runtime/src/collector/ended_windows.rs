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

    /// Adds errors that were cleared.
    pub(super) fn add_errors(&mut self, cleared: Vec<CudaError>) {
        if cfg!(feature = "metrics") {
            add_errors(&mut self.errors, cleared);
        }
    }
}

/// The errors that `clear` clears; it leaves those whose effect lasts.
pub(super) fn cleared_errors(clear: impl FnOnce()) -> Vec<CudaError> {
    let mut cleared = errors_since(&[]);
    clear();
    for left in errors_since(&[]) {
        if let Some(error) = cleared.iter_mut().find(|error| is_same(error, &left)) {
            error.count = error.count.saturating_sub(left.count);
        }
    }
    cleared
}

/// gpuprof's failed driver calls: those of earlier windows, and of the current one.
pub(super) fn errors_since(earlier: &[CudaError]) -> Vec<CudaError> {
    let failures = Driver::loaded()
        .map(|driver| driver.failures())
        .into_iter()
        .flatten();
    let current = failures.map(|(call, code, name, count)| {
        let mut error = CudaError::default();
        error.call = call.to_owned();
        error.code = code;
        error.name = name;
        error.count = count;
        error
    });
    let mut errors = earlier.to_vec();
    add_errors(&mut errors, current);
    errors
}

/// Adds errors to those with the same call and code.
pub(super) fn add_errors(errors: &mut Vec<CudaError>, more: impl IntoIterator<Item = CudaError>) {
    for error in more.into_iter().filter(|error| error.count > 0) {
        match errors.iter_mut().find(|known| is_same(known, &error)) {
            Some(known) => known.count += error.count,
            None => errors.push(error),
        }
    }
}

fn is_same(error: &CudaError, other: &CudaError) -> bool {
    (&*error.call, error.code) == (&*other.call, other.code)
}
