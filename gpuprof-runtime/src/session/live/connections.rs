//! The descriptors of the live view.

use crate::session::serving::ServerDescriptors;

/// Viewers at once.
const MAX_CONNECTIONS: usize = 4;

pub(super) static DESCRIPTORS: ServerDescriptors<1, MAX_CONNECTIONS, 1> = ServerDescriptors::new();

/// Closes the child's copies. Takes no lock.
pub(in crate::session) fn close_in_forked_child() {
    DESCRIPTORS.close_in_forked_child();
}
