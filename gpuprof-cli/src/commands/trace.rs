//! `gpuprof trace`: the time line of the next seconds of a running program.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use gpuprof_report::live::Request;
use gpuprof_report::trace::TraceFileFormat;

use super::look_arguments::LookArguments;
use super::snapshot::{duration, milliseconds, write_document};
use crate::output::{Exit, complain};

/// Records the time line of the next seconds of a running program.
///
/// The program must run with GPUPROF_LIVE=on or GPUPROF=standby, as the same user, with the feature
/// trace of the crate gpuprof. It records only meanwhile. The time line has the calls that begin in
/// this time and have ended when it is made, and what the GPU does for them. Ctrl-C ends the
/// recording and writes what there is; a second one ends the command without a file.
#[derive(Debug, Args)]
pub(crate) struct TraceArguments {
    /// Process id, or file name, of the program
    #[arg(value_name = "PID|PROGRAM")]
    target: String,

    /// How long to record, such as 500ms, 5s or 2m; at most 10m
    #[arg(
        long = "for",
        value_name = "TIME",
        default_value = "5s",
        value_parser = duration,
        allow_hyphen_values = true
    )]
    time: Duration,

    /// File to write: .json for Chrome's format, .pftrace for Perfetto's
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    look: LookArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &TraceArguments) -> Exit {
    let Some(format) = TraceFileFormat::from_path(&arguments.output) else {
        complain("the file of a time line is named .json or .pftrace");
        return Exit::BadInput;
    };
    let ms = milliseconds(arguments.time);
    let request = Request::Trace { ms, format };
    write_document(
        &arguments.target,
        arguments.look,
        |_| Ok(request),
        Some(&arguments.output),
    )
}
