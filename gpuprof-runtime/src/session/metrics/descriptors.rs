//! What a forked child closes: it would keep the port and never answer, and a client would not see
//! the end of the parent.

use std::fs;
use std::os::fd::{AsRawFd, RawFd};

use tokio::net::TcpStream;

use crate::os::noted_descriptor::NotedDescriptor;

/// Clients at once. One more takes the place of the one that has not sent its request for longest.
pub(super) const MAX_CONNECTIONS: usize = 16;

static LISTENER: NotedDescriptor = NotedDescriptor::new();
/// What the thread waits on: tokio has two epoll descriptors, one of what wakes it, and with its
/// feature `signal` a copy of the socket that all its runtimes share.
static WAITING: [NotedDescriptor; 4] = [const { NotedDescriptor::new() }; 4];
/// A connection has two.
static CONNECTIONS: [[NotedDescriptor; 2]; MAX_CONNECTIONS] =
    [const { [const { NotedDescriptor::new() }; 2] }; MAX_CONNECTIONS];

/// Notes the listening socket, and what its thread waits on.
pub(super) fn set_listener(listener: RawFd) {
    LISTENER.set(listener);
    let waiting = waiting_for(listener);
    for (place, number) in WAITING.iter().zip(waiting) {
        place.set(number);
    }
}

/// The epoll descriptors that wait for `descriptor`, and the others that these wait for; tokio does
/// not give them. Empty without /proc.
fn waiting_for(descriptor: RawFd) -> Vec<RawFd> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc/self/fdinfo")
        .into_iter()
        .flatten()
        .flatten()
    {
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        // A descriptor of another thread may be closed by now.
        let (Some(number), Ok(text)) = (number, fs::read_to_string(entry.path())) else {
            continue;
        };
        let waits_for = waits_for(&text);
        if waits_for.contains(&descriptor) {
            found.extend(waits_for);
            found.push(number);
        }
    }
    found.sort_unstable();
    found.dedup();
    found.retain(|number| *number != descriptor);
    found
}

/// The lines `tfd: NUMBER …` of an epoll descriptor.
fn waits_for(text: &str) -> Vec<RawFd> {
    let numbers = text.lines().filter_map(|line| {
        let target = line.strip_prefix("tfd:")?;
        target.split_whitespace().next()?.parse().ok()
    });
    numbers.collect()
}

/// A noted connection.
pub(super) struct Place(Option<&'static [NotedDescriptor; 2]>);

impl Place {
    /// Notes a connection and the copy of its socket. Nothing is noted if all places are taken, by
    /// connections that are being closed.
    pub(super) fn of(stream: &TcpStream, copy: &std::net::TcpStream) -> Self {
        let place = CONNECTIONS.iter().find(|[first, _]| first.take());
        if let Some([first, second]) = place {
            second.set(copy.as_raw_fd());
            first.set(stream.as_raw_fd());
        }
        Self(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some([first, second]) = self.0 {
            second.clear();
            first.clear();
        }
    }
}

/// Closes the child's copies. Takes no lock.
pub(in crate::session) fn close_in_forked_child() {
    LISTENER.close_in_forked_child();
    for descriptor in WAITING.iter().chain(CONNECTIONS.as_flattened()) {
        descriptor.close_in_forked_child();
    }
}
