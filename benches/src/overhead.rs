//! gpuprof's reported overhead, compared with a measurement from outside: the same program with
//! gpuprof and built without it, from start to end.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::outcome::OverheadComparison;
use crate::table_rows::{PLAIN, SWITCHED_OFF, Setting, case};
use crate::worker_client::Programs;

/// Runs `row` for `calls` calls with and without gpuprof, in turn.
///
/// # Errors
/// A program is not built or fails, or its report lacks the overhead.
pub(crate) fn compare(
    programs: &Programs,
    name: &'static str,
    row: &str,
    calls: u64,
    rounds: usize,
) -> Result<OverheadComparison, String> {
    let launches = case(name).is_some_and(|case| case.gpu);
    let file = std::env::temp_dir().join(format!("gpuprof-cost-{}.json", std::process::id()));
    let mut cost = OverheadComparison {
        name,
        calls,
        simulated_device: false,
        measured_ns: Vec::new(),
        reported_ns: Vec::new(),
    };
    for _ in 0..rounds {
        let without = run_and_measure(programs, &SWITCHED_OFF, row, calls, launches, None)?;
        let with = run_and_measure(
            programs,
            &case(name).map_or(PLAIN, |case| case.setting),
            row,
            calls,
            launches,
            Some(&file),
        )?;
        let apart = with.as_secs_f64() - without.as_secs_f64();
        cost.measured_ns.push(apart * 1e9 / calls as f64);
        cost.reported_ns
            .push(reported_overhead(&file)? / calls as f64);
        // The file is in the temporary folder; a failure to remove it is harmless.
        let _ = std::fs::remove_file(&file);
    }
    Ok(cost)
}

fn run_and_measure(
    programs: &Programs,
    setting: &Setting,
    row: &str,
    calls: u64,
    launches: bool,
    report: Option<&Path>,
) -> Result<Duration, String> {
    let mut command = programs.command(setting)?;
    // The workers determine the device.
    command
        .args(["loop", row, &calls.to_string()])
        .stderr(Stdio::null());
    if let Some(path) = report {
        command.env("GPUPROF_REPORT", format!("json={}", path.display()));
    }
    let (start, used) = (Instant::now(), children_cpu_time());
    let status = command.status().map_err(|error| error.to_string())?;
    let took = if launches {
        start.elapsed()
    } else {
        children_cpu_time().saturating_sub(used)
    };
    if status.success() {
        Ok(took)
    } else {
        Err(format!("`cost loop {row} {calls}` failed ({status})"))
    }
}

/// User and system CPU time of all child processes that have ended.
fn children_cpu_time() -> Duration {
    // SAFETY: zero is valid for every field of this structure of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is writable.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    let time = |of: libc::timeval| {
        let seconds = Duration::from_secs(of.tv_sec.unsigned_abs());
        seconds + Duration::from_micros(of.tv_usec.unsigned_abs())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// `diagnostics.overhead_ns` of a report.
fn reported_overhead(file: &Path) -> Result<f64, String> {
    let wrong = |error: String| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let report: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let ns = report["diagnostics"]["overhead_ns"].as_f64();
    ns.ok_or_else(|| wrong("the report lacks diagnostics.overhead_ns".into()))
}
