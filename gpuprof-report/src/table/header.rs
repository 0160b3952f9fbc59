//! The line above a report: what ran, on what, for how long.

use super::number;
use super::row;
use super::words::{BOLD, DIM, LOUD, PLAIN, WARN, Words};
use crate::profile::{Device, Profile, ScheduleSteps};
use crate::sanitize;

/// Writes the header, and on a simulated device the line that says what its times are worth.
pub(super) fn write(profile: &Profile, width: Option<usize>, color: bool, out: &mut String) {
    let mut words = Words::default();
    words
        .add(DIM, "gpuprof")
        .then(":")
        .add_one(BOLD, sanitize::name(&profile.program));
    if let Some(rank) = profile.rank {
        words.then(",").add_one(
            PLAIN,
            format!("rank {rank} on {}", sanitize::name(&profile.host)),
        );
    }
    words.then(" ·");
    if profile.devices.iter().any(|device| device.simulated) {
        words.add_one(LOUD, "simulated device").then(" ·");
    }
    for name in device_names(profile) {
        words.add_one(PLAIN, name).then(" ·");
    }
    if let Some(device) = profile.devices.first() {
        words
            .add_one(
                PLAIN,
                format!("driver CUDA {}", sanitize::name(&device.driver)),
            )
            .then(" ·");
    }
    words
        .add_one(
            PLAIN,
            format!("wall {}", number::duration(profile.wall_ns).text()),
        )
        .then(" ·");
    let gpu_self = row::gpu_self_of_all(profile);
    match number::percent(gpu_self as f64 / profile.wall_ns as f64) {
        Some(share) if gpu_self > 0 => words
            .add_one(BOLD, format!("GPU self {} %", share.text()))
            .add(PLAIN, "of wall")
            .add_one(DIM, "(several streams can pass 100 %)"),
        _ => words.add(PLAIN, "no GPU time"),
    };
    words.write(out, color, width, 2);
    if let Some(steps) = &profile.schedule {
        let mut words = Words::default();
        words.add_one(PLAIN, scheduled(steps));
        words.write(out, color, width, 2);
    }
    if profile.devices.iter().any(|device| device.simulated) {
        let mut words = Words::default();
        words.add(
            WARN,
            "simulated device: GPU times are modelled, not measured; CPU times include the \
             simulation",
        );
        words.write(out, color, width, 2);
    }
}

/// Which part of the program's steps the figures are of.
fn scheduled(steps: &ScheduleSteps) -> String {
    let cycles = match steps.cycles {
        1 => "1 cycle".to_owned(),
        cycles => format!("{cycles} cycles"),
    };
    let schedule = steps.schedule;
    format!(
        "schedule {},{},{}: these are {} of {} steps, in {cycles}",
        schedule.wait, schedule.warmup, schedule.active, steps.measured_steps, steps.steps
    )
}

/// Each name once, with how many devices bear it.
fn device_names(profile: &Profile) -> Vec<String> {
    let mut names: Vec<(&str, usize)> = Vec::new();
    // The simulated device has no better name than the words that stand there already.
    let named = |device: &&Device| !(device.simulated && device.name == "simulated device");
    for device in profile.devices.iter().filter(named) {
        match names.iter_mut().find(|(name, _)| *name == device.name) {
            Some((_, count)) => *count += 1,
            None => names.push((&device.name, 1)),
        }
    }
    let text = |(name, count): (&str, usize)| match count {
        1 => sanitize::name(name).into_owned(),
        _ => format!("{count} × {}", sanitize::name(name)),
    };
    names.into_iter().map(text).collect()
}
