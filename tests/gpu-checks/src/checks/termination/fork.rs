//! A child by fork, without exec, once CUDA is up and has work. It may not use CUDA, and this one
//! does not; all it does is end.

use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{io, thread};

use super::{CALLS, Json, LIMIT, SHORT, of_work, tables, work};
use crate::check::{Row, World};
use crate::device::{self, Gpu, while_doing};
use crate::process::{self, Ended};
use crate::runner::itself;

/// The child's exit status.
const STATUS: i32 = 9;
/// How long the child may take to end; then it is killed.
const PATIENCE: Duration = Duration::from_secs(5);
/// What the parent says of its child's end.
const CHILD: &str = "child: ";

/// At once, as a child should that does not exec.
pub(super) fn leave() -> ! {
    // SAFETY: it ends the process and nothing else.
    unsafe { libc::_exit(STATUS) }
}

/// With its exit handlers: those of the driver and of gpuprof.
pub(super) fn exit() -> ! {
    std::process::exit(STATUS)
}

/// Half of the calls before the fork, with the GPU at work, and half after it.
pub(super) fn scene(world: &World, child: fn() -> !) -> Result<ExitCode, String> {
    device::open(world)?;
    let doing = while_doing("the work");
    let gpu = Gpu::new().map_err(&doing)?;
    let stream = gpu.context.new_stream().map_err(&doing)?;
    work(&gpu, &stream, SHORT).map_err(&doing)?;
    for _ in 1..CALLS / 2 {
        work(&gpu, &stream, 10_000).map_err(&doing)?;
    }
    // SAFETY: the child ends, and does nothing else.
    let id = unsafe { libc::fork() };
    if id == 0 {
        child();
    }
    if id < 0 {
        return Err(format!("fork: {}", io::Error::last_os_error()));
    }
    for _ in CALLS / 2..CALLS {
        work(&gpu, &stream, 10_000).map_err(&doing)?;
    }
    println!("{CHILD}{}", end_of(id));
    stream.synchronize().map_err(&doing)?;
    Ok(ExitCode::SUCCESS)
}

/// How the child ended, as text; one that hangs is killed.
fn end_of(id: libc::pid_t) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut status = 0;
        // SAFETY: the status is writable.
        let waited = unsafe { libc::waitpid(id, &mut status, libc::WNOHANG) };
        if waited != 0 && libc::WIFEXITED(status) {
            return format!("exit status {}", libc::WEXITSTATUS(status));
        }
        if waited != 0 {
            return format!("signal {}", libc::WTERMSIG(status));
        }
        if Instant::now() > deadline {
            // SAFETY: no memory is passed, and the child has not been waited for.
            unsafe { libc::kill(id, libc::SIGKILL) };
            return format!("hung for {PATIENCE:?}");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

pub(super) fn run(world: &World) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (scene, what) in [
        ("fork-child-leaves", "a child that leaves by _exit"),
        ("fork-child-exits", "a child that calls exit"),
    ] {
        rows.extend(forked(world, scene, what)?);
    }
    Ok(rows)
}

fn forked(world: &World, scene: &str, what: &str) -> Result<Vec<Row>, String> {
    let json = Json::new(scene);
    let mut command = itself(&["play", scene], world)?;
    command.env("GPUPROF_REPORT", json.setting());
    let with = process::run(command, LIMIT).map_err(while_doing(scene))?;
    let mut command = itself(&["play", scene], world)?;
    command.env("GPUPROF", "off");
    let without = process::run(command, LIMIT).map_err(while_doing(scene))?;

    let (child, bare) = (child(&with), child(&without));
    let profile = json
        .read()
        .map_err(|error| format!("{error}\n{}", with.tail()))?;
    let (calls, timed, unfinished) = of_work(&profile);
    let (ended, tables) = (with.trouble(), tables(&with));
    Ok(vec![
        Row::held(
            format!("{what}: its end"),
            child,
            format!("{bare}, as without gpuprof"),
            child == bare && child != NOTHING,
        ),
        Row::held(
            format!("{what}: its parent's end and report"),
            format!(
                "{}, {tables} table(s), {calls} calls = {timed} timed + {unfinished} not finished",
                ended.as_deref().unwrap_or("well")
            ),
            format!("well, 1 table(s), {CALLS} calls, all timed"),
            ended.is_none() && tables == 1 && (calls, timed) == (CALLS, CALLS),
        ),
    ])
}

const NOTHING: &str = "nothing said";

fn child(ended: &Ended) -> &str {
    let mut lines = ended.stdout.lines();
    lines
        .find_map(|line| line.strip_prefix(CHILD))
        .unwrap_or(NOTHING)
}
