//! The user that this process runs as, and the one at the other end of a socket.

use std::io::{Error, Result};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// The effective user of the process.
pub(crate) fn effective() -> u32 {
    // SAFETY: the call has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
}

/// Whether the process has rights that the user who started it lacks: of a set-user-id or
/// set-group-id program, or of file capabilities.
pub(crate) fn has_foreign_rights() -> bool {
    // SAFETY: the call has no preconditions, and returns 0 for what the system does not have.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The effective user of the process that connected, at that moment.
///
/// # Errors
/// The system's.
pub(crate) fn peer(stream: &UnixStream) -> Result<u32> {
    let mut found = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the pointers are to a `ucred` and to its length, which the call writes.
    let status = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut length,
        )
    };
    if status != 0 || length as usize != size_of::<libc::ucred>() {
        return Err(Error::last_os_error());
    }
    Ok(found.uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_of_a_pair_is_this_process() {
        let (ours, _theirs) = UnixStream::pair().expect("a pair");
        assert_eq!(peer(&ours).expect("a peer"), effective());
    }
}
