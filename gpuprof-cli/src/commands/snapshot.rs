//! `gpuprof snapshot`: the profile of a running program so far.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use gpuprof_report::live::Request;
use gpuprof_report::sanitize;

use crate::live::{self, LiveError, ProgramConnection};
use crate::output::{self, Exit, OutputError, complain};

/// Characters of a program's name that a message shows.
const MAX_TARGET: usize = 100;

/// Writes the profile of a running program so far.
///
/// The program must run with GPUPROF_LIVE=1, as the same user, and goes on undisturbed. GPU times
/// that are not read yet count as unfinished.
#[derive(Debug, Args)]
pub(crate) struct SnapshotArguments {
    /// Process id, or file name, of the program
    #[arg(value_name = "PID|PROGRAM")]
    target: String,

    /// File to write the JSON profile to, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &SnapshotArguments) -> Exit {
    write_document(
        &arguments.target,
        Request::Snapshot,
        arguments.output.as_deref(),
        |_| Ok(()),
    )
}

/// Writes what a program answers to a file, or to standard output. `connected` is called before it
/// is asked.
pub(super) fn write_document(
    target: &str,
    request: Request,
    output: Option<&Path>,
    connected: impl FnOnce(&ProgramConnection) -> io::Result<()>,
) -> Exit {
    let mut connection = match live::connect(target) {
        Ok(connection) => connection,
        Err(problem) => {
            complain(problem);
            return Exit::BadInput;
        }
    };
    if let Err(error) = connected(&connection) {
        complain(format_args!("signals cannot be received: {error}"));
    }
    let failed = |error: LiveError| {
        complain(format_args!(
            "{}: {error}",
            sanitize::short(target, MAX_TARGET)
        ));
        Exit::BadInput
    };
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
