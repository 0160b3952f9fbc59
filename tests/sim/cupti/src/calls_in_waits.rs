//! Calls that wait for the GPU while the last subscriber leaves: from then on all calls of their
//! threads have one correlation id. So it is in libcupti 13.0.

use std::cell::Cell;
use std::thread;
use std::time::Duration;

use simbase::activity::Call;
use simbase::cbid;

use crate::state;

const WAITS: [u32; 3] = [
    cbid::driver("cuCtxSynchronize"),
    cbid::driver("cuStreamSynchronize"),
    cbid::driver("cuEventSynchronize"),
];

thread_local! {
    /// The subscriptions that had ended when the call began that the thread is in.
    static BEGAN_AFTER: Cell<Option<u64>> = const { Cell::new(None) };
    static STUCK: Cell<Option<u32>> = const { Cell::new(None) };
}

/// The driver begins what a call does for which a callback was made, which takes as long as a test
/// has set. CUPTI does not follow other calls.
pub(crate) fn begin(call: &Call<'_>) {
    if WAITS.contains(&call.cbid) {
        let (ended, time) = {
            let state = state::lock();
            (state.ended_subscriptions, state.overrides.wait_us)
        };
        BEGAN_AFTER.set(Some(ended));
        thread::sleep(Duration::from_micros(time));
    }
}

/// The driver has done it, before any callback is made for it. It is not seen if nothing is enabled
/// by then.
pub(crate) fn end() {
    let ended = state::lock().ended_subscriptions;
    if BEGAN_AFTER.get() == Some(ended) {
        BEGAN_AFTER.set(None);
    }
}

/// The id of a call whose own would be `next`, after so many subscriptions.
pub(crate) fn id(next: u32, ended: u64) -> u32 {
    if BEGAN_AFTER.get().is_some_and(|before| before != ended) {
        BEGAN_AFTER.set(None);
        STUCK.set(Some(next));
    }
    STUCK.get().unwrap_or(next)
}
