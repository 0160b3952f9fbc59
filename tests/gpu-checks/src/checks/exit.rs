//! Promise: however a process ends, with work queued on the GPU, the report comes once, accounts
//! for every call, leaves the exit status as it is and waits no longer than it was told to.
//!
//! Each end is a process of its own, which says when it leaves; what comes after that is gpuprof's
//! and the driver's.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs};

use cudarc::driver::{CudaSlice, CudaStream, DriverError};
use gpuprof::{Profile, gpu_profile};

use super::Scene;
use crate::check::{Check, Row, World};
use crate::device::{self, Gpu, while_doing};
use crate::process::{self, Ended};
use crate::runner::itself;

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "exit",
    promise: "The report comes at every end with GPU work queued, within the exit wait, and \
        changes no status.",
    limit: Duration::from_secs(240),
    run,
}];

/// The ends that a process can take, by name.
pub(crate) const SCENES: &[Scene] = &[
    ("exit-return", |world| {
        drop(queue(world, SHORT)?);
        Ok(ExitCode::from(3))
    }),
    ("exit-panic", |world| {
        let _queued = queue(world, SHORT)?;
        panic!("as planned");
    }),
    ("exit-call", |world| {
        let _queued = queue(world, SHORT)?;
        std::process::exit(3);
    }),
    ("exit-thread", |world| {
        let _queued = queue(world, SHORT)?;
        thread::spawn(|| std::process::exit(3));
        loop {
            thread::park();
        }
    }),
    ("exit-unfinished", |world| {
        // The context must not be dropped here: that waits for the kernel, with or without gpuprof.
        let _queued = queue(world, LONG)?;
        std::process::exit(3);
    }),
];

/// Annotated launches before the end.
const CALLS: u64 = 2_000;
/// Of these, how many stand behind a kernel that runs when the process leaves. Few enough for every
/// driver's queue.
const BEHIND: u64 = 100;
/// That kernel's length in ns: over long before the exit waits are.
const SHORT: u64 = 150_000_000;
/// The same, longer than the wait.
const LONG: u64 = 3_000_000_000;
const LIMIT: Duration = Duration::from_secs(40);
/// What leaving may take besides the wait and the driver's own end: the report, on a busy machine.
const MARGIN: Duration = Duration::from_secs(1);
/// A line that a scene prints as its last act, with the time.
const LEAVING: &str = "leaving at ";
/// A line that it prints where it leaves nothing behind, for then it shows nothing.
const IDLE: &str = "nothing queued";

/// One way to end: its scene, its status, and what happens to the queued work.
struct End {
    what: &'static str,
    scene: &'static str,
    status: i32,
    wait: Duration,
    /// Whether all queued work is over before the wait is.
    finishes: bool,
}

const fn end(what: &'static str, scene: &'static str, status: i32) -> End {
    End {
        what,
        scene,
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

fn run(world: &World) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for end in &ENDS {
        rows.extend(take(end, world)?);
    }
    Ok(rows)
}

/// Lets the scene end and looks at its status, its report and the time it took.
fn take(end: &End, world: &World) -> Result<Vec<Row>, String> {
    let json = env::temp_dir().join(format!(
        "gpu-checks-{}-{}.json",
        end.scene,
        std::process::id()
    ));
    let mut command = itself(&["play", end.scene], world)?;
    command
        .env("GPUPROF_REPORT", format!("table,json={}", json.display()))
        .env("GPUPROF_EXIT_WAIT", format!("{}ms", end.wait.as_millis()));
    let ended = process::run(command, LIMIT).map_err(while_doing(end.scene))?;
    let now = SystemTime::now();
    let profile = read(&json);
    // Without gpuprof, for what the driver's own end takes.
    let mut bare = itself(&["play", end.scene], world)?;
    bare.env("GPUPROF", "off");
    let bare_ended = process::run(bare, LIMIT).map_err(while_doing(end.scene))?;
    let bare = left(&bare_ended, SystemTime::now());
    let profile = profile.map_err(|error| format!("{}: {error}\n{}", end.scene, ended.tail()))?;
    Ok(vec![
        status(end, &ended),
        counts(end, &profile),
        duration(end, left(&ended, now), bare),
    ])
}

fn status(end: &End, ended: &Ended) -> Row {
    let code = ended.status.and_then(|status| status.code());
    let tables = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("gpuprof: ") && line.contains(" · wall "))
        .count();
    let queued = !ended.stderr.contains(IDLE);
    let work = if queued { "work queued" } else { IDLE };
    Row::held(
        format!("{}: status and report", end.what),
        match ended.status {
            Some(status) => format!("{work}, {status}, {tables} table(s)"),
            None => "killed: it hung".into(),
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
    Row::held(
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
        return Row::held(what, "it never said that it leaves", "a time", false);
    };
    // Where the work is over early the wait must be too.
    let wait = if end.finishes {
        Duration::from_nanos(SHORT)
    } else {
        end.wait
    };
    let allowed = bare + wait + MARGIN;
    Row::held(
        what,
        format!("{left:.0?}; without gpuprof {bare:.0?}"),
        format!("under {allowed:.1?}"),
        left < allowed,
    )
}

/// Time since the scene said that it leaves.
fn left(ended: &Ended, now: SystemTime) -> Option<Duration> {
    let line = ended
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix(LEAVING))?;
    let at = UNIX_EPOCH + Duration::from_nanos(line.parse().ok()?);
    now.duration_since(at).ok()
}

fn read(path: &PathBuf) -> Result<Profile, String> {
    let text = fs::read_to_string(path).map_err(while_doing("the report"))?;
    // It stays in the folder for temporary files otherwise, which does no harm.
    let _ = fs::remove_file(path);
    serde_json::from_str(&text).map_err(while_doing("the report"))
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

/// What must live until the process ends, so that nothing waits for the device before that.
type Queued = (Gpu, Arc<CudaStream>, CudaSlice<f32>, CudaSlice<f32>);

/// Queues the launches, a kernel of `ns` before the last of them, and says that the process leaves.
fn queue(world: &World, ns: u64) -> Result<Box<Queued>, String> {
    device::open(world)?;
    let queued = try_queue(world, ns).map_err(while_doing("queueing"))?;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_err(|error| error.to_string())?;
    println!("{LEAVING}{}", now.as_nanos());
    Ok(queued)
}

fn try_queue(world: &World, ns: u64) -> Result<Box<Queued>, DriverError> {
    let gpu = Gpu::new()?;
    let stream = gpu.context.new_stream()?;
    let n = if world.simulated { 256 } else { 1 << 22 };
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
