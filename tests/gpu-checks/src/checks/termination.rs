//! Promise: also where a process is ended from outside, or forks, its report is there and right:
//! after a signal that gpuprof was asked to take, from the checkpoint after one that nobody can
//! take, and in the parent of a child without exec.
//!
//! The check `exit` has the ends that a process takes by itself. Each end here is a process of its
//! own as well.

mod checkpoint;
mod fork;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

use cudarc::driver::{CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};

use super::Scene;
use super::known_durations::function;
use crate::check::{Check, Row, World};
use crate::device::{self, Gpu, while_doing};
use crate::process::{self, Ended};
use crate::runner::itself;

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "signals",
        promise: "SIGINT and SIGTERM print the report first, with kernels running, and end the \
            process as they would.",
        limit: Duration::from_secs(120),
        run,
    },
    Check {
        name: "checkpoint",
        promise: "A kill -9 leaves a whole JSON file that is at most one interval old.",
        limit: Duration::from_secs(120),
        run: checkpoint::run,
    },
    Check {
        name: "fork",
        promise: "A child without exec ends as it does without gpuprof, reports nothing, and \
            leaves the parent's report right.",
        limit: Duration::from_secs(120),
        run: fork::run,
    },
];

pub(crate) const SCENES: &[Scene] = &[
    ("signal-short", |world| wait_for_the_end(world, SHORT)),
    ("signal-long", |world| wait_for_the_end(world, LONG)),
    ("checkpoint", checkpoint::scene),
    ("fork-child-leaves", |world| fork::scene(world, fork::leave)),
    ("fork-child-exits", |world| fork::scene(world, fork::exit)),
];

/// Annotated launches behind the long kernel.
const CALLS: u64 = 50;
/// That kernel, in ns: over long before the exit waits are.
const SHORT: u64 = 300_000_000;
/// The same, longer than the wait.
const LONG: u64 = 3_000_000_000;
const LIMIT: Duration = Duration::from_secs(30);
/// What a scene says when it is ready for its end.
const READY: &str = "ready";
/// What an end may take besides the wait and the driver's own: the report, on a busy machine.
const MARGIN: Duration = Duration::from_secs(1);

#[gpu_profile(name = "work")]
fn work(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) -> Result<(), DriverError> {
    gpu.spin(stream, ns)
}

fn wait_for_the_end(world: &World, ns: u64) -> Result<ExitCode, String> {
    device::open(world)?;
    let doing = while_doing("queueing");
    let gpu = Gpu::new().map_err(&doing)?;
    let stream = gpu.context.new_stream().map_err(&doing)?;
    work(&gpu, &stream, ns).map_err(&doing)?;
    for _ in 1..CALLS {
        work(&gpu, &stream, 10_000).map_err(&doing)?;
    }
    println!("{READY}");
    loop {
        thread::park();
    }
}

/// A signal, while a kernel runs that is over within the exit wait or not.
struct End {
    scene: &'static str,
    signal: i32,
    wait: Duration,
    finishes: bool,
}

const ENDS: [End; 3] = [
    End {
        scene: "signal-short",
        signal: libc::SIGINT,
        wait: Duration::from_secs(5),
        finishes: true,
    },
    End {
        scene: "signal-short",
        signal: libc::SIGTERM,
        wait: Duration::from_secs(5),
        finishes: true,
    },
    End {
        scene: "signal-long",
        signal: libc::SIGTERM,
        wait: Duration::from_millis(300),
        finishes: false,
    },
];

fn run(world: &World) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for end in &ENDS {
        rows.extend(take(end, world)?);
    }
    Ok(rows)
}

