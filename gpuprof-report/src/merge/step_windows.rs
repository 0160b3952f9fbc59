//! The windows of steps that all merged processes have, lined up by the number of the step.

use crate::figures::Sum;
use crate::profile::{CollectiveProcess, MAX_STEP_WINDOWS, Profile, RankStepWindow, StepWindow};

/// The windows, as wide as the widest of any process; the times of each process are in its row.
///
/// Windows that not all processes have, with as many steps, are left out: there are some at the end
/// only.
#[derive(Clone, Debug, Default)]
pub(super) struct MergedStepWindows {
    /// `None` before the first process.
    windows: Option<Vec<RankStepWindow>>,
}

impl MergedStepWindows {
    /// Adds a profile whose processes are `new` to those of the profiles before, `known`. The
    /// times of a merged profile are in its processes already.
    pub(super) fn add(
        &mut self,
        profile: &Profile,
        new: &mut [CollectiveProcess],
        known: &mut [CollectiveProcess],
    ) {
        if new.is_empty() {
            return;
        }
        let mut windows = match &profile.ranks {
            Some(ranks) => ranks.step_windows.clone(),
            None => {
                let steps = profile.steps.iter();
                let windows: Vec<&StepWindow> = steps.flat_map(|steps| &steps.windows).collect();
                if let [process] = new {
                    let times = windows.iter().map(|window| window.collective_ns);
                    process.window_ns = times.collect();
                }
                windows.into_iter().map(of_process).collect()
            }
        };
        let is_complete = new.iter().all(|of| of.window_ns.len() == windows.len());
        if !is_complete || !are_consecutive(&windows) {
            windows.clear();
        }
        let Some(all) = &mut self.windows else {
            self.windows = Some(windows);
            return;
        };
        let width = width(all).max(width(&windows));
        widen(all, known, width);
        widen(&mut windows, new, width);
        let pairs = all.iter().zip(&windows);
        let common = pairs.take_while(|(all, own)| all.steps == own.steps);
        let common = common.count();
        all.truncate(common);
        for (all, own) in all.iter_mut().zip(&windows) {
            all.wall_ns = all.wall_ns.max(own.wall_ns);
            all.collectives = all
                .collectives
                .filter(|_| all.collectives == own.collectives);
        }
    }

    /// The windows; each process has a time for each of them.
    pub(super) fn finish(self, processes: &mut [CollectiveProcess]) -> Vec<RankStepWindow> {
        let windows = self.windows.unwrap_or_default();
        for process in processes {
            process.window_ns.truncate(windows.len());
        }
        windows
    }
}

fn of_process(window: &StepWindow) -> RankStepWindow {
    RankStepWindow {
        first_step: window.first_step,
        steps: window.steps,
        wall_ns: window.wall_ns,
        collectives: Some(window.collectives),
    }
}

fn width(windows: &[RankStepWindow]) -> u64 {
    windows.first().map_or(1, |first| first.steps)
}

/// Whether the windows are what a process, or several, can have: a document may say anything.
fn are_consecutive(windows: &[RankStepWindow]) -> bool {
    let width = width(windows);
    let firsts = (1_u64..).step_by(usize::try_from(width.max(1)).unwrap_or(usize::MAX));
    let is_next = |(first, window): (u64, &RankStepWindow)| window.first_step == first;
    let is_full = |window: &RankStepWindow| window.steps == width;
    let (last, others) = match windows.split_last() {
        Some((last, others)) => (last.steps, others),
        None => return true,
    };
    windows.len() <= MAX_STEP_WINDOWS
        && width.is_power_of_two()
        && others.iter().all(is_full)
        && (1..=width).contains(&last)
        && firsts.zip(windows).all(is_next)
}

/// Joins neighbours until the windows have `width` steps.
fn widen(windows: &mut Vec<RankStepWindow>, rows: &mut [CollectiveProcess], width: u64) {
    let Some(joined) = windows
        .first()
        .and_then(|first| width.checked_div(first.steps))
    else {
        return;
    };
    let joined = usize::try_from(joined).unwrap_or(usize::MAX);
    if joined <= 1 {
        return;
    }
    let groups = windows.chunks(joined).filter_map(|group| {
        let (first, rest) = group.split_first()?;
        let mut sum = first.clone();
        for more in rest {
            sum.steps.add(&more.steps);
            sum.wall_ns.add(&more.wall_ns);
            let both = sum.collectives.zip(more.collectives);
            sum.collectives = both.map(|(sum, more)| sum.saturating_add(more));
        }
        Some(sum)
    });
    *windows = groups.collect();
    for row in rows {
        let groups = row.window_ns.chunks(joined);
        let sums = groups.map(|group| group.iter().fold(0_u64, |sum, ns| sum.saturating_add(*ns)));
        row.window_ns = sums.collect();
    }
}
