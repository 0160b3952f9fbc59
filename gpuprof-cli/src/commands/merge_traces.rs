//! The time lines of several ranks as one, for `gpuprof merge`.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use gpuprof_report::trace::{self, Format};

use crate::output::{self, Exit, Failed, complain};

/// How much of a file is looked at to tell what it is.
const HEAD_BYTES: u64 = 64 << 10;

/// The format of the files if they are time lines; `None` if the first one is a profile, or cannot
/// be read.
pub(super) fn format(files: &[PathBuf]) -> Option<Format> {
    let first = files.first()?;
    if Format::from_path(first) == Some(Format::Perfetto) {
        return Some(Format::Perfetto);
    }
    let mut head = Vec::new();
    let file = File::open(first).ok()?;
    file.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    let key = b"\"traceEvents\"";
    let is_trace = head.windows(key.len()).any(|part| part == key);
    is_trace.then_some(Format::ChromeJson)
}

/// Writes the merged time line into a new file beside `output`, and then in its place.
pub(super) fn run(files: &[PathBuf], format: Format, output: &Path) -> Exit {
    let write = |out: &mut dyn Write| match format {
        Format::Perfetto => trace::merge_perfetto(files, out),
        _ => trace::merge_json(files, out),
    };
    match output::replace(output, write) {
        Ok(()) => Exit::Success,
        Err(Failed::Content(error)) => {
            complain(error);
            Exit::BadInput
        }
        Err(Failed::Output(error)) => output::cannot_write(output, &error),
    }
}
