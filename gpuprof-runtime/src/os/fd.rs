//! Open descriptors: writes all bytes, whatever a descriptor is connected to.

use std::ffi::c_int;
use std::io::{Error, ErrorKind, Result};
use std::mem;

use super::thread_signals;

pub(crate) const STDERR: c_int = 2;

/// How long a non-blocking descriptor may accept nothing before writing fails, in milliseconds. A
/// blocking one waits for its reader as the program's own writes do.
const STALLED_MS: c_int = 5_000;

/// Writes to descriptor 2 itself: `std::io::stderr` takes a lock that a thread stopped by the exit
/// may hold for ever. Errors are dropped, because there is nowhere else to report them.
pub(crate) fn stderr(text: &[u8]) {
    let _ = write(STDERR, text);
}

/// Writes all of `text` to an open descriptor.
///
/// # Errors
/// The system's; [`ErrorKind::TimedOut`] for a non-blocking descriptor that accepted nothing for
/// five seconds.
pub(crate) fn write(descriptor: c_int, text: &[u8]) -> Result<()> {
    thread_signals::without_write_signals(|| write_all(descriptor, text))
}

fn write_all(descriptor: c_int, mut text: &[u8]) -> Result<()> {
    while !text.is_empty() {
        // SAFETY: the pointer and the length are of one live slice.
        let written = unsafe { libc::write(descriptor, text.as_ptr().cast(), text.len()) };
        match usize::try_from(written) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => text = text.get(written..).unwrap_or_default(),
            Err(_) => {
                let error = Error::last_os_error();
                match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock => wait_until_writable(descriptor)?,
                    _ => return Err(error),
                }
            }
        }
    }
    Ok(())
}

fn wait_until_writable(descriptor: c_int) -> Result<()> {
    let mut request = libc::pollfd {
        fd: descriptor,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: the pointer is to one pollfd.
    match unsafe { libc::poll(&mut request, 1, STALLED_MS) } {
        0 => Err(ErrorKind::TimedOut.into()),
        // An error shows in the next write.
        _ => Ok(()),
    }
}

/// The columns of a terminal. `None` if the descriptor is none, or the terminal does not report
/// them.
pub(crate) fn columns(terminal: c_int) -> Option<usize> {
    // SAFETY: all-zero bytes are a valid `winsize`.
    let mut size: libc::winsize = unsafe { mem::zeroed() };
    // SAFETY: TIOCGWINSZ writes one `winsize` to the pointer.
    let status = unsafe { libc::ioctl(terminal, libc::TIOCGWINSZ, &raw mut size) };
    (status == 0 && size.ws_col > 0).then_some(size.ws_col.into())
}

/// What a descriptor is open to: device and inode.
pub(crate) fn identity(descriptor: c_int) -> Option<(u64, u64)> {
    // SAFETY: all-zero bytes are a valid `stat`.
    let mut found: libc::stat = unsafe { mem::zeroed() };
    // SAFETY: fstat writes one `stat` to the pointer.
    let status = unsafe { libc::fstat(descriptor, &raw mut found) };
    (status == 0).then_some((found.st_dev, found.st_ino))
}

/// Closes a descriptor if it is still open to `wanted`: the program may have closed it, and opened
/// another file under its number. For a forked child, in which the owning thread does not run.
pub(crate) fn close_in_forked_child(descriptor: c_int, wanted: (u64, u64)) {
    if identity(descriptor) == Some(wanted) {
        // SAFETY: the descriptor is open, and nothing in this process uses it again.
        unsafe { libc::close(descriptor) };
    }
}
