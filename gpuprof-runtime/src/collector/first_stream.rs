//! A hook for the first span that has a stream: CUDA is initialized by then.

use std::sync::{Once, OnceLock};

#[derive(Debug)]
pub(crate) struct FirstStream {
    call: OnceLock<fn()>,
    has_begun: Once,
}

impl FirstStream {
    pub(super) const fn new() -> Self {
        Self {
            call: OnceLock::new(),
            has_begun: Once::new(),
        }
    }

    /// Sets what is called once, when the first span with a stream begins: CUDA is initialized by
    /// then.
    pub(crate) fn set_call(&self, call: fn()) {
        self.call.get_or_init(|| call);
    }

    /// A span with a stream begins.
    pub(crate) fn begin_span(&self) {
        self.has_begun.call_once(|| {
            if let Some(call) = self.call.get() {
                call();
            }
        });
    }
}
