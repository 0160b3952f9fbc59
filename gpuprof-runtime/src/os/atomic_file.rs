//! A report into the file that a setting names: whole or not at all, and never into a file that somebody else chose.
//!
//! The report is written into a new file beside its target and renamed over it. A reader sees the old one or the new one,
//! a full disk leaves the old one, and a symlink at the target is replaced itself: in a shared folder anyone may have left
//! it. Must not import what measures.

use std::ffi::c_int;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::iter;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::os::{fd, thread};

/// What a new report may be: like any file that a program makes, readable to whom the umask allows, because reports are
/// there to be passed on; but whatever the umask says, nobody else can write into it.
const MODE: u32 = 0o644;
/// What its owner can always do with it.
const OWNER: u32 = 0o600;

/// Writes `text` to `path`, whatever that is.
///
/// # Errors
/// The system's, with nothing changed at `path` where that is a file; refused is a pipe or device of another user.
pub(crate) fn write(path: &str, text: &[u8]) -> io::Result<()> {
    if let Some(open) = descriptor(path) {
        return fd::descriptor(open, text);
    }
    match fs::symlink_metadata(path) {
        Ok(found) if is_special(&found) => write_into(path, text),
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(found) if found.is_file() => replace(path, text, mode_like(&found)),
        // What stands in the way here, such as a folder that is not there, shows when the file is made.
        _ => replace(path, text, MODE),
    }
}

/// Whether what is written to `path` replaces what was written before. Pipes, terminals and other open files take one
/// document after the other instead.
pub(crate) fn is_replaced(path: &str) -> bool {
    descriptor(path).is_none() && !fs::symlink_metadata(path).is_ok_and(|found| is_special(&found))
}

/// The open descriptor that a path stands for. Written to as it is: to open the path would begin anew at the start of
/// the file that a shell has connected, and fails on a socket.
fn descriptor(path: &str) -> Option<c_int> {
    match path {
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        _ => {
            let number = path.strip_prefix("/dev/fd/");
            let number = number.or_else(|| path.strip_prefix("/proc/self/fd/"));
            number?.parse().ok().filter(|number| *number >= 0)
        }
    }
}

/// Whether it is a pipe or a character device, such as a terminal or `/dev/null`.
fn is_special(found: &Metadata) -> bool {
    let kind = found.file_type();
    kind.is_fifo() || kind.is_char_device()
}

/// A file of one's own that was closed to others stays closed to them.
fn mode_like(found: &Metadata) -> u32 {
    if found.uid() == effective_user() {
        MODE & found.mode() | OWNER
    } else {
        MODE
    }
}

fn replace(path: &str, text: &[u8], mode: u32) -> io::Result<()> {
    let path = Path::new(path);
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let (new_path, mut new_file) = create_in(folder.unwrap_or(Path::new(".")), mode)?;
    // No fsync: this is for readers, not for power cuts.
    let replaced = thread::without_write_signals(|| new_file.write_all(text))
        .and_then(|()| fs::rename(&new_path, path));
    if replaced.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&new_path);
    }
    replaced
}

/// Creates a file in `folder`. Its name is random, so that nobody can create it first, and short,
/// so that every target has room for a neighbour.
fn create_in(folder: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    const MAX_TRIES: u32 = 100;
    let mut random = fastrand::Rng::new();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    let mut tries = 0;
    loop {
        tries += 1;
        let name: String = iter::repeat_with(|| random.alphanumeric())
            .take(6)
            .collect();
        let path = folder.join(format!(".gpuprof-{name}.tmp"));
        match options.open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && tries < MAX_TRIES => {}
            opened => return opened.map(|file| (path, file)),
        }
    }
}

/// Into a pipe or a device that is there. A pipe that another user left at this path would hand them the report; devices
/// only the administrator can make.
fn write_into(path: &str, text: &[u8]) -> io::Result<()> {
    // Without NONBLOCK a pipe that nobody reads would keep the program from ending.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let opened = OpenOptions::new()
        .write(true)
        .custom_flags(flags)
        .open(path);
    let file: File = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) => io::Error::other("nobody reads from it"),
        _ => error,
    })?;
    let found = file.metadata()?;
    let foreign = found.file_type().is_fifo() && ![0, effective_user()].contains(&found.uid());
    if foreign || !is_special(&found) {
        return Err(io::Error::other("it is another user's"));
    }
    fd::descriptor(file.as_raw_fd(), text)
}

fn effective_user() -> u32 {
    // SAFETY: the call only answers.
    unsafe { libc::geteuid() }
}

#[cfg(test)]
mod tests {
    use super::descriptor;

    #[test]
    fn descriptors_have_their_usual_names() {
        for (path, wanted) in [
            ("/dev/stdout", Some(1)),
            ("/dev/stderr", Some(2)),
            ("/dev/fd/7", Some(7)),
            ("/proc/self/fd/12", Some(12)),
            ("/dev/fd/-1", None),
            ("/dev/fd/", None),
            ("/dev/null", None),
            ("stdout", None),
        ] {
            assert_eq!(descriptor(path), wanted, "{path}");
        }
    }
}
