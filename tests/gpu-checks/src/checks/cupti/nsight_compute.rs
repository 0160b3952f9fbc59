//! Kernel counts and times compared with Nsight Compute, kernel by kernel, for the test program and
//! the examples.

use std::process::Command;
use std::time::Duration;

use gpuprof::Profile;

use super::nsight_tools::{self, Seen};
use super::{refusal, test_program};
use crate::check::{Row, RunMode};
use crate::process::{self, ReportFile};
use crate::statistics::{off, percent, time};
use crate::{examples, runner};

/// The tool measures each launch separately, which takes milliseconds.
const LIMIT: Duration = Duration::from_secs(120);
/// Only kernels at least this long are compared in time; shorter ones depend on the tool.
const LONG_NS: f64 = 100_000.0;
const WANTED: f64 = 0.005;
/// Examples with few enough launches for a tool that stops at each one.
const EXAMPLES: [&str; 3] = ["01_quickstart", "02_convolution", "07_graph"];

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let what = "kernels beside Nsight Compute's";
    if run_mode.simulated {
        let why = "simulated device: Nsight Compute sees no kernels on it";
        return Ok(vec![Row::unavailable(what, why)]);
    }
    let Some(ncu) = nsight_tools::find("ncu") else {
        return Ok(vec![Row::unavailable(what, "there is no ncu here")]);
    };
    let mut rows = beside(&ncu, "this program", &|| {
        runner::own_command(&["program", test_program::NAME], run_mode)
    })?;
    for name in EXAMPLES {
        match examples::path(name) {
            Ok(path) => rows.extend(beside(&ncu, name, &|| {
                Ok(examples::command(&path, run_mode.simulated))
            })?),
            Err(why) => rows.push(Row::unavailable(format!("{name}: kernels"), why)),
        }
    }
    Ok(rows)
}

type Program<'a> = &'a dyn Fn() -> Result<Command, String>;

fn beside(ncu: &std::path::Path, name: &str, program: Program<'_>) -> Result<Vec<Row>, String> {
    let mut alone = program()?;
    let report = ReportFile::new(name);
    alone.env("GPUPROF_CUPTI", "on");
    alone.env("GPUPROF_REPORT", report.setting());
    let ended = process::finished(alone, LIMIT);
    let profile = ended.and_then(|_| report.read());
    let profile = profile.map_err(|error| format!("{name}: {error}"))?;
    if let Some(why) = refusal(&profile) {
        return Ok(vec![Row::unavailable(format!("{name}: kernels"), why)]);
    }
    let mut traced = program()?;
    traced.env("GPUPROF", "off");
    let traced = process::run(
        nsight_tools::under_ncu(ncu, &traced, nsight_tools::DURATION),
        LIMIT,
    );
    let traced = traced.map_err(|error| error.to_string())?;
    if let Some(trouble) = traced.failure() {
        let why = format!("ncu: {trouble}: {}", traced.tail());
        return Ok(vec![Row::unavailable(format!("{name}: kernels"), why)]);
    }
    let seen = nsight_tools::launches(&traced.stdout)?;
    Ok(compared(name, &profile, &seen))
}

fn compared(name: &str, profile: &Profile, seen: &Seen) -> Vec<Row> {
    let ours: Seen = profile
        .kernels
        .iter()
        .fold(Seen::new(), |mut ours, kernel| {
            let (calls, mean) = ours.entry(kernel.symbol.clone()).or_default();
            let total = *mean * *calls as f64 + kernel.times.total_ns as f64;
            *calls += kernel.times.calls;
            *mean = total / *calls as f64;
            ours
        });
    let counts = |seen: &Seen| {
        let each = seen
            .iter()
            .map(|(kernel, (calls, _))| format!("{kernel} {calls}"));
        each.collect::<Vec<_>>().join(", ")
    };
    let same = ours.len() == seen.len()
        && ours.iter().all(|(kernel, (calls, _))| {
            seen.get(kernel).is_some_and(|(theirs, _)| theirs == calls)
        });
    let mut rows = vec![Row::judged(
        format!("{name}: launches by kernel"),
        counts(&ours),
        format!("as Nsight Compute counts: {}", counts(seen)),
        same,
    )];
    for (kernel, (_, mean)) in &ours {
        let Some((_, theirs)) = seen.get(kernel).filter(|(_, theirs)| *theirs > LONG_NS) else {
            continue;
        };
        let apart = off(*mean, *theirs);
        rows.push(Row::judged(
            format!("{name}: {kernel}, mean time"),
            format!(
                "{}, Nsight Compute {}: {}",
                time(*mean),
                time(*theirs),
                percent(apart)
            ),
            "within 0.5 %",
            apart.abs() <= WANTED,
        ));
    }
    rows
}

#[cfg(test)]
mod tests {
    use gpuprof::profile::{DurationStats, KernelStats};

    use super::*;
    use crate::check::Verdict;

    #[test]
    fn a_missing_launch_and_a_wrong_time_are_bad() {
        let kernel = |calls, total_ns| {
            let mut kernel = KernelStats::default();
            kernel.symbol = "spin".into();
            kernel.times = {
                let mut stats = DurationStats::default();
                stats.calls = calls;
                stats.total_ns = total_ns;
                stats
            };
            kernel
        };
        let profile = |kernel| {
            let mut profile = Profile::default();
            profile.kernels = vec![kernel];
            profile
        };
        let seen: Seen = [("spin".to_owned(), (2, 1e6))].into();
        let verdicts = |calls, total| {
            let rows = compared("x", &profile(kernel(calls, total)), &seen);
            rows.iter().map(|row| row.verdict).collect::<Vec<_>>()
        };
        assert_eq!(verdicts(2, 2_000_000), [Verdict::Pass, Verdict::Pass]);
        assert_eq!(verdicts(1, 1_000_000), [Verdict::Fail, Verdict::Pass]);
        assert_eq!(verdicts(2, 2_100_000), [Verdict::Pass, Verdict::Fail]);
    }
}
