//! A time line of the next moments, for a viewer.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use parking_lot::Mutex;

use super::rate_limit::{self, ENDING, LOCKED};
use super::waiting::wait;
use crate::clock;
use crate::collector::collector;
use crate::session::current_trace;
use crate::session::waits::{self, LOCK_LIMIT};
use gpuprof_report::trace::Trace;

/// Held while a viewer's time line is recorded.
static RECORDING: Mutex<()> = Mutex::new(());

/// The recorder of the time line, on for a viewer until this is dropped.
struct LiveRecording;

impl Drop for LiveRecording {
    fn drop(&mut self) {
        collector().end_lending();
    }
}

/// Records for `ms` milliseconds, or until the viewer will send no more.
///
/// # Errors
/// Why there is no time line.
pub(super) fn record(ms: u64, viewer: &UnixStream) -> Result<Trace, &'static str> {
    let Some(_recording) = RECORDING.try_lock() else {
        return Err("another viewer records a time line; try again");
    };
    let began = collector()
        .lend_recorder()
        .ok_or("nothing is measured at present; try again")?;
    let lent = LiveRecording;
    let is_there = wait(Duration::from_millis(ms), viewer);
    drop(lent);
    let ended = clock::now();
    let made = if is_there {
        waits::wait(waits::exit_wait(LOCK_LIMIT));
        rate_limit::make(|| current_trace::trace_between((began, ended), LOCK_LIMIT))
    } else {
        None
    };
    collector().recorder.forget_lent();
    let (time_line, _) = made.ok_or(ENDING)?;
    time_line.ok_or(LOCKED)
}
