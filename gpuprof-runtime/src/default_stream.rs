//! `with_stream`: a default stream for spans that have none of their own, without a span.

use crate::collector::{self, TIME_GPU, collector};
use crate::gpu::{HasStream, Open};
use crate::session;
use crate::span::on_thread;

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
    let _default = (collector::flags() & TIME_GPU != 0).then(|| DefaultStream::set(stream));
    f()
}

/// Takes the default stream back when `f` returns or panics.
struct DefaultStream {
    number: Option<u64>,
}

impl DefaultStream {
    fn set<S: HasStream + ?Sized>(stream: &S) -> Self {
        let stream = stream.stream_ref();
        let number = on_thread(|thread| {
            let mut gpu = thread.gpu.try_borrow_mut().ok()?;
            let open = Open::default_stream(&collector().gpu, &mut gpu, &stream)?;
            Some(gpu.push(open))
        });
        Self {
            number: number.flatten(),
        }
    }
}

impl Drop for DefaultStream {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        on_thread(|thread| {
            if let Ok(mut gpu) = thread.gpu.try_borrow_mut() {
                gpu.take(number);
            }
        });
    }
}
