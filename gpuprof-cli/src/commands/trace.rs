//! `gpuprof trace`: the time line of the next seconds of a running program.

use std::io;
use std::net::Shutdown;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::Args;
use gpuprof_report::live::{MAX_TRACE_MS, Request, TraceFormat};
use gpuprof_report::trace::TraceFileFormat;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::snapshot::write_document;
use crate::live::ProgramConnection;
use crate::output::{Exit, complain};

/// Records the time line of the next seconds of a running program.
///
/// The program must run with GPUPROF_LIVE=1, as the same user, with the feature trace of the crate
/// gpuprof. It records only meanwhile. The time line has the calls that begin in this time and have
/// ended when it is made, and what the GPU does for them. Ctrl-C ends the recording and writes what
/// there is; a second one ends the command without a file.
#[derive(Debug, Args)]
pub(crate) struct TraceArguments {
    /// Process id, or file name, of the program
    #[arg(value_name = "PID|PROGRAM")]
    target: String,

    /// How long to record, such as 500ms, 5s or 2m; at most 10m
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = duration)]
    time: Duration,

    /// File to write: .json for Chrome's format, .pftrace for Perfetto's
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Runs the command.
pub(crate) fn run(arguments: &TraceArguments) -> Exit {
    let format = match TraceFileFormat::from_path(&arguments.output) {
        Some(TraceFileFormat::ChromeJson) => TraceFormat::Json,
        Some(TraceFileFormat::Perfetto) => TraceFormat::Perfetto,
        _ => {
            complain("the file of a time line is named .json or .pftrace");
            return Exit::BadInput;
        }
    };
    let ms = u64::try_from(arguments.time.as_millis()).unwrap_or(u64::MAX);
    let request = Request::Trace { ms, format };
    write_document(
        &arguments.target,
        request,
        Some(&arguments.output),
        end_on_signals,
    )
}

/// Lets the first SIGINT or SIGTERM end the recording, and the second one the connection.
fn end_on_signals(connection: &ProgramConnection) -> io::Result<()> {
    let socket = connection.socket()?;
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::spawn(move || {
        let mut how = Shutdown::Write;
        for _ in signals.forever() {
            // It may have ended by itself.
            let _ = socket.shutdown(how);
            how = Shutdown::Both;
        }
    });
    Ok(())
}

/// A number of milliseconds, seconds or minutes.
fn duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000)];
    let unit = units.iter().find(|(unit, _)| text.ends_with(unit));
    let parsed = unit.and_then(|(unit, ms)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(*ms)
    });
    match parsed {
        Some(ms) if (1..=MAX_TRACE_MS).contains(&ms) => Ok(Duration::from_millis(ms)),
        _ => Err("a time such as 500ms, 5s or 2m, at most 10m".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_a_limit() {
        for (text, ms) in [("500ms", 500), ("5s", 5_000), ("10m", 600_000), ("1ms", 1)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)));
        }
        for text in [
            "",
            "5",
            "s",
            "0s",
            "-1s",
            "11m",
            "600001ms",
            "1.5s",
            "5 s",
            "99999999999999999999m",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
