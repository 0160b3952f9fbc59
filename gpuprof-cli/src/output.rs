//! Writing results to standard output or a file, messages to standard error, and exit codes.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;

use clap::ColorChoice;
use gpuprof_report::table::TableOptions;
use gpuprof_report::variables::{LIMIT, SORT};
use rustix::fs::Access;

use crate::input;

/// Rows of a report's call tree without a limit that the user has stated.
pub(crate) const ROWS: usize = 30;

/// Reads a number of rows.
pub(crate) fn row_count(text: &str) -> Result<usize, &'static str> {
    let rows = text.parse();
    rows.map_err(|_| "it takes a whole number of rows, such as 30")
}

/// How a command ends; of several parts, the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    Success,
    /// The answer is negative: nothing matches, or something is missing.
    Negative,
    /// Bad input, wrong arguments, or a file that cannot be written.
    BadInput,
    /// The question is not decided.
    Undecided,
    /// As a program ended, or could not be started.
    Program(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => Self::SUCCESS,
            Exit::Negative => Self::from(1),
            Exit::BadInput => Self::from(2),
            Exit::Undecided => Self::from(3),
            Exit::Program(code) => Self::from(code),
        }
    }
}

/// The width of a terminal that does not report one, without `COLUMNS`.
const FALLBACK_WIDTH: usize = 80;

/// Writes a result to the file, or to standard output without one.
///
/// The text is complete before the file is touched. A reader that closes the pipe has seen enough:
/// that is no failure.
pub(crate) fn write(result: &[u8], file: Option<&Path>) -> Exit {
    let written = match file {
        Some(path) => fs::write(path, result),
        None => to_standard_output(result),
    };
    match (written, file) {
        (Ok(()), _) => Exit::Success,
        (Err(error), None) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Success,
        (Err(error), None) => {
            complain(format_args!("cannot write to standard output: {error}"));
            Exit::BadInput
        }
        (Err(error), Some(path)) => cannot_write(path, &error),
    }
}

fn to_standard_output(result: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(result)?;
    out.flush()
}

/// Why a file could not be written.
pub(crate) enum OutputError<E> {
    /// What was to be written could not be made.
    Content(E),
    /// The file.
    Output(io::Error),
}

/// Writes into a new file beside `output`, and then in its place: a failure leaves what was there.
pub(crate) fn replace<E>(
    output: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), OutputError<E>> {
    // A link stays one, and so does a device.
    let target = output.canonicalize().unwrap_or_else(|_| output.to_owned());
    if target.metadata().is_ok_and(|found| !found.is_file()) {
        let mut opened = File::create(&target).map_err(OutputError::Output)?;
        return write(&mut opened).map_err(OutputError::Content);
    }
    let folder = target
        .parent()
        .filter(|folder| *folder != Path::new(""))
        .unwrap_or(Path::new("."));
    // The errors of the temporary file name that file.
    rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| OutputError::Output(error.into()))?;
    // As the user's umask has it, and not for them alone.
    let mode = fs::Permissions::from_mode(0o666);
    let mut written = tempfile::Builder::new()
        .permissions(mode)
        .tempfile_in(folder)
        .map_err(|error| OutputError::Output(error.kind().into()))?;
    write(&mut written).map_err(OutputError::Content)?;
    let written = written.persist(&target);
    written
        .map(drop)
        .map_err(|failed| OutputError::Output(failed.error))
}

/// Reports that `output` cannot be written.
pub(crate) fn cannot_write(output: &Path, error: &io::Error) -> Exit {
    complain(format_args!(
        "{}: cannot be written: {error}",
        input::shown(output)
    ));
    Exit::BadInput
}

/// Writes one line to standard error.
pub(crate) fn complain(message: impl Display) {
    // There is nowhere left to report a failure to.
    let _ = writeln!(io::stderr(), "gpuprof: {message}");
}

/// Width and colour of a report for standard output, or for a file.
///
/// The width is what the terminal reports; without a terminal, or if it reports none, the number in
/// `COLUMNS`; without that, 80 columns for a terminal and none for a pipe. A file has none. The
/// automatic colour is for terminals, unless `NO_COLOR` is set or `TERM` is `dumb`.
pub(crate) fn table_options(color: ColorChoice, into_file: bool) -> TableOptions {
    let mut options = if into_file {
        TableOptions::default()
    } else {
        options_for(&io::stdout())
    };
    options.full_report = Some("--format full");
    match color {
        ColorChoice::Always => options.color = true,
        ColorChoice::Never => options.color = false,
        ColorChoice::Auto => {}
    }
    options
}

/// The report that a program with our environment would write to standard error.
pub(crate) fn table_options_for_stderr() -> TableOptions {
    let mut options = options_for(&io::stderr());
    if let Some(sort) = stated(SORT) {
        options.sort = sort;
    }
    options.limit = NonZeroUsize::new(stated(LIMIT).unwrap_or(ROWS));
    options
}

/// The value of a variable; the program has said what is wrong with one that is not understood.
fn stated<T: FromStr>(variable: &str) -> Option<T> {
    std::env::var(variable).ok()?.trim().parse().ok()
}

fn options_for(stream: &(impl IsTerminal + AsFd)) -> TableOptions {
    let terminal = stream.is_terminal();
    let mut options = TableOptions::default();
    let reported = terminal.then(|| terminal_columns(stream)).flatten();
    let fallback = terminal.then_some(FALLBACK_WIDTH);
    options.width = reported.or_else(stated_columns).or(fallback);
    options.color = terminal && !is_color_refused();
    options
}

fn terminal_columns(stream: &impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// The width that the variable `COLUMNS` states; any text but a whole number from 1 is ignored.
fn stated_columns() -> Option<usize> {
    let columns: NonZeroUsize = std::env::var("COLUMNS").ok()?.parse().ok()?;
    Some(columns.get())
}

/// Whether `NO_COLOR` (<https://no-color.org>) or a dumb terminal forbids colour.
fn is_color_refused() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    refused || std::env::var_os("TERM").is_some_and(|value| value == "dumb")
}
