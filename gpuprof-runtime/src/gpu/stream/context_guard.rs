//! Streams and contexts that gpuprof may be the last to drop, for example if a call drops its own
//! stream before it ends.
//!
//! cudarc makes a context current on the thread that drops the last handle of it or of its stream.
//! In the program's own code that is visible; at the end of a span it would replace the context
//! that the thread has made current since.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use crate::driver::current_context::restore;
use crate::driver::handles;
use crate::driver::table::Driver;

/// What cudarc needs a context for when it drops it.
pub(in crate::gpu) trait InContext {
    fn context_handle(&self) -> handles::Context;
}

impl InContext for CudaContext {
    fn context_handle(&self) -> handles::Context {
        handles::Context(self.cu_ctx() as usize)
    }
}

impl InContext for CudaStream {
    fn context_handle(&self) -> handles::Context {
        self.context().context_handle()
    }
}

/// A handle held for a while, or none. Its drop leaves the thread's current context as it is.
#[derive(Debug)]
pub(in crate::gpu) struct HeldHandle<T: InContext>(Option<Arc<T>>);

impl<T: InContext> HeldHandle<T> {
    #[inline]
    pub(in crate::gpu) fn new(handle: impl Into<Option<Arc<T>>>) -> Self {
        Self(handle.into())
    }

    /// Whether it holds any.
    pub(in crate::gpu) fn is_some(&self) -> bool {
        self.0.is_some()
    }
}

impl<T: InContext> Clone for HeldHandle<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: InContext> Drop for HeldHandle<T> {
    #[inline]
    fn drop(&mut self) {
        // If two threads release it at once, exactly one is told that it was the last; the
        // reference count could not say that.
        let last = self.0.take().and_then(Arc::into_inner);
        last.into_iter().for_each(let_go);
    }
}

#[cold]
fn let_go<T: InContext>(last: T) {
    let driver = Driver::get();
    let context = last.context_handle();
    let before = driver.current();
    if before == Ok(context) || driver.is_stuck().is_some() || driver.push(context).is_err() {
        return;
    }
    drop(last);
    // A context that cudarc destroys goes off the thread's stack by itself.
    if driver.current() == Ok(context) && driver.pop().is_err() {
        restore(driver, context, before);
    }
}
