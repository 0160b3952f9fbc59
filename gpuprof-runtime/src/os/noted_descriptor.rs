//! Descriptors that a forked child closes, to be read without a lock.

use std::os::fd::RawFd;
use std::sync::atomic::{
    AtomicI32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use super::fd;

/// [`NotedDescriptor::number`] of one that is not open, and of one that is reserved for one
/// still to be opened.
const CLOSED: RawFd = -1;
const RESERVED: RawFd = -2;

/// A place for an open descriptor.
pub(crate) struct NotedDescriptor {
    number: AtomicI32,
    device: AtomicU64,
    inode: AtomicU64,
}

impl NotedDescriptor {
    pub(crate) const fn new() -> Self {
        Self {
            number: AtomicI32::new(CLOSED),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
        }
    }

    /// Reserves the place. Returns whether it was free.
    pub(crate) fn reserve(&self) -> bool {
        let taken = self
            .number
            .compare_exchange(CLOSED, RESERVED, AcqRel, Relaxed);
        taken.is_ok()
    }

    pub(crate) fn set(&self, number: RawFd) {
        if let Some((device, inode)) = fd::identity(number) {
            self.device.store(device, Relaxed);
            self.inode.store(inode, Relaxed);
            self.number.store(number, Release);
        }
    }

    /// Makes the place free.
    pub(crate) fn clear(&self) {
        self.number.store(CLOSED, Release);
    }

    /// Takes no lock.
    pub(crate) fn close_in_forked_child(&self) {
        let number = self.number.swap(CLOSED, Acquire);
        if number >= 0 {
            let identity = (self.device.load(Relaxed), self.inode.load(Relaxed));
            fd::close_in_forked_child(number, identity);
        }
    }
}
