//! The descriptors of a server: how many clients are connected, and what a forked child closes. A
//! child would keep the address and never answer, and a client would not see the end of the parent.

use std::os::fd::RawFd;

use crate::os::noted_descriptor::NotedDescriptor;

/// The descriptors of a server and of at most `PLACES` connections, each of which has `EACH`.
pub(in crate::session) struct ServerDescriptors<
    const OWN: usize,
    const PLACES: usize,
    const EACH: usize,
> {
    /// The listening socket, and what its thread waits on.
    own: [NotedDescriptor; OWN],
    connections: [[NotedDescriptor; EACH]; PLACES],
}

impl<const OWN: usize, const PLACES: usize, const EACH: usize>
    ServerDescriptors<OWN, PLACES, EACH>
{
    pub(in crate::session) const fn new() -> Self {
        Self {
            own: [const { NotedDescriptor::new() }; OWN],
            connections: [const { [const { NotedDescriptor::new() }; EACH] }; PLACES],
        }
    }

    /// Notes the server's own descriptors.
    pub(in crate::session) fn set_own(&self, numbers: impl IntoIterator<Item = RawFd>) {
        for (descriptor, number) in self.own.iter().zip(numbers) {
            descriptor.set(number);
        }
    }

    /// A place for one more connection. `None` if all are taken.
    pub(in crate::session) fn take_place(&'static self) -> Option<ConnectionSlot<EACH>> {
        let is_free = |place: &&[_; EACH]| place.first().is_some_and(NotedDescriptor::reserve);
        self.connections.iter().find(is_free).map(ConnectionSlot)
    }

    /// Closes the child's copies. Takes no lock.
    pub(in crate::session) fn close_in_forked_child(&self) {
        let all = self.own.iter().chain(self.connections.as_flattened());
        all.for_each(NotedDescriptor::close_in_forked_child);
    }
}

/// The place of a connection, which is free again when this is dropped.
pub(in crate::session) struct ConnectionSlot<const EACH: usize>(&'static [NotedDescriptor; EACH]);

impl<const EACH: usize> ConnectionSlot<EACH> {
    /// Notes the connection's descriptors.
    pub(in crate::session) fn set(&self, numbers: [RawFd; EACH]) {
        for (descriptor, number) in self.0.iter().zip(numbers) {
            descriptor.set(number);
        }
    }
}

impl<const EACH: usize> Drop for ConnectionSlot<EACH> {
    fn drop(&mut self) {
        // The first says that the place is taken.
        self.0.iter().rev().for_each(NotedDescriptor::clear);
    }
}
