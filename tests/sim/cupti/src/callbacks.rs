//! The subscriber's callbacks of API calls. A real library makes one as the call begins and one as it returns; here both are made when
//! it is over, on its thread, and the clock stands meanwhile where it stood then.

use std::cell::Cell;

use simbase::watch::Call;

use crate::abi::{Callback, CallbackData, User};
use crate::codes::Answer;
use crate::driver;

/// `CUPTI_CB_DOMAIN_DRIVER_API`.
pub(crate) const DRIVER_API: u32 = 1;
/// `CUPTI_CB_DOMAIN_RUNTIME_API`.
pub(crate) const RUNTIME_API: u32 = 2;

thread_local! {
    /// The time that the callback under way on this thread is made at.
    static AT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Who is to be called back, and of what.
pub(crate) struct Caller {
    pub(crate) callback: Callback,
    pub(crate) user: User,
    pub(crate) domain: u32,
    pub(crate) cbid: u32,
    pub(crate) correlation: u32,
}

impl Caller {
    /// Makes both callbacks. Must be called without the state lock.
    pub(crate) fn call_back(&self, call: &Call<'_>) {
        let mut shared = 0;
        for (at, answer) in [(call.start, None), (call.end, Some(&call.result))] {
            let data = CallbackData::new(self.correlation, answer, &mut shared);
            AT.set(Some(at));
            (self.callback)(self.user, self.domain, self.cbid, &data);
            AT.set(None);
        }
    }
}

/// Now, in ns of the driver's clock, or when the callback under way is made.
pub(crate) fn now() -> Answer<u64> {
    match AT.try_with(Cell::get).ok().flatten() {
        Some(at) => Ok(at),
        None => driver::now(),
    }
}
