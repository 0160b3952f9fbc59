//! Waiting for several descriptors at once.

use std::io::{Error, ErrorKind, Result};
use std::time::Duration;

/// Waits until one of `requests` is ready, at most `limit`. Sets what is ready in each.
///
/// # Errors
/// The system's; a signal counts as the end of the wait.
pub(crate) fn wait(requests: &mut [libc::pollfd], limit: Option<Duration>) -> Result<()> {
    // Rounded up: a deadline must have passed after the wait for it.
    let ms = limit.map_or(-1, |limit| {
        i32::try_from(limit.as_millis().saturating_add(1)).unwrap_or(i32::MAX)
    });
    let count = requests.len() as libc::nfds_t;
    // SAFETY: the pointer and the length are of one live slice of pollfd.
    let ready = unsafe { libc::poll(requests.as_mut_ptr(), count, ms) };
    if ready >= 0 {
        return Ok(());
    }
    let error = Error::last_os_error();
    match error.kind() {
        ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}
