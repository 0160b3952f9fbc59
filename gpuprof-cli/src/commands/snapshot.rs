//! `gpuprof snapshot`: the profile of a running program so far, or of the next seconds of one in
//! standby.

use std::io::{self, IsTerminal};
use std::net::Shutdown;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;
use gpuprof_report::live::{MAX_TRACE_MS, Request};
use gpuprof_report::sanitize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::look_arguments::LookArguments;
use crate::live::{self, LiveError, ProgramConnection};
use crate::output::{self, Exit, OutputError, complain};

/// Characters of a program's name that a message shows.
const MAX_TARGET: usize = 100;

/// Writes the profile of a running program so far, or of the next seconds of one in standby.
///
/// The program must run with GPUPROF_LIVE=on or GPUPROF=standby, as the same user, and goes on
/// undisturbed. GPU times that are not read yet count as unfinished. One in standby records what is
/// asked for, for the time of --for: Ctrl-C ends that early and writes what there is; a second one
/// ends the command without a file.
#[derive(Debug, Args)]
pub(crate) struct SnapshotArguments {
    /// Process id, or file name, of the program
    #[arg(value_name = "PID|PROGRAM")]
    target: String,

    /// File to write the JSON profile to, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    look: LookArguments,

    /// How long a program in standby is looked at, such as 500ms, 10s or 2m; at most 10m [default:
    /// 10s]
    #[arg(
        long = "for",
        value_name = "TIME",
        value_parser = duration,
        allow_hyphen_values = true,
        help_heading = "In a program in standby (GPUPROF=standby)"
    )]
    time: Option<Duration>,
}

/// How long is looked if that is not stated.
const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// Runs the command.
pub(crate) fn run(arguments: &SnapshotArguments) -> Exit {
    let request = |connection: &ProgramConnection| match (connection.in_standby, arguments.time) {
        (true, time) => Ok(Request::SnapshotAfter {
            ms: milliseconds(time.unwrap_or(DEFAULT_TIME)),
        }),
        (false, None) => Ok(Request::Snapshot),
        (false, Some(_)) => Err(LiveError::NotInStandby),
    };
    write_document(
        &arguments.target,
        arguments.look,
        request,
        arguments.output.as_deref(),
    )
}

/// Writes what a program answers to `request` to a file, or to standard output.
pub(super) fn write_document(
    target: &str,
    look: LookArguments,
    request: impl FnOnce(&ProgramConnection) -> Result<Request, LiveError>,
    output: Option<&Path>,
) -> Exit {
    let mut connection = match live::connect(target) {
        Ok(connection) => connection,
        Err(problem) => {
            complain(problem);
            return Exit::BadInput;
        }
    };
    let failed = |error: LiveError| {
        let shown = sanitize::short(target, MAX_TARGET);
        match error {
            LiveError::Ended => complain(format_args!(
                "{shown}: the program, or this command, ended before there was an answer; nothing \
                 is written"
            )),
            error => complain(format_args!("{shown}: {error}")),
        }
        Exit::BadInput
    };
    let begun = request(&connection).and_then(|request| {
        look.begin(&mut connection)?;
        Ok(request)
    });
    let request = match begun {
        Ok(request) => request,
        Err(error) => return failed(error),
    };
    if !matches!(request, Request::Snapshot)
        && let Err(error) = end_on_signals(&connection)
    {
        complain(format_args!("signals cannot be received: {error}"));
    }
    tell_of_a_wait(&request);
    let Some(path) = output else {
        let mut text = Vec::new();
        return match connection.document(request, &mut text) {
            Ok(()) => output::write(&text, None),
            Err(error) => failed(error),
        };
    };
    match output::replace(path, |out| connection.document(request, out)) {
        Ok(()) => Exit::Success,
        Err(OutputError::Output(error) | OutputError::Content(LiveError::Output(error))) => {
            output::cannot_write(path, &error)
        }
        Err(OutputError::Content(error)) => failed(error),
    }
}

/// Has a terminal say why there is no answer yet, soon after it is due.
fn tell_of_a_wait(request: &Request) {
    const GRACE: Duration = Duration::from_secs(2);
    let due = match request {
        Request::SnapshotAfter { ms } | Request::Trace { ms, .. } => Duration::from_millis(*ms),
        _ => Duration::ZERO,
    };
    if io::stderr().is_terminal() {
        thread::spawn(move || {
            thread::sleep(due + GRACE);
            complain(
                "waiting for the program, which spends at most 1 % of a processor on answers: one \
                 may come 30 s later",
            );
        });
    }
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
pub(super) fn duration(text: &str) -> Result<Duration, String> {
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

pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
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
