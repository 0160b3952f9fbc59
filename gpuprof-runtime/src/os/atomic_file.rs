//! Writes a report into the file that a setting names: completely or not at all, and never into a
//! file that somebody else chose.
//!
//! The report is written into a new file beside its target, which is then renamed over the target.
//! A reader sees the old report or the new one, a full disk leaves the old one, and a symlink at
//! the target is itself replaced: in a shared folder anyone may have left it.

use std::env;
use std::ffi::c_int;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::iter;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{fd, random, thread_signals, user};

/// The permissions of a new report, which the umask restricts further: readable, because reports
/// are meant to be passed on, and writable for its owner alone.
const NEW_MODE: u32 = 0o644;
/// The permissions that its owner always has.
const OWNER_MODE: u32 = 0o600;

/// Writes `text` to `path`, which may be a file, a pipe, a device or an open descriptor.
///
/// # Errors
/// The system's, with an existing file left as it was. A pipe or device of another user is refused.
pub(crate) fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    write_with(path, |out| out.write_all(text))
}

/// The same of what `write` writes, which is never in memory as a whole if `path` is a file.
///
/// # Errors
/// Those of [`write()`](write), and those of `write`.
pub(crate) fn write_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if let Some(open) = descriptor(path) {
        return fd::write(open, &text(write)?);
    }
    match fs::symlink_metadata(path) {
        Ok(found) if is_special(&found) => write_into(path, &text(write)?),
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(found) if found.is_file() => replace(path, write, mode_like(&found)),
        // Other errors, such as a missing folder, occur again when the file is created.
        _ => replace(path, write, NEW_MODE),
    }
}

fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    write(&mut text).map(|()| text)
}

/// Writes `text` into a new file of the folder for temporary files, which only its owner may read
/// as the folder is everybody's, and returns its path. The name ends with a dot and `extension`.
///
/// # Errors
/// The system's; no file is left then.
pub(crate) fn write_temporary(text: &[u8], extension: &str) -> io::Result<PathBuf> {
    let name = |random: &str| format!("gpuprof-{random}.{extension}");
    let (path, mut file) = create_in(&env::temp_dir(), OWNER_MODE, name)?;
    let written = thread_signals::without_write_signals(|| file.write_all(text));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&path);
    }
    written.map(|()| path)
}

/// Whether writing to `path` replaces what was written before. Pipes, terminals and other open
/// files receive one document after the other instead.
pub(crate) fn is_replaced(path: &Path) -> bool {
    descriptor(path).is_none() && !fs::symlink_metadata(path).is_ok_and(|found| is_special(&found))
}

/// The open descriptor that a path names. Opening the path instead would start again at the
/// beginning of a file that a shell has connected, and fails on a socket.
fn descriptor(path: &Path) -> Option<c_int> {
    match path.to_str()? {
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        path => {
            let number = path
                .strip_prefix("/dev/fd/")
                .or_else(|| path.strip_prefix("/proc/self/fd/"));
            number?.parse().ok().filter(|number| *number >= 0)
        }
    }
}

/// Whether it is a pipe or a character device, such as a terminal or `/dev/null`.
fn is_special(found: &Metadata) -> bool {
    let kind = found.file_type();
    kind.is_fifo() || kind.is_char_device()
}

/// A file of the user's own that was closed to others stays closed to them.
fn mode_like(found: &Metadata) -> u32 {
    if found.uid() == user::effective() {
        NEW_MODE & found.mode() | OWNER_MODE
    } else {
        NEW_MODE
    }
}

fn replace(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    mode: u32,
) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let name = |random: &str| format!(".gpuprof-{random}.tmp");
    let (new_path, new_file) = create_in(folder.unwrap_or(Path::new(".")), mode, name)?;
    let written = thread_signals::without_write_signals(|| {
        let mut buffered = BufWriter::new(new_file);
        write(&mut buffered)?;
        buffered.flush()
    });
    // No fsync: this protects readers, and not against power cuts.
    let replaced = written.and_then(|()| fs::rename(&new_path, path));
    if replaced.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&new_path);
    }
    replaced
}

/// Creates a file in `folder`. Its name is random, so that no other process can create it first,
/// and short, so that it fits wherever the target's name fits.
fn create_in(
    folder: &Path,
    mode: u32,
    name_with: impl Fn(&str) -> String,
) -> io::Result<(PathBuf, File)> {
    const MAX_TRIES: u32 = 100;
    let mut letters = random::generator();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    let mut tries = 0;
    loop {
        tries += 1;
        let name: String = iter::repeat_with(|| letters.alphanumeric())
            .take(6)
            .collect();
        let path = folder.join(name_with(&name));
        match options.open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && tries < MAX_TRIES => {}
            opened => return opened.map(|file| (path, file)),
        }
    }
}

/// Writes into an existing pipe or device. A pipe that another user left at this path would hand
/// them the report; only the administrator can create devices.
fn write_into(path: &Path, text: &[u8]) -> io::Result<()> {
    // Without NONBLOCK, a pipe without a reader would keep the program from ending.
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
    let foreign = found.file_type().is_fifo() && ![0, user::effective()].contains(&found.uid());
    if foreign || !is_special(&found) {
        return Err(io::Error::other("it is another user's"));
    }
    fd::write(file.as_raw_fd(), text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
            assert_eq!(descriptor(Path::new(path)), wanted, "{path}");
        }
    }
}
