//! The descriptors of the listener.

use std::fs;
use std::iter;
use std::mem;
use std::os::fd::RawFd;

use crate::os::noted_descriptor::NotedDescriptor;

/// Has forked children close the listening socket, and what its thread waits on: tokio has two
/// epoll descriptors, one of what wakes it, and with its feature `signal` a copy of the socket that
/// all its runtimes share.
pub(super) fn note_listener(listener: RawFd) {
    for number in iter::once(listener).chain(waiting_for(listener)) {
        // It is open as long as the process runs.
        mem::forget(NotedDescriptor::new(number));
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
