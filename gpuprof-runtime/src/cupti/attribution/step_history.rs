//! When the program's steps ended, in the stamps of callbacks, for the collectives that they
//! launched.

use parking_lot::Mutex;

use crate::cupti::collect::callback_clock::Stamp;
use crate::cupti::collect::lifecycle;
use gpuprof_report::profile::MAX_STEP_WINDOWS;

/// The steps of the current window. Its lock is held for as long as it takes to change or find an
/// entry: a step of the program's may wait for it.
#[derive(Debug, Default)]
pub(crate) struct StepHistory {
    steps: Mutex<EndedSteps>,
}

/// The steps that ended, in at most [`MAX_STEP_WINDOWS`] windows of `width` steps, of which the
/// last may have fewer.
#[derive(Clone, Debug)]
pub(crate) struct EndedSteps {
    /// The number of the measuring window.
    epoch: u32,
    /// A power of two.
    pub(super) width: u64,
    pub(super) count: u64,
    pub(super) windows: Vec<EndedStepWindow>,
}

/// Consecutive steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedStepWindow {
    /// When the last of them ended.
    end: Stamp,
    pub(super) wall_ticks: u64,
}

/// The step that a launch counts in: the one that ends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaunchStep {
    /// In the window of this index, among windows of this width.
    Ended { window: usize, width: u64 },
    /// In this step, from 1, which has not ended.
    Open { step: u64 },
}

impl Default for EndedSteps {
    fn default() -> Self {
        Self {
            epoch: 0,
            width: 1,
            count: 0,
            windows: Vec::new(),
        }
    }
}

impl StepHistory {
    /// The measuring window of this number begins.
    pub(super) fn begin(&self, epoch: u32) {
        *self.steps.lock() = EndedSteps {
            epoch,
            ..EndedSteps::default()
        };
    }

    /// A step of `wall_ticks` has ended.
    pub(super) fn end_step(&self, wall_ticks: u64) {
        let now = lifecycle::stamp();
        self.steps.lock().end_step(now, wall_ticks);
    }

    /// The step of what was launched at `time`, ns of CUPTI's clock, in the measuring window
    /// `epoch`; `None` if another one is measured.
    pub(super) fn step_at(&self, epoch: u32, time: u64) -> Option<LaunchStep> {
        let steps = self.steps.lock();
        (steps.epoch == epoch).then(|| steps.step_at(time, lifecycle::ns))
    }

    pub(super) fn ended(&self) -> EndedSteps {
        self.steps.lock().clone()
    }
}

impl EndedSteps {
    /// `now`: `None` while CUPTI does not run.
    fn end_step(&mut self, now: Option<Stamp>, wall_ticks: u64) {
        let last = self.windows.last().map_or(Stamp::START, |last| last.end);
        let end = now.unwrap_or(last);
        let is_full = |windows: &[EndedStepWindow]| windows.len() == MAX_STEP_WINDOWS;
        if self.count.is_multiple_of(self.width) && is_full(&self.windows) {
            self.join();
        }
        match self.windows.last_mut() {
            Some(window) if !self.count.is_multiple_of(self.width) => {
                window.end = end;
                window.wall_ticks = window.wall_ticks.saturating_add(wall_ticks);
            }
            _ => self.windows.push(EndedStepWindow { end, wall_ticks }),
        }
        self.count += 1;
    }

    /// Makes one window of two neighbours.
    fn join(&mut self) {
        let pairs = self.windows.chunks(2).filter_map(|pair| {
            let ticks = pair.iter().map(|window| window.wall_ticks);
            Some(EndedStepWindow {
                end: pair.last()?.end,
                wall_ticks: ticks.fold(0, u64::saturating_add),
            })
        });
        self.windows = pairs.collect();
        self.width *= 2;
    }

    fn step_at(&self, time: u64, ns: impl Fn(Stamp) -> u64) -> LaunchStep {
        let ended_before = |window: &EndedStepWindow| ns(window.end) <= time;
        match self.windows.partition_point(ended_before) {
            window if window < self.windows.len() => LaunchStep::Ended {
                window,
                width: self.width,
            },
            _ => LaunchStep::Open {
                step: self.count + 1,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS: fn(Stamp) -> u64 = Stamp::as_ns;

    /// Steps that end at 10, 20, 30, …, and take as many ticks as their number.
    fn ended(count: u64) -> EndedSteps {
        let mut steps = EndedSteps::default();
        for step in 1..=count {
            steps.end_step(Some(Stamp::from_ns(10 * step)), step);
        }
        steps
    }

    #[test]
    fn windows_double_their_width_where_there_is_no_room() {
        for (count, width, windows) in [
            (1, 1, 1),
            (64, 1, 64),
            (65, 2, 33),
            (128, 2, 64),
            (129, 4, 33),
            (1_000_000, 16_384, 62),
        ] {
            let steps = ended(count);
            assert_eq!((steps.width, steps.windows.len()), (width, windows));
            let ticks: u64 = steps.windows.iter().map(|window| window.wall_ticks).sum();
            assert_eq!(ticks, count * (count + 1) / 2);
        }
    }

    #[test]
    fn a_launch_counts_in_the_step_that_ends_next() {
        let steps = ended(67);
        let window = |window| LaunchStep::Ended { window, width: 2 };
        let open = LaunchStep::Open { step: 68 };
        let found = [0, 9, 19, 20, 659, 660, 669, 670, 9_999].map(|time| steps.step_at(time, NS));
        let expected = [0, 0, 0, 1, 32, 33, 33].map(window);
        assert_eq!((&found[..7], &found[7..]), (&expected[..], &[open; 2][..]));
    }

    #[test]
    fn of_another_measuring_window_no_step_is_known() {
        let history = StepHistory::default();
        history.begin(2);
        history.end_step(1);
        let second = Some(LaunchStep::Open { step: 2 });
        assert_eq!(history.step_at(2, 5), second);
        history.begin(4);
        assert_eq!(history.step_at(2, 5), None);
        let first = Some(LaunchStep::Open { step: 1 });
        assert_eq!(history.step_at(4, 5), first);
    }

    #[test]
    fn steps_without_cupti_are_before_every_launch() {
        let mut steps = EndedSteps::default();
        steps.end_step(None, 5);
        steps.end_step(Some(Stamp::from_ns(30)), 7);
        steps.end_step(None, 9);
        let window = |window| LaunchStep::Ended { window, width: 1 };
        assert_eq!(steps.step_at(10, NS), window(1));
        assert_eq!(steps.step_at(30, NS), LaunchStep::Open { step: 4 });
    }
}
