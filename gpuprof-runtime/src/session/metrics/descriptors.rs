//! The descriptors of the listener.

use std::fs;
use std::iter;
use std::os::fd::RawFd;

use crate::session::serving::ServerDescriptors;

/// Clients at once. One more takes the place of the one that has not sent its request for longest.
pub(super) const MAX_CONNECTIONS: usize = 16;

/// The listening socket, and what its thread waits on: tokio has two epoll descriptors, one of what
/// wakes it, and with its feature `signal` a copy of the socket that all its runtimes share.
const OWN: usize = 5;

/// A connection has its socket and a copy.
pub(super) static DESCRIPTORS: ServerDescriptors<OWN, MAX_CONNECTIONS, 2> =
    ServerDescriptors::new();

/// Notes the listening socket, and what its thread waits on.
pub(super) fn set_listener(listener: RawFd) {
    DESCRIPTORS.set_own(iter::once(listener).chain(waiting_for(listener)));
}

/// Closes the child's copies. Takes no lock.
pub(in crate::session) fn close_in_forked_child() {
    DESCRIPTORS.close_in_forked_child();
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
