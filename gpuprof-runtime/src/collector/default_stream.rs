//! The default stream of the program: for spans on any thread that have no stream of their own, no
//! enclosing span with one, and no `with_stream` around them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::RwLock;

use crate::gpu::StreamRef;

/// Whether there is one. Every span without a stream asks.
static IS_SET: AtomicBool = AtomicBool::new(false);

#[derive(Debug, Default)]
pub(crate) struct DefaultStream(RwLock<ProcessDefault>);

#[derive(Debug, Default)]
enum ProcessDefault {
    #[default]
    None,
    Held(StreamRef<'static>),
    /// It was given without its `Arc`, and could be destroyed at any time.
    Refused,
}

/// Whether a span without a stream takes the default one.
#[inline]
pub(crate) fn has_default_stream() -> bool {
    IS_SET.load(Relaxed)
}

impl DefaultStream {
    /// Replaces the default stream, and with `None` unsets it.
    pub(crate) fn set(&self, stream: Option<&StreamRef<'_>>) {
        let choice = match stream.map(StreamRef::held) {
            None => ProcessDefault::None,
            Some(None) => ProcessDefault::Refused,
            Some(Some(stream)) => ProcessDefault::Held(stream),
        };
        let mut current = self.0.write();
        IS_SET.store(matches!(choice, ProcessDefault::Held(_)), Relaxed);
        let before = std::mem::replace(&mut *current, choice);
        drop(current);
        // Without the lock: the last owner of a stream calls the driver.
        drop(before);
    }

    /// The default stream, if there is one.
    pub(crate) fn stream(&self) -> Option<StreamRef<'static>> {
        match &*self.0.read() {
            ProcessDefault::Held(stream) => Some(stream.clone()),
            ProcessDefault::None | ProcessDefault::Refused => None,
        }
    }

    /// The note about a default stream that cannot be held.
    pub(super) fn note(&self) -> Option<String> {
        matches!(*self.0.read(), ProcessDefault::Refused).then(|| {
            "no default stream: set_default_stream was given a `&CudaStream`, which gpuprof cannot \
             hold; pass the `Arc<CudaStream>`"
                .to_owned()
        })
    }
}
