//! The collectives that each step launched, as far as they wait for all ranks.
//!
//! A collective counts in the step that launched it, however late it runs: on all ranks the same
//! step has the same collectives, while their GPUs may be behind the host by a different time. One
//! without a row of its own is no collective in the profile, and counts in no step.

use super::step_history::{EndedSteps, LaunchStep};
use crate::clock::Scale;
use gpuprof_report::profile::{MAX_STEP_WINDOWS, StepTimes, StepWindow};

/// See the module. Windows are those of an [`EndedSteps`], or half, a quarter, … as wide.
#[derive(Clone, Debug)]
pub(crate) struct StepCollectives {
    width: u64,
    windows: Vec<CollectiveSum>,
    /// The latest step that had not ended, and its collectives.
    open: Option<(u64, CollectiveSum)>,
    /// The steps, once they are known.
    ended: Option<EndedSteps>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CollectiveSum {
    calls: u64,
    ns: u64,
}

impl Default for StepCollectives {
    fn default() -> Self {
        Self {
            width: 1,
            windows: Vec::new(),
            open: None,
            ended: None,
        }
    }
}

impl CollectiveSum {
    fn add(&mut self, more: Self) {
        self.calls += more.calls;
        self.ns = self.ns.saturating_add(more.ns);
    }
}

impl StepCollectives {
    /// Adds a collective of `ns`.
    pub(super) fn add(&mut self, step: LaunchStep, ns: u64) {
        let sum = CollectiveSum { calls: 1, ns };
        match step {
            LaunchStep::Ended { window, width } => {
                self.widen(width);
                self.add_to_window(window, sum);
            }
            LaunchStep::Open { step } => {
                if self.open.is_none_or(|(open, _)| open != step) {
                    self.end_open_step();
                }
                let (_, open) = self.open.get_or_insert((step, CollectiveSum::default()));
                open.add(sum);
            }
        }
    }

    /// `ended`: all steps that ended.
    pub(super) fn finish(&mut self, ended: EndedSteps) {
        self.widen(ended.width);
        if self.open.is_some_and(|(step, _)| step <= ended.count) {
            self.end_open_step();
        }
        self.ended = Some(ended);
    }

    fn widen(&mut self, width: u64) {
        while self.width < width {
            let pairs = self.windows.chunks(2).map(|pair| {
                let mut sum = CollectiveSum::default();
                pair.iter().for_each(|window| sum.add(*window));
                sum
            });
            self.windows = pairs.collect();
            self.width *= 2;
        }
    }

    fn end_open_step(&mut self) {
        let Some((step, sum)) = self.open.take() else {
            return;
        };
        let before = step.saturating_sub(1);
        while before / self.width >= MAX_STEP_WINDOWS as u64 {
            self.widen(2 * self.width);
        }
        self.add_to_window((before / self.width) as usize, sum);
    }

    fn add_to_window(&mut self, window: usize, sum: CollectiveSum) {
        if self.windows.len() <= window {
            self.windows.resize(window + 1, CollectiveSum::default());
        }
        if let Some(of_window) = self.windows.get_mut(window) {
            of_window.add(sum);
        }
    }

    /// Adds the windows to the times of the same steps, unless no collective was launched.
    pub(crate) fn write(&self, steps: &mut StepTimes, scale: Scale) {
        let Some(ended) = &self.ended else {
            return;
        };
        if self.windows.is_empty() && self.open.is_none() {
            return;
        }
        let firsts = (0..ended.count).step_by(usize::try_from(ended.width).unwrap_or(usize::MAX));
        let windows = ended.windows.iter().zip(firsts).enumerate();
        let windows = windows.map(|(at, (window, before))| {
            let sum = self.windows.get(at).copied().unwrap_or_default();
            let mut row = StepWindow::default();
            row.first_step = before + 1;
            row.steps = ended.width.min(ended.count - before);
            row.wall_ns = scale.ns(window.wall_ticks);
            (row.collectives, row.collective_ns) = (sum.calls, sum.ns);
            row
        });
        steps.windows = windows.collect();
        let (_, open) = self.open.unwrap_or_default();
        (steps.open_collectives, steps.open_collective_ns) = (open.calls, open.ns);
    }
}
