//! A process that runs spans all the time is killed at moments that have nothing to do with its
//! checkpoints; what it had said of its calls by then is held against the file that it leaves.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use super::{Json, LIMIT, of_work, send, work};
use crate::check::{Row, World};
use crate::device::{self, Gpu, while_doing};
use crate::process;
use crate::runner::itself;

/// `GPUPROF_CHECKPOINT`.
const INTERVAL: Duration = Duration::from_millis(200);
/// How much older than an interval the file may be: a busy machine writes it late.
const LATE: Duration = Duration::from_millis(500);
/// From the first file to the kill; each run waits so much longer than the one before it.
const FIRST: Duration = Duration::from_millis(600);
const LATER: Duration = Duration::from_millis(37);
/// A pause of the program between two calls.
const PACE: Duration = Duration::from_micros(500);
/// What it says each time: how many calls are over, after how many ns.
const SAID: &str = "calls ";

pub(super) fn scene(world: &World) -> Result<ExitCode, String> {
    device::open(world)?;
    let doing = while_doing("the work");
    let gpu = Gpu::new().map_err(&doing)?;
    let stream = gpu.context.new_stream().map_err(&doing)?;
    let began = Instant::now();
    let mut out = std::io::stdout();
    for calls in 1_u64.. {
        work(&gpu, &stream, 20_000).map_err(&doing)?;
        let line = format!("{SAID}{calls} {}\n", began.elapsed().as_nanos());
        out.write_all(line.as_bytes())
            .map_err(while_doing("saying so"))?;
        thread::sleep(PACE);
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run(world: &World) -> Result<Vec<Row>, String> {
    let times = if world.short { 2 } else { 10 };
    (0..times).map(|time| killed(world, time)).collect()
}

fn killed(world: &World, time: u32) -> Result<Row, String> {
    let json = Json::new("checkpoint");
    let mut command = itself(&["play", "checkpoint"], world)?;
    command
        .env("GPUPROF_REPORT", json.setting())
        .env("GPUPROF_CHECKPOINT", INTERVAL.as_secs_f64().to_string());
    let delay = FIRST + LATER * time;
    let (mut written, mut sent) = (None, false);
    let ended = process::watch(command, LIMIT, |id, _| {
        if written.is_none() && fs::exists(json.path()).unwrap_or(false) {
            written = Some(Instant::now());
        }
        if !sent && written.is_some_and(|at| at.elapsed() > delay) {
            send(id, libc::SIGKILL);
            sent = true;
        }
    });
    let ended = ended.map_err(while_doing("the program that is killed"))?;
    let lines = said(&ended.stdout);
    let Some(&(made, last)) = lines.last().filter(|_| sent) else {
        return Err(format!(
            "no file or no call before the end\n{}",
            ended.tail()
        ));
    };
    // Calls that were over when the oldest file that is good enough was written.
    let at = last.saturating_sub((INTERVAL + LATE).as_nanos() as u64);
    let old = lines.iter().take_while(|(_, ns)| *ns <= at).last();
    let least = old.map_or(0, |(calls, _)| *calls);
    let signal = ended.status.and_then(|status| status.signal());
    let (file, good) = match json.read() {
        Err(error) => (error, false),
        Ok(profile) => {
            let (calls, timed, unfinished) = of_work(&profile);
            let good = calls > 0 && calls >= least && calls <= made + 1;
            (
                format!("whole, {calls} calls = {timed} timed + {unfinished} not finished"),
                good && timed + unfinished == calls && timed > 0,
            )
        }
    };
    Ok(Row::held(
        format!("kill -9 {delay:?} after the first checkpoint, one every {INTERVAL:?}"),
        format!("{file}; {made} calls made"),
        format!("whole, {least} to {} calls, some timed", made + 1),
        good && signal == Some(libc::SIGKILL),
    ))
}

/// Calls and ns of each whole line.
fn said(text: &str) -> Vec<(u64, u64)> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let number = |line: &str| {
        let (calls, ns) = line.strip_prefix(SAID)?.split_once(' ')?;
        Some((calls.parse().ok()?, ns.parse().ok()?))
    };
    whole.lines().filter_map(number).collect()
}
