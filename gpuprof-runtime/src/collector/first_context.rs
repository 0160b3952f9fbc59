//! A hook for the first CUDA context that gpuprof meets: CUDA is initialized by then.

use std::sync::{Once, OnceLock};

#[derive(Debug)]
pub(crate) struct FirstContext {
    call: OnceLock<fn()>,
    is_met: Once,
}

impl FirstContext {
    pub(super) const fn new() -> Self {
        Self {
            call: OnceLock::new(),
            is_met: Once::new(),
        }
    }

    /// Sets what is called once, when there is a context.
    pub(crate) fn set_call(&self, call: fn()) {
        self.call.get_or_init(|| call);
    }

    /// A span with a stream begins, or CUPTI reports a new context.
    pub(crate) fn meet(&self) {
        self.is_met.call_once(|| {
            if let Some(call) = self.call.get() {
                call();
            }
        });
    }
}
