//! Promise: calls in progress are reported with their number, their time so far and the GPU time of
//! what is nested in them, in snapshots and in the report at exit.

use std::process::ExitCode;
use std::sync::{Arc, Barrier};
use std::task::{Context, Waker};
use std::time::Duration;
use std::{future, thread};

use gpuprof::gpu_profile;
use promises::{Tolerance, open_calls};

use super::TestProgram;
use crate::check::{Check, Row, RunMode, rows};
use crate::device::{self, Gpu, TOLERANCE, failed_in};
use crate::process::{self, ReportFile};
use crate::runner::own_command;

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "open-calls",
    promise: "Calls in progress have their time so far and their nested GPU time.",
    limit: Duration::from_secs(60),
    run,
}];

pub(crate) const PROGRAMS: &[TestProgram] = &[("open-calls", exit_inside)];

const LIMIT: Duration = Duration::from_secs(40);

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
    open_calls::serve(&gpu, &stream, || std::process::exit(3)).map_err(&failed)
}

fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let gpu = Gpu::new().map_err(failed_in("the device"))?;
    let mut within = TOLERANCE;
    if run_mode.simulated {
        // A span has what the host takes from its first event to its launch, of any length if
        // other programs use the host too.
        within.longer_ns = TOLERANCE.of_host_ns;
    }
    let mut rows = rows([open_calls::in_progress(&gpu, within)])?;
    rows.extend(at_exit(run_mode, within)?);
    Ok(rows)
}

/// The report of a process that exits inside calls.
fn at_exit(run_mode: &RunMode, within: Tolerance) -> Result<Vec<Row>, String> {
    let report = ReportFile::new("open-calls");
    let mut command = own_command(&["program", "open-calls"], run_mode)?;
    command.env("GPUPROF_REPORT", report.setting());
    let ended = process::run(command, LIMIT).map_err(failed_in("the program"))?;
    let profile = report
        .read()
        .map_err(|error| format!("{error}\n{}", ended.tail()))?;
    let line = ended
        .stderr
        .lines()
        .find(|line| line.contains("still running at exit:"));
    let line = line.unwrap_or("no line on calls in progress").trim();
    let code = ended.status.and_then(|status| status.code());
    let names = ["serves", "works", "waits"];
    let elapsed_ns = ended.elapsed.as_nanos() as u64;
    let mut rows = vec![
        Row::judged(
            "exit(3) inside a call: status and table",
            format!("status {}: {line}", code.unwrap_or(-1)),
            format!("status 3; still running at exit: {}", names.join(", ")),
            code == Some(3) && names.iter().all(|name| line.contains(name)),
        ),
        open_calls::only_these_are_open("the same: the report", &profile, &names).into(),
    ];
    let observed = open_calls::of_the_open_call(&profile, elapsed_ns, within);
    rows.extend(observed.into_iter().map(Row::from));
    Ok(rows)
}