fn take(end: &End, world: &World) -> Result<Vec<Row>, String> {
    let json = Json::new(end.scene);
    let mut command = itself(&["play", end.scene], world)?;
    command
        .env("GPUPROF_SIGNALS", "on")
        .env("GPUPROF_REPORT", json.setting())
        .env("GPUPROF_EXIT_WAIT", format!("{}ms", end.wait.as_millis()));
    let (with, took) = signalled(command, end.signal)?;
    let profile = json
        .read()
        .map_err(|error| format!("{error}\n{}", with.tail()))?;
    // Without gpuprof, for what the driver's own end takes.
    let mut command = itself(&["play", end.scene], world)?;
    command.env("GPUPROF", "off");
    let (without, bare) = signalled(command, end.signal)?;

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
        Row::held(
            format!("{what}: time from the signal to the end"),
            format!("{took:.0?}; without gpuprof {bare:.0?}"),
            format!("under {allowed:.1?}"),
            took < allowed,
        ),
    ])
}

/// Sends the signal once the program is ready; gives the time from there to its end.
fn signalled(command: Command, signal: i32) -> Result<(Ended, Duration), String> {
    let mut sent = None;
    let ended = process::watch(command, LIMIT, |id, said| {
        if sent.is_none() && said.contains(READY) {
            send(id, signal);
            sent = Some(Instant::now());
        }
    });
    let ended = ended.map_err(while_doing("the program that is ended"))?;
    match sent {
        Some(sent) => Ok((ended, sent.elapsed())),
        None => Err(format!("it was never ready\n{}", ended.tail())),
    }
}

/// To a child of this process that has not been waited for.
fn send(id: u32, signal: i32) {
    // SAFETY: no memory is passed, and the id is still the child's.
    let sent = unsafe { libc::kill(id.cast_signed(), signal) };
    assert_eq!(sent, 0, "a child may be sent a signal");
}

fn status(what: &str, signal: i32, with: &Ended, without: &Ended) -> Row {
    let by = |ended: &Ended| match ended.status {
        None => "killed: it hung".to_owned(),
        Some(status) => status.to_string(),
    };
    let tables = tables(with);
    let ended_by = with.status.and_then(|status| status.signal());
    Row::held(
        format!("{what}: status and report"),
        format!("{}, {tables} table(s)", by(with)),
        format!("{} as without gpuprof, 1 table(s)", by(without)),
        ended_by == Some(signal) && with.status == without.status && tables == 1,
    )
}

/// How many reports stand in the program's standard error.
fn tables(ended: &Ended) -> usize {
    let head = |line: &&str| line.starts_with("gpuprof: ") && line.contains(" · wall ");
    ended.stderr.lines().filter(head).count()
}

fn counts(what: &str, end: &End, profile: &Profile) -> Row {
    let (calls, timed, unfinished) = of_work(profile);
    Row::held(
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

/// Calls of `work`, how many were timed, and how many the GPU had not finished.
fn of_work(profile: &Profile) -> (u64, u64, u64) {
    function(profile, "work").map_or((0, 0, 0), |work| {
        let timed = work.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
        (work.calls, timed, work.untimed.unfinished)
    })
}

/// A file that a program writes its report to, alone in a folder that goes with it.
struct Json {
    folder: PathBuf,
}

impl Json {
    fn new(name: &str) -> Json {
        let folder = format!("gpu-checks-{name}-{}", std::process::id());
        Json {
            folder: env::temp_dir().join(folder),
        }
    }

    /// For `GPUPROF_REPORT`.
    fn setting(&self) -> String {
        // A folder that cannot be made shows as a report that is not there.
        let _ = fs::create_dir_all(&self.folder);
        format!("table,json={}", self.path().display())
    }

    fn path(&self) -> PathBuf {
        self.folder.join("report.json")
    }

    fn read(&self) -> Result<Profile, String> {
        parsed(&self.path())
    }
}

impl Drop for Json {
    fn drop(&mut self) {
        // Else it stays in the folder for temporary files, which does no harm.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn parsed(path: &Path) -> Result<Profile, String> {
    let text = fs::read_to_string(path).map_err(while_doing("the report"))?;
    serde_json::from_str(&text).map_err(while_doing("the report"))
}
