//! The default stream of the program: for spans on any thread that have no stream of their own, no
//! enclosing span with one, and no `with_stream` around them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::RwLock;

use crate::gpu::StreamRef;

/// Whether there is one. Every span without a stream asks.
static IS_SET: AtomicBool = AtomicBool::new(false);

static STREAM: RwLock<DefaultStream> = RwLock::new(DefaultStream::None);

#[derive(Debug)]
enum DefaultStream {
    None,
    Held(StreamRef<'static>),
    /// It was given without its `Arc`, and could be destroyed at any time.
    Refused,
}

/// Replaces the default stream, and with `None` unsets it.
pub(crate) fn set_default_stream(stream: Option<&StreamRef<'_>>) {
    let stream = match stream.map(StreamRef::held) {
        None => DefaultStream::None,
        Some(None) => DefaultStream::Refused,
        Some(Some(stream)) => DefaultStream::Held(stream),
    };
    let mut current = STREAM.write();
    IS_SET.store(matches!(stream, DefaultStream::Held(_)), Relaxed);
    let before = std::mem::replace(&mut *current, stream);
    drop(current);
    // Without the lock: the last owner of a stream calls the driver.
    drop(before);
}

/// Whether a span without a stream takes the default one.
#[inline]
pub(crate) fn has_default_stream() -> bool {
    IS_SET.load(Relaxed)
}

/// The default stream, if there is one.
pub(crate) fn default_stream() -> Option<StreamRef<'static>> {
    match &*STREAM.read() {
        DefaultStream::Held(stream) => Some(stream.clone()),
        DefaultStream::None | DefaultStream::Refused => None,
    }
}

/// The note about a default stream that cannot be held.
pub(super) fn note() -> Option<String> {
    matches!(*STREAM.read(), DefaultStream::Refused).then(|| {
        "no default stream: set_default_stream was given a `&CudaStream`, which gpuprof cannot \
         hold; pass the `Arc<CudaStream>`"
            .to_owned()
    })
}
