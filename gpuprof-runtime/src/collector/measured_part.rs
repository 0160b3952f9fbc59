//! The part of the open window that is measured: all of it, or what is between pauses.
//!
//! In a pause spans do nothing, CUDA calls and what they launch belong to no window, and the wall
//! clock is stopped. What began before it counts whole, a call with its time in the pause, as
//! with a reset. A call that begins in a pause does not count; what it launches later does, outside
//! of it.

use std::sync::Arc;
use std::time::Duration;

use crate::settings::{Mode, Settings};
use crate::site::SiteFlags;

const BETWEEN_CALLS: &str = "a part of the program was measured: from cudaProfilerStart to \
    cudaProfilerStop (GPUPROF_FROM_START=off)";

const WITHOUT_CUPTI: &str = "GPUPROF_FROM_START=off had no effect, and the whole program was \
    measured: CUPTI, by which calls of cudaProfilerStart are seen, does not run";

/// See the module.
#[derive(Debug)]
pub(super) struct MeasuredPart {
    /// Of the open window.
    pub(super) settings: Option<Arc<Settings>>,
    /// What spans do outside of pauses.
    flags: SiteFlags,
    is_paused: bool,
    /// No pause ends any more.
    has_ended: bool,
    /// Some part of the window was measured.
    has_run: bool,
    /// How long the window was measured.
    pub(super) wall: WallClock,
}

/// A clock that can be stopped, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WallClock {
    /// Until it was stopped last.
    ticks: u64,
    /// `None`: it is stopped, because the window is paused or measures nothing.
    pub(super) runs_since: Option<u64>,
}

impl WallClock {
    /// `now` is asked only if it runs.
    pub(super) fn ticks(self, now: impl FnOnce() -> u64) -> u64 {
        let since = |began| now().saturating_sub(began);
        self.ticks + self.runs_since.map_or(0, since)
    }
}

impl MeasuredPart {
    pub(super) fn new() -> Self {
        Self {
            settings: None,
            flags: SiteFlags::NONE,
            is_paused: false,
            has_ended: false,
            has_run: false,
            wall: WallClock::default(),
        }
    }

    /// A window begins `now`, maybe with a pause, or begins again. `None`: it measures nothing.
    pub(super) fn begin(&mut self, now: Option<u64>) {
        self.wall = WallClock {
            ticks: 0,
            runs_since: now.filter(|_| !self.is_paused),
        };
    }

    /// Applies what spans do from now on.
    pub(super) fn apply(&mut self, settings: Option<Arc<Settings>>, flags: SiteFlags) {
        (self.settings, self.flags) = (settings, flags);
        self.has_run |= !self.is_paused;
    }

    /// Begins a window with a pause, or without one.
    pub(super) fn set_paused(&mut self, is_paused: bool) {
        (self.is_paused, self.has_run) = (is_paused || self.has_ended, false);
    }

    /// What spans do now.
    pub(super) fn flags(&self) -> SiteFlags {
        if self.is_paused {
            SiteFlags::NONE
        } else {
            self.flags
        }
    }

    /// Nothing is measured from `now` on. Returns false if that was so before.
    #[cfg(feature = "inject")]
    pub(super) fn end(&mut self, now: u64) -> bool {
        let has_changed = self.change(true, now);
        self.has_ended = true;
        has_changed
    }

    /// Begins or ends a pause. Returns false if nothing changes.
    pub(super) fn change(&mut self, is_paused: bool, now: u64) -> bool {
        if self.has_ended || self.is_paused == is_paused {
            return false;
        }
        self.wall = WallClock {
            ticks: self.wall.ticks(|| now),
            runs_since: (!is_paused).then_some(now),
        };
        self.is_paused = is_paused;
        self.has_run = true;
        true
    }

    /// What the report says of a window that is not measured as a whole, or was not to be. Who has
    /// ended it says why.
    pub(super) fn note(&self, runs_cupti: bool) -> Option<String> {
        let settings = self.settings.as_ref()?;
        let nothing_by_end = self.has_ended && !self.has_run;
        if settings.mode != Mode::On || nothing_by_end {
            return None;
        }
        if !settings.from_start {
            let since = if settings.is_injected {
                ""
            } else {
                // Before it gpuprof does not run.
                " since its first profiled call"
            };
            return Some(match (runs_cupti, self.has_run) {
                (false, _) => WITHOUT_CUPTI.to_owned(),
                (true, false) => format!(
                    "nothing was measured: the program has not called cudaProfilerStart{since} \
                     (GPUPROF_FROM_START=off)"
                ),
                (true, true) => BETWEEN_CALLS.to_owned(),
            });
        }
        let shown = |time: Duration| humantime::format_duration(time).to_string();
        let delay = settings.delay.map(shown);
        if let (Some(delay), false) = (&delay, self.has_run) {
            return Some(format!(
                "nothing was measured: the program has run for less than the delay of {delay} \
                 (GPUPROF_DELAY)"
            ));
        }
        let from = delay.map(|delay| format!("after the delay of {delay} (GPUPROF_DELAY)"));
        let is_over = self.is_paused && !self.has_ended;
        let length = settings.length.filter(|_| is_over).map(shown);
        let length = length.map(|length| format!("for {length} (GPUPROF_FOR)"));
        let parts: Vec<String> = from.into_iter().chain(length).collect();
        let note = format!("a part of the program was measured: {}", parts.join(", "));
        (!parts.is_empty()).then_some(note)
    }
}
