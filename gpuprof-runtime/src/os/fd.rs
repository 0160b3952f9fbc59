//! Bytes into a descriptor, to the end, whatever it is connected to.
//!
//! Must not import what measures.

use std::ffi::c_int;
use std::io::{Error, ErrorKind, Result};

use crate::os::thread;

const STDERR: c_int = 2;

/// How long a non-blocking descriptor may take nothing before it is given up, in milliseconds. A blocking one waits for
/// its reader as the program's own writes do.
const STALLED_MS: c_int = 5_000;

/// Writes to descriptor 2 itself: `std::io::stderr` takes a lock that a thread stopped by the exit may hold for ever.
/// Where standard error is closed or nobody reads it, there is nobody to tell.
pub(crate) fn stderr(text: &[u8]) {
    let _ = descriptor(STDERR, text);
}

/// Writes all of `text` to an open descriptor.
///
/// # Errors
/// The system's; [`ErrorKind::TimedOut`] for a non-blocking descriptor that took nothing for five seconds.
pub(crate) fn descriptor(descriptor: c_int, text: &[u8]) -> Result<()> {
    thread::without_write_signals(|| write_all(descriptor, text))
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
                    ErrorKind::WouldBlock => wait_for_room(descriptor)?,
                    _ => return Err(error),
                }
            }
        }
    }
    Ok(())
}

/// Waits until a non-blocking descriptor takes something again.
fn wait_for_room(descriptor: c_int) -> Result<()> {
    let mut ask = libc::pollfd {
        fd: descriptor,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: the pointer is to one pollfd.
    match unsafe { libc::poll(&mut ask, 1, STALLED_MS) } {
        0 => Err(ErrorKind::TimedOut.into()),
        // What went wrong shows in the next write.
        _ => Ok(()),
    }
}
