//! What the two servers of a running program share: the live view and the listener for metrics.

mod budget;
mod descriptors;
mod process_end;

pub(super) use self::budget::{Budget, cpu_time_of};
#[cfg(feature = "metrics")]
pub(super) use self::descriptors::ConnectionSlot;
pub(super) use self::descriptors::ServerDescriptors;
pub(super) use self::process_end::{has_ended, stop};
