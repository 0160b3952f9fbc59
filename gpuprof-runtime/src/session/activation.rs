//! Calls and scopes that may be the program's first use of gpuprof: they open the environment's
//! window.

use super::api::start_from_environment;
use crate::collector::collector;
use crate::gpu::HasStream;
use crate::os::fork;
use crate::os::own_work::{self, OwnWork};
use crate::site::Site;
use crate::span::default_stream::DefaultStreamGuard;

impl Site {
    /// Whether a call of this site is to be measured now.
    #[inline]
    pub fn active(&'static self) -> bool {
        let interest = self.cached_interest();
        if interest == Some(false) {
            return false;
        }
        if own_work::is_here() {
            own_work::count_skipped();
            return false;
        }
        interest.unwrap_or_else(|| decide(self))
    }
}

#[cold]
fn decide(site: &'static Site) -> bool {
    let _own = OwnWork::begin();
    start_from_environment();
    if fork::is_child() {
        // Of a library that was loaded in the child.
        site.disable();
        return false;
    }
    collector().decide(site)
}

/// Makes `stream` the default of the spans inside `f` whose own arguments carry none.
///
/// It is for code whose arguments carry no stream. If calls nest, the innermost applies. If
/// `stream` has none at present ([`HasStream::stream_ref`] returns `None`), nothing changes.
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
    if own_work::is_here() {
        return f();
    }
    start_from_environment();
    if fork::is_child() {
        return f();
    }
    let _default = stream.stream_ref().map(DefaultStreamGuard::set);
    f()
}

/// Makes `stream` the default of all threads: of spans whose own arguments carry no stream, and
/// around which neither a span with a stream nor [`with_stream`] is open.
///
/// It is for programs whose types cannot name their stream, such as those of a framework:
///
/// ```no_run
/// # use std::sync::Arc;
/// # use cudarc::driver::CudaStream;
/// # use gpuprof_runtime as gpuprof;
/// # fn example(stream: &Arc<CudaStream>) {
/// gpuprof::set_default_stream(stream);
/// # }
/// ```
///
/// The stream, and with it its context, is held until the next call of this function. A `stream`
/// that has none at present ([`HasStream::stream_ref`] returns `None`), such as
/// `None::<Arc<CudaStream>>`, leaves no default; a span that has begun still holds its stream. A
/// `&CudaStream` cannot be held: it leaves no default either, and the report says so.
pub fn set_default_stream<S: HasStream>(stream: S) {
    let _own = OwnWork::begin();
    start_from_environment();
    if !fork::is_child() {
        let default_stream = &collector().default_stream;
        default_stream.set(stream.stream_ref().as_ref());
    }
}
