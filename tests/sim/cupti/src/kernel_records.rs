//! Enables records of kernels, which takes a moment, beside the launches of other threads.

use std::cell::Cell;
use std::thread;
use std::time::Duration;

use simbase::activity::Call;

use crate::kinds::CONCURRENT_KERNEL;
use crate::result_codes::Answer;
use crate::{launch_locks, state};

/// How long it takes.
const TIME: Duration = Duration::from_millis(1);

thread_local! {
    static IS_LAUNCHING: Cell<bool> = const { Cell::new(false) };
}

/// The driver begins what a call does.
pub(crate) fn begin(call: &Call<'_>) {
    if launch_locks::is_launch(call) {
        IS_LAUNCHING.set(true);
        state::lock().known_kernels.begin();
    }
}

/// The driver has done it.
pub(crate) fn end() {
    if IS_LAUNCHING.replace(false) {
        state::lock().known_kernels.end();
    }
}

/// Enables records of a kind by `enable`.
pub(crate) fn while_enabling(kind: u32, enable: impl FnOnce() -> Answer) -> Answer {
    let launches = || state::lock().known_kernels.launches();
    let before = launches();
    enable()?;
    if kind == CONCURRENT_KERNEL {
        thread::sleep(TIME);
        let beside_launches = before.0 > 0 || launches() != before;
        state::lock().known_kernels.record(beside_launches);
    }
    Ok(())
}
