//! What the two servers of a running program share: the live view and the listener for metrics.

mod budget;
mod process_end;

pub(super) use self::budget::{Budget, cpu_time_of};
pub(super) use self::process_end::{has_ended, stop};
