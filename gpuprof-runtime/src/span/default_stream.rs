//! The default stream of a scope, for spans that have none of their own.

use super::thread_state::with_thread;
use crate::collector::collector;
use crate::gpu::frame_stack::FrameToken;
use crate::gpu::{GpuThread, Open, StreamRef};

/// Removes the default stream when it is dropped.
#[derive(Debug)]
pub(crate) struct DefaultStream {
    frame: Option<FrameToken>,
}

impl DefaultStream {
    /// The value that `stream` is borrowed from must outlive the result.
    pub(crate) fn set(stream: StreamRef<'_>) -> Self {
        let stream = stream.outliving_call();
        let push = |gpu: &mut GpuThread| {
            let open = Open::default_stream(&collector().gpu, gpu, &stream)?;
            Some(gpu.push(Some(open), None))
        };
        let frame = with_thread(|thread| thread.with_gpu(push));
        Self {
            frame: frame.flatten(),
        }
    }
}

impl Drop for DefaultStream {
    fn drop(&mut self) {
        if let Some(frame) = self.frame {
            with_thread(|thread| thread.with_gpu(|gpu| gpu.close(frame)));
        }
    }
}
