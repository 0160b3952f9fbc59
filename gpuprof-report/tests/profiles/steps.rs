//! Step times.

use gpuprof_report::profile::*;

use super::MS;

/// Step 17 took 210 ms, two of the last 1,000 took long, and all others about 33 ms.
pub(crate) fn with_steps(mut profile: Profile) -> Profile {
    let time = |step: u64| match step {
        17 => 210 * MS,
        700 => 180 * MS,
        1_290 => 95 * MS,
        _ => 30 * MS + (step * 7_919 % 6_000) * 1_000,
    };
    let all: Vec<u64> = (1..=1_300).map(time).collect();
    let mut steps = StepTimes::default();
    steps.count = 1_300;
    steps.total_ns = all.iter().sum();
    steps.mean_ns = steps.total_ns / steps.count;
    steps.min_ns = *all.iter().min().unwrap();
    steps.max_ns = *all.iter().max().unwrap();
    let mut by_time: Vec<(u64, u64)> = (1..).zip(all.iter().copied()).collect();
    by_time.sort_by_key(|&(step, ns)| (std::cmp::Reverse(ns), step));
    let slow = |&(step, ns): &(u64, u64)| {
        let mut slow = SlowStep::default();
        (slow.step, slow.ns) = (step, ns);
        slow
    };
    steps.slowest = by_time.iter().take(MAX_SLOWEST_STEPS).map(slow).collect();
    steps.series_ns = all[300..].to_vec();
    for (at, times) in (0..).zip(all.chunks(32)) {
        let mut window = StepWindow::default();
        (window.first_step, window.steps) = (32 * at + 1, times.len() as u64);
        window.wall_ns = times.iter().sum();
        (window.collectives, window.collective_ns) = (window.steps, window.wall_ns / 10);
        steps.windows.push(window);
    }
    (steps.open_collectives, steps.open_collective_ns) = (1, 3 * MS);
    profile.steps = Some(steps);
    profile
}
