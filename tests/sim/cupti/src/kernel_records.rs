//! Enables records of kernels, which takes a moment, beside the launches of other threads.

use std::cell::Cell;
use std::thread;
use std::time::Duration;

use simbase::activity::Call;

use crate::kinds::CONCURRENT_KERNEL;
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
        let mut state = state::lock();
        let are_recorded = state
            .clients
            .iter()
            .any(|of| of.enabled.kernels().is_some());
        let are_sampled = !state.pc_sampling.is_empty();
        state.known_kernels.begin(are_recorded, are_sampled);
    }
}

/// The driver has done it.
pub(crate) fn end() {
    if IS_LAUNCHING.replace(false) {
        state::lock().known_kernels.end();
    }
}

/// Enables records of a kind by `enable`.
pub(crate) fn while_enabling<R>(kind: u32, enable: impl FnOnce() -> R) -> R {
    let launches = || state::lock().known_kernels.launches();
    let before = launches();
    let answer = enable();
    if kind == CONCURRENT_KERNEL {
        thread::sleep(TIME);
        let beside_launches = before.0 > 0 || launches() != before;
        state::lock().known_kernels.record(beside_launches);
    }
    answer
}
