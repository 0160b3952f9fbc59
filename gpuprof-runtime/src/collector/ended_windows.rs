//! What windows that have ended measured: metrics count from the start of the process on, also
//! across resets and sessions. Empty without the feature `metrics`.

use std::sync::Arc;
use std::time::SystemTime;

use super::window_totals::{LateTotals, WindowTotals};
use crate::driver::Driver;
use crate::settings::Settings;
use crate::stats::late_results::LatePolicy;
use gpuprof_report::profile::CudaError;
use gpuprof_report::schedule::Phase;

/// What becomes of results that arrive after a reset or the end of a session. A window that counted
/// nothing leaves the place of the kept one to an earlier one.
pub(super) fn late_policy(ending: Option<&EndingWindow>) -> LatePolicy {
    match ending {
        _ if !cfg!(feature = "metrics") => LatePolicy::Discard,
        Some(ending) if ending.discarded.is_none() => LatePolicy::KeepCurrent,
        _ => LatePolicy::KeepPrevious,
    }
}

/// The sums of all windows before the current one.
#[derive(Debug, Default)]
pub(super) struct EndedWindows {
    pub(super) totals: WindowTotals,
    /// The late results that are kept are of one of these windows, and not of the current schedule.
    pub(super) owns_late: bool,
    /// Of the last window.
    pub(super) settings: Option<Arc<Settings>>,
    /// When the first window began.
    pub(super) began_at: Option<SystemTime>,
    pub(super) ran_cupti: bool,
    /// gpuprof's failed driver calls.
    pub(super) errors: Vec<CudaError>,
}

/// What of a window is to be added, taken before anything of the window changes.
#[derive(Debug)]
pub(super) struct EndingWindow {
    pub(super) settings: Option<Arc<Settings>>,
    pub(super) began_at: SystemTime,
    pub(super) ran_cupti: bool,
    pub(super) wall_ticks: u64,
    /// The closed cycles of its schedule.
    pub(super) closed: Option<WindowTotals>,
    /// The phase that the schedule discards the totals of.
    pub(super) discarded: Option<Phase>,
}

impl EndedWindows {
    /// Adds what a window that ends measured, with what has arrived for the one kept before it.
    pub(super) fn add(
        &mut self,
        ending: Option<EndingWindow>,
        mut totals: WindowTotals,
        late: &LateTotals,
    ) {
        if !cfg!(feature = "metrics") {
            return;
        }
        if self.owns_late {
            self.totals.add_late(late);
        }
        let was_late_owned = std::mem::replace(&mut self.owns_late, true);
        let Some(ending) = ending else {
            return;
        };
        totals.wall_ticks = ending.wall_ticks;
        if let Some(mut closed) = ending.closed {
            if !was_late_owned {
                closed.add_late(late);
            }
            self.totals.merge(&closed);
        }
        match ending.discarded {
            None => self.totals.merge(&totals),
            Some(phase) => {
                let kept = totals.of_calls_begun_before(phase);
                self.totals.counters.merge(kept);
                self.totals.counters.set_open_calls(&totals.counters);
            }
        }
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
    let failures = Driver::met().map(|driver| driver.failures());
    let failures = failures.into_iter().flatten();
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
