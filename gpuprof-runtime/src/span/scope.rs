//! The default stream of a scope, for spans that have none of their own.

use super::thread_state;
use crate::collector::collector;
use crate::gpu::{Open, StreamRef};

/// Removes the default stream when it is dropped.
#[derive(Debug)]
pub(crate) struct DefaultStream {
    number: Option<u64>,
}

impl DefaultStream {
    /// The value that `stream` is borrowed from must outlive the result.
    pub(crate) fn set(stream: StreamRef<'_>) -> Self {
        let stream = stream.outliving_call();
        let number = thread_state::with_gpu(|gpu| {
            let open = Open::default_stream(&collector().gpu, gpu, &stream)?;
            Some(gpu.push(open))
        });
        Self {
            number: number.flatten(),
        }
    }
}

impl Drop for DefaultStream {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            thread_state::with_gpu(|gpu| gpu.close(number));
        }
    }
}
