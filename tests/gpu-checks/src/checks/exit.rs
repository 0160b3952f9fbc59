//! Promise: however a process ends with work queued on the GPU, there is one report that accounts
//! for every call, the exit status is unchanged, and the exit wait is respected.
//!
//! Each end is a process of its own that prints the time at which it leaves; the remaining time is
//! gpuprof's and the driver's.

use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cudarc::driver::{CudaSlice, CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};

use super::TestProgram;
use crate::check::{Check, Row, RunMode};
use crate::device::{self, Gpu, failed_in};
use crate::process::{self, Finished, ReportFile};
use crate::runner::own_command;

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "exit",
    promise: "Every exit with queued work reports in time and preserves the exit status.",
    limit: Duration::from_secs(240),
    run,
}];

/// The ends of a process, by name.
pub(crate) const PROGRAMS: &[TestProgram] = &[
    ("exit-return", |run_mode| {
        drop(queue(run_mode, SHORT)?);
        Ok(ExitCode::from(3))
    }),
    ("exit-panic", |run_mode| {
        let _queued = queue(run_mode, SHORT)?;
        panic!("as planned");
    }),
    ("exit-call", |run_mode| {
        let _queued = queue(run_mode, SHORT)?;
        std::process::exit(3);
    }),
    ("exit-thread", |run_mode| {
        let _queued = queue(run_mode, SHORT)?;
        thread::spawn(|| std::process::exit(3));
        loop {
            thread::park();
        }
    }),
    ("exit-unfinished", |run_mode| {
        // The context must not be dropped here: that waits for the kernel, with or without gpuprof.
        let _queued = queue(run_mode, LONG)?;
        std::process::exit(3);
    }),
];

/// Annotated launches before the end.
const CALLS: u64 = 2_000;
/// Launches behind a kernel that still runs when the process leaves: few enough for every driver's
/// queue.
const BEHIND: u64 = 100;
/// Duration of that kernel in ns, far shorter than the exit wait.
const SHORT: u64 = 150_000_000;
/// Duration in ns that exceeds the exit wait.
const LONG: u64 = 3_000_000_000;
const LIMIT: Duration = Duration::from_secs(40);
/// Time for the report on a busy machine, in addition to the exit wait and the driver's own
/// shutdown.
const MARGIN: Duration = Duration::from_secs(1);
/// The beginning of the last line of a test program; the time follows.
const LEAVING: &str = "leaving at ";
/// Printed if nothing is queued at the end, in which case the check proves nothing.
const IDLE: &str = "nothing queued";

/// One way to end: its test program, its status, and what happens to the queued work.
struct End {
    what: &'static str,
    program: &'static str,
    status: i32,
    wait: Duration,
    /// True if all queued work finishes within the exit wait.
    finishes: bool,
}

const fn end(what: &'static str, program: &'static str, status: i32) -> End {
    End {
        what,
        program,
        status,
        wait: Duration::from_secs(4),
        finishes: true,
    }
}

const ENDS: [End; 5] = [
    end("after main returns 3", "exit-return", 3),
    end("after a panic in main", "exit-panic", 101),
    end("after exit(3)", "exit-call", 3),
    end("after exit(3) on another thread", "exit-thread", 3),
    End {
        wait: Duration::from_millis(300),
        finishes: false,
        ..end("after exit(3) before a kernel of 3 s", "exit-unfinished", 3)
    },
];

fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for end in &ENDS {
        rows.extend(take(end, run_mode)?);
    }
    Ok(rows)
}

/// Runs the test program and checks its status, its report and the time it took.
fn take(end: &End, run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let report = ReportFile::new(end.program);
    let mut command = own_command(&["program", end.program], run_mode)?;
    command
        .env("GPUPROF_REPORT", report.setting())
        .env("GPUPROF_EXIT_WAIT", format!("{}ms", end.wait.as_millis()));
    let ended = process::run(command, LIMIT).map_err(failed_in(end.program))?;
    let now = SystemTime::now();
    // Without gpuprof, to measure the driver's own shutdown.
    let mut bare = own_command(&["program", end.program], run_mode)?;
    bare.env("GPUPROF", "off");
    let bare_ended = process::run(bare, LIMIT).map_err(failed_in(end.program))?;
    let bare = left(&bare_ended, SystemTime::now());
    let profile = report
        .read()
        .map_err(|error| format!("{}: {error}\n{}", end.program, ended.tail()))?;
    Ok(vec![
        status(end, &ended),
        counts(end, &profile),
        duration(end, left(&ended, now), bare),
    ])
}

