//! Promise: calls in progress are reported with their number, their time so far and the GPU time of
//! what is nested in them, in snapshots and in the report at exit.

use std::process::ExitCode;
use std::sync::{Arc, Barrier};
use std::task::{Context, Waker};
use std::time::Duration;
use std::{env, fs, future, thread};

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};
use promises::function;

use super::TestProgram;
use crate::check::{Check, Row, RunMode};
use crate::device::{self, Gpu, TOLERANCE, failed_in};
use crate::process;
use crate::runner::own_command;
use crate::session::every_call;
use crate::statistics::time;

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "open-calls",
    promise: "Calls in progress have their time so far and their nested GPU time.",
    limit: Duration::from_secs(60),
    run,
}];

pub(crate) const PROGRAMS: &[TestProgram] = &[("open-calls", exit_inside)];

const LIMIT: Duration = Duration::from_secs(40);
/// Calls that have ended inside the one in progress, and the kernel of each, ns.
const REQUESTS: u64 = 20;
const REQUEST_NS: u64 = 2_000_000;

#[gpu_profile(name = "serves")]
fn serve<T>(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    inside: impl FnOnce() -> T,
) -> Result<T, DriverError> {
    (0..REQUESTS).try_for_each(|_| request(gpu, stream))?;
    stream.synchronize()?;
    Ok(inside())
}

#[gpu_profile(name = "request")]
fn request(gpu: &Gpu, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    gpu.spin(stream, REQUEST_NS)
}

#[gpu_profile(cpu, name = "works")]
fn work(begun: &Barrier) {
    begun.wait();
    loop {
        thread::park();
    }
}

#[gpu_profile(cpu, name = "waits")]
async fn wait() {
    future::pending::<()>().await;
}

/// Leaves inside a call, with another one open on another thread, and a pending future.
fn exit_inside(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let failed = failed_in("the calls");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = gpu.context.new_stream().map_err(&failed)?;
    let begun = Arc::new(Barrier::new(2));
    let also_begun = Arc::clone(&begun);
    thread::spawn(move || work(&also_begun));
    begun.wait();
    let mut pending = Box::pin(wait());
    let polled = pending
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending());
    serve(&gpu, &stream, || std::process::exit(3)).map_err(&failed)
}

fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let mut rows = snapshots()?;
    rows.extend(at_exit(run_mode)?);
    Ok(rows)
}

/// A call in progress when a profile is made, and after it has ended.
fn snapshots() -> Result<Vec<Row>, String> {
    let failed = failed_in("the calls");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = gpu.context.new_stream().map_err(&failed)?;
    let session = every_call().start().map_err(failed_in("a session"))?;
    // All requests have ended, and their times are waited for.
    let during = serve(&gpu, &stream, gpuprof::collect).map_err(&failed)?;
    let after = session.finish();
    let mut rows = vec![
        open("a snapshot inside a call", &during, &["serves"]),
        nested("the same: its requests", &during),
        so_far("the same: its time so far", &during, during.wall_ns),
    ];
    let ended = function(&after, "serves");
    let [calls, open] = ended.map_or([0; 2], |found| [found.calls, found.open_calls]);
    rows.push(Row::judged(
        "the profile after that call",
        format!("{calls} calls, {open} in progress"),
        "1 calls, 0 in progress",
        [calls, open] == [1, 0],
    ));
    Ok(rows)
}

/// The report of a process that exits inside calls.
fn at_exit(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let json = env::temp_dir().join(format!("gpu-checks-open-{}.json", std::process::id()));
    let mut command = own_command(&["program", "open-calls"], run_mode)?;
    command.env("GPUPROF_REPORT", format!("table,json={}", json.display()));
    let ended = process::run(command, LIMIT).map_err(failed_in("the program"))?;
    let text = fs::read_to_string(&json);
    // A file that cannot be removed stays in the temporary folder.
    let _ = fs::remove_file(&json);
    let text = text.map_err(|error| format!("the report: {error}\n{}", ended.tail()))?;
    let profile: Profile = serde_json::from_str(&text).map_err(failed_in("the report"))?;
    let line = ended
        .stderr
        .lines()
        .find(|line| line.contains("still running at exit:"));
    let line = line.unwrap_or("no line on calls in progress").trim();
    let code = ended.status.and_then(|status| status.code());
    let names = ["serves", "works", "waits"];
    Ok(vec![
        Row::judged(
            "exit(3) inside a call: status and table",
            format!("status {}: {line}", code.unwrap_or(-1)),
            format!("status 3; still running at exit: {}", names.join(", ")),
            code == Some(3) && names.iter().all(|name| line.contains(name)),
        ),
        open("the same: the report", &profile, &names),
        nested("the same: its requests", &profile),
        so_far(
            "the same: its time so far",
            &profile,
            ended.elapsed.as_nanos() as u64,
        ),
    ])
}

/// One call of each of these functions is in progress, none has ended.
fn open(what: &str, profile: &Profile, names: &[&str]) -> Row {
    let mut good = true;
    let mut shown = Vec::new();
    for name in names {
        let found = function(profile, name);
        let [calls, open] = found.map_or([0; 2], |found| [found.calls, found.open_calls]);
        good &= [calls, open] == [0, 1];
        shown.push(format!("{name}: {open} in progress, {calls} ended"));
    }
    let others = profile
        .functions
        .iter()
        .filter(|found| found.open_calls > 0);
    good &= others.count() == names.len();
    Row::judged(
        what,
        shown.join("; "),
        "1 in progress, 0 ended, of each, and of no other function",
        good,
    )
}

/// The calls that have ended inside the open one, and their time in it.
fn nested(what: &str, profile: &Profile) -> Row {
    let Some((request, serves)) = function(profile, "request").zip(function(profile, "serves"))
    else {
        return Row::judged(what, "a function is missing", "both functions", false);
    };
    let timed = request.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
    let ns = serves.gpu_nested_ns;
    let least_ns = REQUESTS * (REQUEST_NS - TOLERANCE.shorter_ns);
    Row::judged(
        what,
        format!(
            "{} calls, {timed} timed; nested GPU time {}",
            request.calls,
            time(ns as f64)
        ),
        format!(
            "{REQUESTS} calls, all timed; {} to the call's time so far",
            time(least_ns as f64)
        ),
        [request.calls, timed] == [REQUESTS; 2] && (least_ns..=serves.open_ns).contains(&ns),
    )
}

/// The open call has lasted at least as long as its kernels.
fn so_far(what: &str, profile: &Profile, most_ns: u64) -> Row {
    let so_far_ns = function(profile, "serves").map_or(0, |serves| serves.open_ns);
    let least_ns = REQUESTS * REQUEST_NS;
    Row::judged(
        what,
        time(so_far_ns as f64),
        format!("{} to {}", time(least_ns as f64), time(most_ns as f64)),
        (least_ns..=most_ns).contains(&so_far_ns),
    )
}
