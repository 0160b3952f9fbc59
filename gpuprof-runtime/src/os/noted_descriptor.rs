//! The descriptors that a forked child closes, to be read without a lock: a child would keep an
//! address and never answer, and a client would not see the end of the parent.

use std::os::fd::RawFd;
use std::sync::atomic::{
    AtomicI32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use super::fd;

/// [`Place::number`] of a free place, and of one that is being filled.
const FREE: RawFd = -1;
const RESERVED: RawFd = -2;

/// More than the servers and as many connections as these accept.
static PLACES: [Place; 64] = [const { Place::new() }; 64];

#[derive(Debug)]
struct Place {
    number: AtomicI32,
    device: AtomicU64,
    inode: AtomicU64,
}

/// An open descriptor that a forked child closes, until this is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct NotedDescriptor(&'static Place);

impl NotedDescriptor {
    /// `None`: it is not open, or there is no place.
    pub(crate) fn new(number: RawFd) -> Option<Self> {
        let (device, inode) = fd::identity(number)?;
        let place = PLACES.iter().find(|place| place.reserve())?;
        place.device.store(device, Relaxed);
        place.inode.store(inode, Relaxed);
        place.number.store(number, Release);
        Some(Self(place))
    }
}

impl Drop for NotedDescriptor {
    fn drop(&mut self) {
        self.0.number.store(FREE, Release);
    }
}

impl Place {
    const fn new() -> Self {
        Self {
            number: AtomicI32::new(FREE),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
        }
    }

    /// Whether it was free.
    fn reserve(&self) -> bool {
        let taken = self
            .number
            .compare_exchange(FREE, RESERVED, AcqRel, Relaxed);
        taken.is_ok()
    }
}

/// Closes the child's copies. Takes no lock.
pub(crate) fn close_in_forked_child() {
    for place in &PLACES {
        let number = place.number.swap(FREE, Acquire);
        if number >= 0 {
            let identity = (place.device.load(Relaxed), place.inode.load(Relaxed));
            fd::close_in_forked_child(number, identity);
        }
    }
}
