//! `with_stream`: a default stream for spans that have none of their own.

use super::thread_state;
use crate::collector::{self, collector};
use crate::gpu::{HasStream, Open, StreamRef};
use crate::session;

/// Makes `stream` the default of the spans inside `f` whose own arguments carry none.
///
/// It is for code whose arguments carry no stream. If calls nest, the innermost applies. If `stream`
/// has none at present ([`HasStream::stream_ref`] returns `None`), nothing changes.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use cudarc::driver::CudaStream;
/// # use gpuprof_runtime as gpuprof;
/// # fn forward() {}
/// # fn example(stream: &Arc<CudaStream>) {
/// gpuprof::with_stream(stream, || forward());
/// # }
/// ```
pub fn with_stream<S: HasStream, R>(stream: S, f: impl FnOnce() -> R) -> R {
    // This may be the program's first use of gpuprof.
    session::start_from_environment();
    let _default = collector::times_gpu()
        .then(|| stream.stream_ref().map(DefaultStream::set))
        .flatten();
    f()
}

/// Removes the default stream when `f` returns or panics.
struct DefaultStream {
    number: Option<u64>,
}

impl DefaultStream {
    fn set(stream: StreamRef<'_>) -> Self {
        // The value that it is borrowed from lives until `f` has returned.
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
