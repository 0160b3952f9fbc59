//! A child created by fork without exec, while CUDA has work. The child may not use CUDA and only
//! ends.

use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{io, thread};

use super::{CALLS, LIMIT, SHORT, of_work, tables, work};
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, failed_in};
use crate::process::{self, Finished, ReportFile};
use crate::runner::own_command;

/// The child's exit status.
const STATUS: i32 = 9;
/// Time limit of the child, which is then killed.
const PATIENCE: Duration = Duration::from_secs(5);
/// How the parent's line about the child begins.
const CHILD: &str = "child: ";

/// Ends immediately, as a child without exec should.
pub(super) fn leave() -> ! {
    // SAFETY: `_exit` only ends the process.
    unsafe { libc::_exit(STATUS) }
}

/// Ends with its exit handlers, the driver's and gpuprof's.
pub(super) fn exit() -> ! {
    std::process::exit(STATUS)
}

/// Half of the calls are made before the fork, with the GPU at work, and half after it.
pub(super) fn program(run_mode: &RunMode, child: fn() -> !) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let failed = failed_in("the work");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = gpu.context.new_stream().map_err(&failed)?;
    work(&gpu, &stream, SHORT).map_err(&failed)?;
    for _ in 1..CALLS / 2 {
        work(&gpu, &stream, 10_000).map_err(&failed)?;
    }
    // SAFETY: the child only ends.
    let id = unsafe { libc::fork() };
    if id == 0 {
        child();
    }
    if id < 0 {
        return Err(format!("fork: {}", io::Error::last_os_error()));
    }
    for _ in CALLS / 2..CALLS {
        work(&gpu, &stream, 10_000).map_err(&failed)?;
    }
    println!("{CHILD}{}", end_of(id));
    stream.synchronize().map_err(&failed)?;
    Ok(ExitCode::SUCCESS)
}

/// How the child ended, as text; a child that hangs is killed.
fn end_of(id: libc::pid_t) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut status = 0;
        // SAFETY: `status` is writable.
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

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (program, what) in [
        ("fork-child-leaves", "a child that leaves by _exit"),
        ("fork-child-exits", "a child that calls exit"),
    ] {
        rows.extend(check_child(run_mode, program, what)?);
    }
    Ok(rows)
}

fn check_child(run_mode: &RunMode, program: &str, what: &str) -> Result<Vec<Row>, String> {
    let json = ReportFile::new(program);
    let mut command = own_command(&["program", program], run_mode)?;
    command.env("GPUPROF_REPORT", json.setting());
    let with = process::run(command, LIMIT).map_err(failed_in(program))?;
    let mut command = own_command(&["program", program], run_mode)?;
    command.env("GPUPROF", "off");
    let without = process::run(command, LIMIT).map_err(failed_in(program))?;

    let (child, bare) = (child(&with), child(&without));
    let profile = json
        .read()
        .map_err(|error| format!("{error}\n{}", with.tail()))?;
    let (calls, timed, unfinished) = of_work(&profile);
    let (ended, tables) = (with.failure(), tables(&with));
    Ok(vec![
        Row::judged(
            format!("{what}: its end"),
            child,
            format!("{bare}, as without gpuprof"),
            child == bare && child != NOTHING,
        ),
        Row::judged(
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

fn child(ended: &Finished) -> &str {
    let mut lines = ended.stdout.lines();
    lines
        .find_map(|line| line.strip_prefix(CHILD))
        .unwrap_or(NOTHING)
}
