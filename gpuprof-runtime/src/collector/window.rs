//! The measuring window: its settings, and the windows before it.

use std::sync::Arc;
use std::time::SystemTime;

use super::ended_windows::{EndedWindows, EndingWindow};
use super::step_clock::StepClock;
use super::window_looks::Looks;
use crate::cupti;
#[cfg(feature = "metrics")]
use crate::settings::CuptiMode;
use crate::settings::{Mode, Settings};
use crate::site::SiteFlags;

/// What is being measured, and since when.
#[derive(Debug)]
pub(super) struct MeasuringWindow {
    pub(super) state: WindowState,
    pub(super) began_at: SystemTime,
    pub(super) steps: StepClock,
    /// CUPTI's counts when the window began.
    pub(super) cupti: cupti::CollectionCounts,
    /// The windows before this one.
    pub(super) ended: EndedWindows,
    /// Of a program in standby.
    pub(super) looks: Looks,
}

#[derive(Debug)]
pub(super) enum WindowState {
    /// Nothing has begun yet: the first span opens the window that the environment describes.
    Initial,
    Open(Arc<Settings>),
    /// A session has ended, and none was started since.
    Closed,
}

impl MeasuringWindow {
    pub(super) fn new() -> Self {
        Self {
            state: WindowState::Initial,
            began_at: SystemTime::UNIX_EPOCH,
            steps: StepClock::default(),
            cupti: cupti::CollectionCounts::default(),
            ended: EndedWindows::default(),
            looks: Looks::default(),
        }
    }

    pub(super) fn settings(&self) -> Option<&Arc<Settings>> {
        match &self.state {
            WindowState::Open(settings) => Some(settings),
            WindowState::Initial | WindowState::Closed => None,
        }
    }

    /// Whether anything is measured, and not only shown to NVTX tools.
    pub(super) fn measures(&self) -> bool {
        self.settings()
            .is_some_and(|settings| settings.mode == Mode::On)
    }

    /// What the spans of the window's sites do now.
    pub(super) fn flags(&self) -> SiteFlags {
        let measure = SiteFlags::MEASURE
            .union(SiteFlags::TIME_GPU)
            .union(SiteFlags::EMIT_NVTX);
        match self.settings().map(|settings| settings.mode) {
            Some(Mode::On) if self.runs_cupti() => measure.union(SiteFlags::CORRELATE),
            Some(Mode::On) => measure,
            Some(Mode::Nvtx) => SiteFlags::EMIT_NVTX,
            _ => SiteFlags::NONE,
        }
    }

    /// Takes what [`EndedWindows`] adds of this window, before anything of it changes. `None`: it
    /// measures nothing, or nothing is kept.
    pub(super) fn ending(&self, wall_ticks: impl FnOnce() -> u64) -> Option<EndingWindow> {
        if !cfg!(feature = "metrics") || !self.measures() {
            return None;
        }
        Some(EndingWindow {
            settings: self.settings().cloned(),
            began_at: self.began_at,
            ran_cupti: self.runs_cupti(),
            wall_ticks: wall_ticks(),
        })
    }

    /// The settings for the profile of this window and all before it. `None`: none measured.
    #[cfg(feature = "metrics")]
    pub(super) fn settings_since_start(&self) -> Option<Arc<Settings>> {
        let ended = &self.ended;
        let current = self.settings().filter(|_| self.measures());
        let mut settings = Settings::clone(current.or(ended.settings.as_ref())?);
        if ended.ran_cupti && !settings.asks_for_cupti() {
            settings.cupti = Some(CuptiMode::On);
        }
        // Source lines are looked up for each profile, and no metric has them.
        settings.stacks = false;
        Some(Arc::new(settings))
    }

    /// Whether CUPTI is asked for and running.
    pub(super) fn runs_cupti(&self) -> bool {
        self.settings()
            .is_some_and(|settings| settings.asks_for_cupti())
            && cupti::is_running()
    }

    /// Whether it begins with a pause.
    pub(super) fn begins_paused(&self) -> bool {
        let begins_paused = |settings: &Arc<Settings>| {
            let waits_for_call = !settings.from_start && self.runs_cupti();
            waits_for_call || settings.delay.is_some()
        };
        self.measures() && self.settings().is_some_and(begins_paused)
    }
}
