//! The default stream of a scope, for spans that have none of their own.

use super::deferred_streams::push;
use super::thread_state::{ThreadState, with_thread};
use crate::collector::collector;
use crate::gpu::StreamRef;
use crate::gpu::frame_stack::FrameToken;

/// Removes the default stream when it is dropped.
#[derive(Debug)]
pub(crate) struct DefaultStreamGuard {
    kind: DefaultStreamEffect,
}

#[derive(Debug)]
enum DefaultStreamEffect {
    /// `None`: the stream cannot be used.
    Set(Option<FrameToken>),
    /// Set when nothing was measured: its number among those of the thread.
    Deferred(u64),
}

impl DefaultStreamGuard {
    /// The value that `stream` is borrowed from must outlive the result.
    pub(crate) fn set(stream: StreamRef<'_>) -> Self {
        let stream = stream.outliving_call();
        let kind = with_thread(|thread| {
            if collector().times_gpu() {
                // Its first stream is to know them.
                thread.counters();
                DefaultStreamEffect::Set(thread.with_gpu(|gpu| push(gpu, &stream)).flatten())
            } else {
                match thread.defer(&stream) {
                    Some(number) => DefaultStreamEffect::Deferred(number),
                    None => DefaultStreamEffect::Set(None),
                }
            }
        });
        Self { kind }
    }
}

impl Drop for DefaultStreamGuard {
    fn drop(&mut self) {
        let close = |thread: &ThreadState, frame| {
            thread.with_gpu(|gpu| gpu.close(frame));
        };
        with_thread(|thread| {
            let frame = match self.kind {
                DefaultStreamEffect::Set(frame) => frame,
                DefaultStreamEffect::Deferred(number) => thread.take_deferred(number),
            };
            if let Some(frame) = frame {
                close(thread, frame);
            }
        });
    }
}
