//! The subscriber's callbacks for API calls. A real library calls back at entry and at exit; here
//! both callbacks are made after the call, on its thread, with the clock set to the time of each.

use std::cell::Cell;

use simbase::activity::Call;

use crate::abi::{Callback, CallbackData, User};
use crate::driver;
use crate::result_codes::Answer;

/// `CUPTI_CB_DOMAIN_DRIVER_API`.
pub(crate) const DRIVER_API: u32 = 1;
/// `CUPTI_CB_DOMAIN_RUNTIME_API`.
pub(crate) const RUNTIME_API: u32 = 2;

thread_local! {
    /// The simulated time of the callback that runs on this thread.
    static CALLBACK_TIME: Cell<Option<u64>> = const { Cell::new(None) };
}

/// A subscriber, and the call to report to it.
pub(crate) struct Notification {
    pub(crate) callback: Callback,
    pub(crate) user: User,
    pub(crate) domain: u32,
    pub(crate) cbid: u32,
    pub(crate) correlation: u32,
}

impl Notification {
    /// Makes both callbacks. Must be called without the state lock.
    pub(crate) fn deliver(&self, call: &Call<'_>) {
        let mut shared = 0;
        for (time, result) in [(call.start, None), (call.end, Some(&call.result))] {
            let data = CallbackData::new(self.correlation, result, &mut shared);
            CALLBACK_TIME.set(Some(time));
            (self.callback)(self.user, self.domain, self.cbid, &data);
            CALLBACK_TIME.set(None);
        }
    }
}

/// The present time in ns of the driver's clock; inside a callback, its simulated time.
pub(crate) fn now() -> Answer<u64> {
    match CALLBACK_TIME.try_with(Cell::get).ok().flatten() {
        Some(time) => Ok(time),
        None => driver::now(),
    }
}
