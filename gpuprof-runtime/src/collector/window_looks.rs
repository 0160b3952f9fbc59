//! The looks of viewers at a program in standby, as the window has them.

use std::sync::Arc;
use std::time::SystemTime;

use super::ended_windows;
use super::step_clock::StepClock;
use super::window_totals::HostTotals;
use crate::clock;
use crate::cupti::{self, SampledStalls};
use crate::settings::Settings;
use crate::stats::by_window::LookWindows;
use gpuprof_report::profile::CudaError;

/// A look of which a profile may still be made.
#[derive(Debug)]
pub(super) struct WindowLook {
    number: u64,
    pub(super) settings: Arc<Settings>,
    pub(super) windows: LookWindows,
    pub(super) began_at: SystemTime,
    pub(super) steps: StepClock,
    /// CUPTI's counts when it began.
    pub(super) cupti: cupti::CollectionCounts,
    /// What its ended windows have measured on the program's threads.
    pub(super) host: HostTotals,
    /// The same of stalls.
    pub(super) stalls: Option<SampledStalls>,
    /// The same of gpuprof's failed driver calls.
    pub(super) errors: Vec<CudaError>,
}

/// All looks, in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Looks {
    last: u64,
    all: Vec<WindowLook>,
}

impl Looks {
    pub(super) fn windows(&self) -> Vec<LookWindows> {
        self.all.iter().map(|look| look.windows).collect()
    }

    pub(super) fn is_any_open(&self) -> bool {
        self.all.iter().any(WindowLook::is_open)
    }

    fn open(&mut self) -> impl Iterator<Item = &mut WindowLook> {
        self.all.iter_mut().filter(|look| look.is_open())
    }

    /// Adds what a window that ends has measured.
    pub(super) fn add(&mut self, ended: &HostTotals, stalls: Option<&SampledStalls>) {
        for look in self.open() {
            look.host.merge(ended);
            look.add_stalls(stalls);
        }
    }

    /// Adds failed driver calls that are counted no more.
    pub(super) fn add_errors(&mut self, cleared: &[CudaError]) {
        for look in self.open() {
            ended_windows::add_errors(&mut look.errors, cleared.iter().cloned());
        }
    }

    /// The window `window` has begun, of which none is.
    pub(super) fn end_all(&mut self, window: u32) {
        self.open().for_each(|look| look.windows.end = Some(window));
    }

    pub(super) fn step(&mut self) {
        self.open().for_each(|look| {
            look.steps.step(0, clock::now);
        });
    }

    /// Begins a look whose first window is this one. Returns its number.
    pub(super) fn begin(&mut self, first: u32, settings: Arc<Settings>) -> u64 {
        self.last += 1;
        self.all.push(WindowLook {
            number: self.last,
            settings,
            windows: LookWindows { first, end: None },
            began_at: SystemTime::now(),
            steps: StepClock::new(Some(clock::now())),
            cupti: cupti::counts().unwrap_or_default(),
            host: HostTotals::default(),
            stalls: None,
            errors: Vec::new(),
        });
        self.last
    }

    pub(super) fn forget(&mut self, number: u64) {
        self.all.retain(|look| look.number != number);
    }

    pub(super) fn get(&self, number: u64) -> Option<&WindowLook> {
        self.all.iter().find(|look| look.number == number)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut WindowLook> {
        self.all.iter_mut().find(|look| look.number == number)
    }
}

impl WindowLook {
    pub(super) fn is_open(&self) -> bool {
        self.windows.end.is_none()
    }

    fn add_stalls(&mut self, more: Option<&SampledStalls>) {
        match (&mut self.stalls, more) {
            (Some(sum), Some(more)) => sum.merge(more),
            (None, Some(more)) => self.stalls = Some(more.clone()),
            (_, None) => {}
        }
    }
}
