//! Promise: if a process is terminated from outside, or forks, its report exists and is right:
//! after a handled signal, in the checkpoint after SIGKILL, and in the parent of a child without
//! exec.
//!
//! The check `exit` covers the ends that a process chooses itself. Each case here is a process of
//! its own as well.

mod checkpoint;
mod fork;

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};
use promises::function;

use super::TestProgram;
use crate::check::{Check, Row, RunMode};
use crate::device::{self, Gpu, failed_in};
use crate::process::{self, Finished, ReportFile};
use crate::runner::own_command;

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "signals",
        promise: "SIGINT and SIGTERM print the report, then end the process as usual.",
        limit: Duration::from_secs(120),
        run,
    },
    Check {
        name: "checkpoint",
        promise: "After SIGKILL the JSON file is complete and at most one interval old.",
        limit: Duration::from_secs(120),
        run: checkpoint::run,
    },
    Check {
        name: "fork",
        promise: "A forked child ends as without gpuprof and reports nothing.",
        limit: Duration::from_secs(120),
        run: fork::run,
    },
];

pub(crate) const PROGRAMS: &[TestProgram] = &[
    ("signal-short", |run_mode| wait_for_the_end(run_mode, SHORT)),
    ("signal-long", |run_mode| wait_for_the_end(run_mode, LONG)),
    ("checkpoint", checkpoint::program),
    ("fork-child-leaves", |run_mode| {
        fork::program(run_mode, fork::leave)
    }),
    ("fork-child-exits", |run_mode| {
        fork::program(run_mode, fork::exit)
    }),
];

/// Annotated launches behind the long kernel.
const CALLS: u64 = 50;
/// Duration of that kernel in ns, far shorter than the exit wait.
const SHORT: u64 = 300_000_000;
/// Duration in ns that exceeds the exit wait.
const LONG: u64 = 3_000_000_000;
const LIMIT: Duration = Duration::from_secs(30);
/// Printed by a test program that is ready to be terminated.
const READY: &str = "ready";
/// Time for the report on a busy machine, in addition to the exit wait and the driver's own
/// shutdown.
const MARGIN: Duration = Duration::from_secs(1);

#[gpu_profile(name = "work")]
fn work(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) -> Result<(), DriverError> {
    gpu.spin(stream, ns)
}

fn wait_for_the_end(run_mode: &RunMode, ns: u64) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let failed = failed_in("queueing");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = gpu.context.new_stream().map_err(&failed)?;
    work(&gpu, &stream, ns).map_err(&failed)?;
    for _ in 1..CALLS {
        work(&gpu, &stream, 10_000).map_err(&failed)?;
    }
    println!("{READY}");
    loop {
        thread::park();
    }
}

/// A signal while a kernel runs that finishes within the exit wait or not.
struct End {
    program: &'static str,
    signal: i32,
    wait: Duration,
    finishes: bool,
}

const ENDS: [End; 3] = [
    End {
        program: "signal-short",
        signal: libc::SIGINT,
        wait: Duration::from_secs(5),
        finishes: true,
    },
    End {
        program: "signal-short",
        signal: libc::SIGTERM,
        wait: Duration::from_secs(5),
        finishes: true,
    },
    End {
        program: "signal-long",
        signal: libc::SIGTERM,
        wait: Duration::from_millis(300),
        finishes: false,
    },
];

fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for end in &ENDS {
        rows.extend(take(end, run_mode)?);
    }
    Ok(rows)
}

fn take(end: &End, run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let json = ReportFile::new(end.program);
    let mut command = own_command(&["program", end.program], run_mode)?;
    command
        .env("GPUPROF_SIGNALS", "on")
        .env("GPUPROF_REPORT", json.setting())
        .env("GPUPROF_EXIT_WAIT", format!("{}ms", end.wait.as_millis()));
    let (with, took) = run_and_signal(command, end.signal)?;
    let profile = json
        .read()
        .map_err(|error| format!("{error}\n{}", with.tail()))?;
    // Without gpuprof, to measure the driver's own shutdown.
    let mut command = own_command(&["program", end.program], run_mode)?;
    command.env("GPUPROF", "off");
    let (without, bare) = run_and_signal(command, end.signal)?;

    let which = if end.signal == libc::SIGINT {
        "SIGINT"
    } else {
        "SIGTERM"
    };
    let length = if end.finishes { "0.3 s" } else { "3 s" };
    let what = format!(
        "{which} with a kernel of {length} running, exit wait {:?}",
        end.wait
    );
    let wait = if end.finishes {
        Duration::from_nanos(SHORT)
    } else {
        end.wait
    };
    let allowed = bare + wait + MARGIN;
    Ok(vec![
        status(&what, end.signal, &with, &without),
        counts(&what, end, &profile),
        Row::judged(
            format!("{what}: time from the signal to the end"),
            format!("{took:.0?}; without gpuprof {bare:.0?}"),
            format!("under {allowed:.1?}"),
            took < allowed,
        ),
    ])
}

/// Sends the signal once the program is ready. Returns the time from then to its end.
fn run_and_signal(command: Command, signal: i32) -> Result<(Finished, Duration), String> {
    let mut sent = None;
    let ended = process::watch(command, LIMIT, |id, said| {
        if sent.is_none() && said.contains(READY) {
            send(id, signal);
            sent = Some(Instant::now());
        }
    });
    let ended = ended.map_err(failed_in("the program that is ended"))?;
    match sent {
        Some(sent) => Ok((ended, sent.elapsed())),
        None => Err(format!("the program was never ready\n{}", ended.tail())),
    }
}

/// Sends a signal to a child of this process that has not been waited for.
fn send(id: u32, signal: i32) {
    // SAFETY: no memory is passed, and the id still belongs to the child.
    let sent = unsafe { libc::kill(id.cast_signed(), signal) };
    assert_eq!(sent, 0, "a child may be sent a signal");
}

fn status(what: &str, signal: i32, with: &Finished, without: &Finished) -> Row {
    let by = |ended: &Finished| match ended.status {
        None => "killed: it exceeded its time limit".to_owned(),
        Some(status) => status.to_string(),
    };
    let tables = tables(with);
    let ended_by = with.status.and_then(|status| status.signal());
    Row::judged(
        format!("{what}: status and report"),
        format!("{}, {tables} table(s)", by(with)),
        format!("{} as without gpuprof, 1 table(s)", by(without)),
        ended_by == Some(signal) && with.status == without.status && tables == 1,
    )
}

/// The number of reports in the program's standard error.
fn tables(ended: &Finished) -> usize {
    let head = |line: &&str| line.starts_with("gpuprof ") && line.contains(" · wall ");
    ended.stderr.lines().filter(head).count()
}

fn counts(what: &str, end: &End, profile: &Profile) -> Row {
    let (calls, timed, unfinished) = of_work(profile);
    Row::judged(
        format!("{what}: calls"),
        format!("{calls} = {timed} timed + {unfinished} not finished"),
        format!(
            "{CALLS} {}",
            if end.finishes {
                "timed"
            } else {
                "not finished"
            }
        ),
        calls == CALLS && (timed, unfinished) == if end.finishes { (CALLS, 0) } else { (0, CALLS) },
    )
}

/// Calls of `work`: all, timed, and unfinished on the GPU.
fn of_work(profile: &Profile) -> (u64, u64, u64) {
    function(profile, "work").map_or((0, 0, 0), |work| {
        let timed = work.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
        (work.calls, timed, work.untimed.unfinished)
    })
}
