//! A process that runs spans continuously is killed at times unrelated to its checkpoints. The
//! calls that it had printed by then are compared with the file that it leaves.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use super::{LIMIT, of_work, send, work};
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, failed_in};
use crate::process::{self, ReportFile};
use crate::runner::own_command;

/// The value of `GPUPROF_CHECKPOINT`.
const INTERVAL: Duration = Duration::from_millis(200);
/// How much older than an interval the file may be, because a busy machine writes it late.
const MAX_DELAY: Duration = Duration::from_millis(500);
/// Time from the first file to the first kill; each further run waits longer by `LATER`.
const FIRST: Duration = Duration::from_millis(600);
const LATER: Duration = Duration::from_millis(37);
/// Pause of the program between two calls.
const PACE: Duration = Duration::from_micros(500);
/// Printed after each call: the number of finished calls and the time in ns.
const PROGRESS_PREFIX: &str = "calls ";

pub(super) fn program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let failed = failed_in("the work");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = gpu.context.new_stream().map_err(&failed)?;
    let began = Instant::now();
    let mut out = std::io::stdout();
    for calls in 1_u64.. {
        work(&gpu, &stream, 20_000).map_err(&failed)?;
        let line = format!("{PROGRESS_PREFIX}{calls} {}\n", began.elapsed().as_nanos());
        out.write_all(line.as_bytes())
            .map_err(failed_in("saying so"))?;
        thread::sleep(PACE);
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let times = if run_mode.short { 2 } else { 10 };
    (0..times)
        .map(|time| kill_and_compare(run_mode, time))
        .collect()
}

fn kill_and_compare(run_mode: &RunMode, time: u32) -> Result<Row, String> {
    let json = ReportFile::new("checkpoint");
    let mut command = own_command(&["program", "checkpoint"], run_mode)?;
    command
        .env("GPUPROF_REPORT", json.setting())
        .env("GPUPROF_CHECKPOINT", INTERVAL.as_secs_f64().to_string());
    let delay = FIRST + LATER * time;
    let (mut written, mut sent) = (None, false);
    let ended = process::watch(command, LIMIT, |id, _| {
        if written.is_none() && fs::exists(json.path()).unwrap_or(false) {
            written = Some(Instant::now());
        }
        if !sent && written.is_some_and(|time| time.elapsed() > delay) {
            send(id, libc::SIGKILL);
            sent = true;
        }
    });
    let ended = ended.map_err(failed_in("the program that is killed"))?;
    let lines = parse_progress(&ended.stdout);
    let Some(&(made, last)) = lines.last().filter(|_| sent) else {
        return Err(format!(
            "no file or no call before the end\n{}",
            ended.tail()
        ));
    };
    // Calls that had finished when the oldest acceptable file was written.
    let cutoff = last.saturating_sub((INTERVAL + MAX_DELAY).as_nanos() as u64);
    let old = lines.iter().take_while(|(_, ns)| *ns <= cutoff).last();
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
    Ok(Row::judged(
        format!("kill -9 {delay:?} after the first checkpoint, one every {INTERVAL:?}"),
        format!("{file}; {made} calls made"),
        format!("whole, {least} to {} calls, some timed", made + 1),
        good && signal == Some(libc::SIGKILL),
    ))
}

/// Calls and ns of each complete line.
fn parse_progress(text: &str) -> Vec<(u64, u64)> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let number = |line: &str| {
        let (calls, ns) = line.strip_prefix(PROGRESS_PREFIX)?.split_once(' ')?;
        Some((calls.parse().ok()?, ns.parse().ok()?))
    };
    whole.lines().filter_map(number).collect()
}
