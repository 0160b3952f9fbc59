//! `with_stream`: a default stream for spans that have none of their own, without a span.

use super::thread_state as thread;
use crate::collector::{self, collector};
use crate::gpu::{HasStream, Open};
use crate::session;

/// Makes `stream` the default of spans inside `f` whose own arguments carry none.
///
/// For code below which no argument has a stream. Nesting works; the innermost wins.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use cudarc::driver::CudaStream;
/// # fn forward() {}
/// # fn example(stream: &Arc<CudaStream>) {
/// gpuprof_runtime::with_stream(stream, || forward());
/// # }
/// ```
pub fn with_stream<S: HasStream + ?Sized, R>(stream: &S, f: impl FnOnce() -> R) -> R {
    // This may be the first thing of gpuprof's that the program uses.
    session::start_from_environment();
    let _default = collector::times_gpu().then(|| DefaultStream::set(stream));
    f()
}

/// Takes the default stream back when `f` returns or panics.
struct DefaultStream {
    number: Option<u64>,
}

impl DefaultStream {
    fn set<S: HasStream + ?Sized>(stream: &S) -> Self {
        let stream = stream.stream_ref();
        let number = thread::gpu(|gpu| {
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
            thread::gpu(|gpu| gpu.close(number));
        }
    }
}