fn status(end: &End, ended: &Finished) -> Row {
    let code = ended.status.and_then(|status| status.code());
    let tables = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("gpuprof ") && line.contains(" · wall "))
        .count();
    let queued = !ended.stderr.contains(IDLE);
    let work = if queued { "work queued" } else { IDLE };
    Row::judged(
        format!("{}: status and report", end.what),
        match ended.status {
            Some(status) => format!("{work}, {status}, {tables} table(s)"),
            None => "killed: it exceeded its time limit".into(),
        },
        format!("work queued, exit status: {}, 1 table(s)", end.status),
        queued && code == Some(end.status) && tables == 1,
    )
}

fn counts(end: &End, profile: &Profile) -> Row {
    let functions = profile.functions.iter();
    let (mut calls, mut timed, mut unfinished, mut others) = (0, 0, 0, 0);
    for function in functions.filter(|function| function.has_stream) {
        calls += function.calls;
        timed += function.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
        unfinished += function.untimed.unfinished;
        others += function.untimed_calls - function.untimed.unfinished;
    }
    let expected = CALLS + 1;
    let good = calls == expected
        && timed + unfinished == calls
        && others == 0
        && (end.finishes == (unfinished == 0));
    Row::judged(
        format!("{}: calls", end.what),
        format!("{calls} = {timed} timed + {unfinished} not finished + {others} otherwise"),
        format!(
            "{expected} timed{}",
            if end.finishes {
                ", none unfinished"
            } else {
                " or not finished, at least one of these"
            }
        ),
        good,
    )
}

fn duration(end: &End, left: Option<Duration>, bare: Option<Duration>) -> Row {
    let what = format!("{}: time from leaving to the end", end.what);
    let (Some(left), Some(bare)) = (left, bare) else {
        return Row::judged(
            what,
            "the program printed no time of leaving",
            "a time",
            false,
        );
    };
    // If the work finishes early, the wait must end early too.
    let wait = if end.finishes {
        Duration::from_nanos(SHORT)
    } else {
        end.wait
    };
    let allowed = bare + wait + MARGIN;
    Row::judged(
        what,
        format!("{left:.0?}; without gpuprof {bare:.0?}"),
        format!("under {allowed:.1?}"),
        left < allowed,
    )
}

/// Time since the test program printed that it leaves.
fn left(ended: &Finished, now: SystemTime) -> Option<Duration> {
    let line = ended
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix(LEAVING))?;
    let left_at = UNIX_EPOCH + Duration::from_nanos(line.parse().ok()?);
    now.duration_since(left_at).ok()
}

#[gpu_profile]
fn add(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
) -> Result<(), DriverError> {
    gpu.saxpy(stream, 1.0, x, y)
}

#[gpu_profile]
fn long(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) -> Result<(), DriverError> {
    gpu.spin(stream, ns)
}

/// Kept alive until the process ends, because dropping any of it waits for the device.
type Queued = (Gpu, Arc<CudaStream>, CudaSlice<f32>, CudaSlice<f32>);

/// Queues the launches with a kernel of `ns` before the last of them, and prints that the process
/// leaves.
fn queue(run_mode: &RunMode, ns: u64) -> Result<Box<Queued>, String> {
    device::open(run_mode)?;
    let queued = try_queue(run_mode, ns).map_err(failed_in("queueing"))?;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_err(|error| error.to_string())?;
    println!("{LEAVING}{}", now.as_nanos());
    Ok(queued)
}

fn try_queue(run_mode: &RunMode, ns: u64) -> Result<Box<Queued>, DriverError> {
    let gpu = Gpu::new()?;
    let stream = gpu.context.new_stream()?;
    let n = if run_mode.simulated { 256 } else { 1 << 22 };
    let x = stream.clone_htod(&vec![1.0_f32; n])?;
    let mut y = stream.alloc_zeros::<f32>(n)?;
    for call in 0..CALLS {
        if call == CALLS - BEHIND {
            long(&gpu, &stream, ns)?;
        }
        add(&gpu, &stream, &x, &mut y)?;
    }
    if stream.record_event(None)?.try_is_complete()? {
        eprintln!("{IDLE}");
    }
    Ok(Box::new((gpu, stream, x, y)))
}
