//! The time line: switches it on and off, and returns it.

use super::api::start_from_environment;
use super::current_trace::current;
use super::waits::{self, LOCK_LIMIT};
use crate::collector::collector;
use crate::os::fork;
use crate::os::own_work::OwnWork;
use gpuprof_report::trace::Trace;

/// Switches the recording of the time line on or off, for programs of which only a part is of
/// interest. Returns whether there is a time line: an output `trace` of the settings, or of the
/// open session, asks for one. It is on from the start.
///
/// The time line has the calls, and what the GPU does, that begin while it is on. While it is off,
/// nothing is recorded; calls are timed as before.
pub fn set_recording(on: bool) -> bool {
    let _own = OwnWork::begin();
    start_from_environment();
    !fork::is_child() && collector().record(on)
}

/// The time line so far, after waiting for the GPU times of the calls that have ended as
/// [`collect`](crate::collect) does. `None` if there is none.
#[must_use]
pub fn collect_trace() -> Option<Trace> {
    let _own = OwnWork::begin();
    start_from_environment();
    if fork::is_child() {
        return None;
    }
    waits::wait(waits::exit_wait(LOCK_LIMIT));
    current(LOCK_LIMIT)
}
