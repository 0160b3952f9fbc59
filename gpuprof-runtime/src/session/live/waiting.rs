//! Waits until a viewer has what it asked for, or wants no more.

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::os::poll;

/// Waits for `limit`, or until the viewer has had enough and shut down its side. Returns whether it
/// still reads.
pub(super) fn wait(limit: Duration, viewer: &UnixStream) -> bool {
    let until = Instant::now() + limit;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        let mut requests = [libc::pollfd {
            fd: viewer.as_raw_fd(),
            events: libc::POLLRDHUP,
            revents: 0,
        }];
        let [request] = match poll::wait(&mut requests, Some(left)) {
            Ok(()) => requests,
            Err(_) => return false,
        };
        if request.revents != 0 {
            return request.revents & libc::POLLHUP == 0;
        }
    }
}
