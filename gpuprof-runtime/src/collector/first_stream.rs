//! A hook for the first span that has a stream: CUDA is initialized by then.

use std::sync::{Once, OnceLock};

static ON_FIRST_STREAM: OnceLock<fn()> = OnceLock::new();

/// Sets what is called once, when the first span with a stream begins: CUDA is initialized by then.
pub(crate) fn set_on_first_stream(call: fn()) {
    ON_FIRST_STREAM.get_or_init(|| call);
}

/// A span with a stream begins.
pub(crate) fn note_stream() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if let Some(call) = ON_FIRST_STREAM.get() {
            call();
        }
    });
}
