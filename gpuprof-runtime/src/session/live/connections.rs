//! The descriptors of the live view: how many viewers are connected, and what a forked child
//! closes.

use std::os::fd::RawFd;
use std::sync::atomic::{
    AtomicI32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use crate::os::fd;

/// Viewers at once.
pub(super) const MAX_CONNECTIONS: usize = 4;

static LISTENER: Descriptor = Descriptor::new();
static CONNECTIONS: [Descriptor; MAX_CONNECTIONS] = [const { Descriptor::new() }; MAX_CONNECTIONS];

/// [`Descriptor::number`] of one that is not open, and of one that is taken but not open yet.
const CLOSED: RawFd = -1;
const TAKEN: RawFd = -2;

/// An open descriptor, to be read without a lock.
struct Descriptor {
    number: AtomicI32,
    device: AtomicU64,
    inode: AtomicU64,
}

impl Descriptor {
    const fn new() -> Self {
        Self {
            number: AtomicI32::new(CLOSED),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
        }
    }

    fn set(&self, number: RawFd) {
        if let Some((device, inode)) = fd::identity(number) {
            self.device.store(device, Relaxed);
            self.inode.store(inode, Relaxed);
            self.number.store(number, Release);
        }
    }

    fn close_in_forked_child(&self) {
        let number = self.number.swap(CLOSED, Acquire);
        if number >= 0 {
            let identity = (self.device.load(Relaxed), self.inode.load(Relaxed));
            fd::close_in_forked_child(number, identity);
        }
    }
}

/// Notes the listening socket.
pub(super) fn set_listener(listener: RawFd) {
    LISTENER.set(listener);
}

/// One of the [`MAX_CONNECTIONS`] places, which is free again when this is dropped.
pub(super) struct Place(&'static Descriptor);

impl Place {
    /// `None` if all are taken.
    pub(super) fn take() -> Option<Self> {
        let is_taken = |place: &&Descriptor| {
            let taken = place
                .number
                .compare_exchange(CLOSED, TAKEN, AcqRel, Relaxed);
            taken.is_ok()
        };
        CONNECTIONS.iter().find(is_taken).map(Self)
    }

    /// Notes the connection's socket.
    pub(super) fn set(&self, connection: RawFd) {
        self.0.set(connection);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.number.store(CLOSED, Release);
    }
}

/// Closes the child's copies: it offers nothing, and a viewer sees the end of the parent. Takes no
/// lock.
pub(in crate::session) fn close_in_forked_child() {
    LISTENER.close_in_forked_child();
    CONNECTIONS
        .iter()
        .for_each(Descriptor::close_in_forked_child);
}
