//! The CUDA calls that are recorded on request: their callbacks are enabled for windows that ask
//! for them.

use super::bindings::{DOMAIN_DRIVER, DOMAIN_RUNTIME, Subscriber};
use super::callback_ids;
use super::library::CuptiLibrary;

/// Whether the optional calls are recorded.
pub(crate) struct OptionalCalls {
    /// The subscriber's handle.
    subscriber: usize,
    are_recorded: bool,
}

impl OptionalCalls {
    pub(super) fn new(subscriber: Subscriber) -> Self {
        Self {
            subscriber: subscriber as usize,
            are_recorded: false,
        }
    }

    pub(super) fn record(&mut self, are_recorded: bool, library: &CuptiLibrary) {
        if self.are_recorded == are_recorded {
            return;
        }
        self.are_recorded = are_recorded;
        let subscriber = self.subscriber as Subscriber;
        for (is_runtime, domain) in [(false, DOMAIN_DRIVER), (true, DOMAIN_RUNTIME)] {
            for cbid in callback_ids::recorded(is_runtime, true) {
                // Fails if this version lacks the call.
                let _ = library.enable_callback(are_recorded.into(), subscriber, domain, cbid);
            }
        }
    }
}
