//! The time lines of several ranks as one, for `gpuprof merge`.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use gpuprof_report::trace::{self, Format, MergeError};

use crate::input::shown;
use crate::output::{Exit, complain};

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
    match merge(files, format, output) {
        Ok(()) => Exit::Success,
        Err(Failed::Merge(error)) => {
            complain(error);
            Exit::BadInput
        }
        Err(Failed::Output(error)) => {
            complain(format_args!(
                "{}: cannot be written: {error}",
                shown(output)
            ));
            Exit::BadInput
        }
    }
}

enum Failed {
    Merge(MergeError),
    Output(io::Error),
}

fn merge(files: &[PathBuf], format: Format, output: &Path) -> Result<(), Failed> {
    let write = |out: &mut dyn Write| match format {
        Format::Perfetto => trace::merge_perfetto(files, out),
        _ => trace::merge_json(files, out),
    };
    // A link stays one, and so does a device.
    let target = output.canonicalize().unwrap_or_else(|_| output.to_owned());
    if target.metadata().is_ok_and(|found| !found.is_file()) {
        let mut opened = File::create(&target).map_err(Failed::Output)?;
        return write(&mut opened).map_err(Failed::Merge);
    }
    let folder = target.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    // As the user's umask has it, and not for them alone.
    let mode = fs::Permissions::from_mode(0o666);
    let merged = tempfile::Builder::new()
        .permissions(mode)
        .tempfile_in(folder);
    let mut merged = merged.map_err(Failed::Output)?;
    write(&mut merged).map_err(Failed::Merge)?;
    let merged = merged.persist(&target);
    merged
        .map(drop)
        .map_err(|failed| Failed::Output(failed.error))
}
