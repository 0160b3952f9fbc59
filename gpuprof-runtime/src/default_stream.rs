//! `with_stream`: a default stream for spans that have none of their own, without a span.

use crate::collector::{self, TIME_GPU, collector};
use crate::gpu::{HasStream, Scope};
use crate::span::{Outer, on_thread};

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
    let _scope = (collector::flags() & TIME_GPU != 0).then(|| DefaultStream::set(stream));
    f()
}

/// Takes the default stream back when `f` returns or panics.
struct DefaultStream {
    outer: Option<Outer>,
}

impl DefaultStream {
    fn set<S: HasStream + ?Sized>(stream: &S) -> Self {
        let stream = stream.stream();
        let outer = on_thread(|thread| {
            let path = thread.current.get();
            // The time spent inside stays the current span's own.
            let children = thread.children.get();
            let outer = Outer::enter(thread, path);
            thread.children.set(children);
            if let Ok(mut gpu) = thread.gpu.try_borrow_mut()
                && let Some(scope) =
                    Scope::default_stream(&collector().gpu, &mut gpu, &stream, outer.depth())
            {
                gpu.enter(scope);
            }
            outer
        });
        Self { outer }
    }
}

impl Drop for DefaultStream {
    fn drop(&mut self) {
        let Some(outer) = self.outer else { return };
        on_thread(|thread| {
            let inside = thread.children.get();
            outer.leave(thread, 0);
            thread.children.set(inside);
            if let Ok(mut gpu) = thread.gpu.try_borrow_mut() {
                gpu.leave(outer.depth());
            }
        });
    }
}
