//! Which ranks the others waited for in a part of the run alone.

use std::cmp::Reverse;

use super::thresholds::{LATE_CALLS, LATE_NOISE, LATE_PART, LATE_SHARE, LATE_STEPS, LATE_WINDOWS};
use crate::profile::{LateSteps, MAX_LATE_STEPS, RankStepWindow, Ranks};

/// Ranks from which on their spread in one window is known.
const MIN_SPREAD_RANKS: usize = 3;

/// The parts of the run in which a rank was late, the costliest first. The query
/// docs/fleets/late-steps.sql gives the same.
///
/// In each window a rank is late by what the median of all ranks has more time in collectives. A
/// part is a row of windows in which that is a large share of the wall time, and much more than
/// ranks usually differ, both in this window and in all. A rank that is hardly less late in the
/// other windows is late as a whole, and has no part.
pub(crate) fn late_steps(ranks: &Ranks) -> Vec<LateSteps> {
    let processes = ranks.collective_processes.len();
    let collectives = ranks.collectives.as_ref();
    let is_known = collectives.is_some_and(|all| all.profiles as usize == processes);
    if processes < 2 || !is_known {
        return Vec::new();
    }
    let windows: Vec<WindowOfRanks> = (ranks.step_windows.iter().enumerate())
        .filter_map(|(at, window)| WindowOfRanks::new(ranks, at, window))
        .collect();
    let calls = windows.iter().map(|window| window.calls);
    if !LATE_CALLS.reached(calls.fold(0, u64::saturating_add) as f64) {
        return Vec::new();
    }
    let mut deviations: Vec<f64> = (windows.iter())
        .flat_map(|window| window.deviations.iter().copied())
        .collect();
    let usual = lower_median(&mut deviations);
    let mut late: Vec<LateSteps> = Vec::new();
    for (process, row) in ranks.collective_processes.iter().enumerate() {
        let parts = parts_of(&windows, process, usual).into_iter();
        late.extend(parts.map(|part| LateSteps {
            process: row.process.clone(),
            ..part
        }));
    }
    late.sort_by_key(|part| Reverse(part.late_ns));
    late.truncate(MAX_LATE_STEPS);
    late
}

/// A window in which all ranks ran the same number of collectives.
struct WindowOfRanks {
    /// Its position among all windows.
    at: usize,
    first_step: u64,
    steps: u64,
    calls: u64,
    wall_ns: u64,
    /// By what each rank is late, ns; negative of one that waits for longer than the median.
    late_ns: Vec<i64>,
    /// Of each rank but the median one the absolute of that in the wall time.
    deviations: Vec<f64>,
    /// The median of these.
    spread: f64,
}

impl WindowOfRanks {
    fn new(ranks: &Ranks, at: usize, window: &RankStepWindow) -> Option<Self> {
        let calls = window.collectives.filter(|_| window.wall_ns > 0)?;
        let times: Option<Vec<i64>> = (ranks.collective_processes.iter())
            .map(|process| i64::try_from(*process.window_ns.get(at)?).ok())
            .collect();
        let times = times?;
        let mut order: Vec<usize> = (0..times.len()).collect();
        let middle = order.len() / 2;
        let by_time = |process: &usize| (times.get(*process).copied(), *process);
        let (_, &mut median, _) = order.select_nth_unstable_by_key(middle, by_time);
        let median_ns = *times.get(median)?;
        let late_ns: Vec<i64> = times.iter().map(|ns| median_ns - ns).collect();
        let others = late_ns.iter().enumerate().filter(|(at, _)| *at != median);
        let share = |ns: &i64| ns.unsigned_abs() as f64 / window.wall_ns as f64;
        let mut deviations: Vec<f64> = others.map(|(_, ns)| share(ns)).collect();
        let spread = lower_median(&mut deviations);
        Some(Self {
            at,
            first_step: window.first_step,
            steps: window.steps,
            calls,
            wall_ns: window.wall_ns,
            late_ns,
            deviations,
            spread,
        })
    }

    /// By what this rank is late, ns.
    fn late(&self, process: usize) -> i64 {
        self.late_ns.get(process).copied().unwrap_or(0)
    }

    fn is_late(&self, process: usize, usual: f64) -> bool {
        let late = self.late(process);
        let share = late as f64 / self.wall_ns as f64;
        let spread = match self.late_ns.len() {
            ranks if ranks >= MIN_SPREAD_RANKS => self.spread.max(usual),
            _ => usual,
        };
        late > 0 && LATE_SHARE.reached(share) && share >= LATE_NOISE.0 * spread
    }
}

/// Consecutive windows in which a rank is late.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    first_step: u64,
    next_window: usize,
    windows: u32,
    steps: u64,
    late_ns: i64,
}

/// The parts of one rank that are long enough, or cost enough.
fn parts_of(windows: &[WindowOfRanks], process: usize, usual: f64) -> Vec<LateSteps> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut rest_steps, mut rest_ns, mut wall_ns) = (0_u64, 0_i64, 0_u64);
    for window in windows {
        let late = window.late(process);
        wall_ns = wall_ns.saturating_add(window.wall_ns);
        if !window.is_late(process, usual) {
            rest_steps = rest_steps.saturating_add(window.steps);
            rest_ns = rest_ns.saturating_add(late);
            continue;
        }
        let is_next = |part: &&mut Part| part.next_window == window.at;
        if parts.last_mut().filter(is_next).is_none() {
            parts.push(Part {
                first_step: window.first_step,
                ..Part::default()
            });
        }
        if let Some(part) = parts.last_mut() {
            part.next_window = window.at + 1;
            part.windows += 1;
            part.steps = part.steps.saturating_add(window.steps);
            part.late_ns = part.late_ns.saturating_add(late);
        }
    }
    let is_part = |part: &Part| {
        let is_long = LATE_WINDOWS.reached(part.windows) && LATE_STEPS.reached(part.steps as f64);
        let is_costly = LATE_SHARE.reached_by(part.late_ns.unsigned_abs(), wall_ns);
        let of_rest = rest_ns as f64 / rest_steps as f64;
        let of_part = part.late_ns as f64 / part.steps as f64;
        (is_long || is_costly) && rest_steps > 0 && of_rest <= LATE_PART.0 * of_part
    };
    let parts = parts.into_iter().filter(is_part).map(|part| LateSteps {
        first_step: part.first_step,
        steps: part.steps,
        late_ns: part.late_ns.unsigned_abs(),
        ..LateSteps::default()
    });
    parts.collect()
}

/// The lower of the two in the middle if their number is even; 0 if there is none.
fn lower_median(values: &mut [f64]) -> f64 {
    let middle = values.len().saturating_sub(1) / 2;
    if values.is_empty() {
        return 0.0;
    }
    let (_, median, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    *median
}
