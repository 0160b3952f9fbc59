//! The descriptors of the live view: how many viewers are connected, and what a forked child
//! closes.

use std::os::fd::RawFd;

use crate::os::noted_descriptor::NotedDescriptor;

/// Viewers at once.
pub(super) const MAX_CONNECTIONS: usize = 4;

static LISTENER: NotedDescriptor = NotedDescriptor::new();
static CONNECTIONS: [NotedDescriptor; MAX_CONNECTIONS] =
    [const { NotedDescriptor::new() }; MAX_CONNECTIONS];

/// Notes the listening socket.
pub(super) fn set_listener(listener: RawFd) {
    LISTENER.set(listener);
}

/// One of the [`MAX_CONNECTIONS`] places, which is free again when this is dropped.
pub(super) struct Place(&'static NotedDescriptor);

impl Place {
    /// `None` if all are taken.
    pub(super) fn take() -> Option<Self> {
        CONNECTIONS.iter().find(|place| place.take()).map(Self)
    }

    /// Notes the connection's socket.
    pub(super) fn set(&self, connection: RawFd) {
        self.0.set(connection);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.clear();
    }
}

/// Closes the child's copies: it offers nothing, and a viewer sees the end of the parent. Takes no
/// lock.
pub(in crate::session) fn close_in_forked_child() {
    LISTENER.close_in_forked_child();
    CONNECTIONS
        .iter()
        .for_each(NotedDescriptor::close_in_forked_child);
}
