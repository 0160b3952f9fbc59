//! The whole interface for builds without the feature `enable`: the same names and signatures, doing nothing, so that a
//! library compiles the same either way. Must not name cudarc or anything of the run time but its plain data.

use gpuprof_runtime::profile::Profile;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::time::Duration;

/// Stands for a CUDA stream; switched off it is made from a reference to anything.
#[derive(Clone, Copy, Debug)]
pub struct StreamRef<'a>(PhantomData<&'a ()>);

impl StreamRef<'_> {
    /// A stream by its `CUstream` and `CUcontext`; switched off, neither is looked at.
    ///
    /// # Safety
    /// The same as with the feature `enable`: both handles must be valid, and stay so until every span that was given
    /// this stream has ended.
    #[must_use]
    pub unsafe fn from_raw(_stream: *mut c_void, _context: *mut c_void) -> Self {
        Self(PhantomData)
    }
}

impl<'a, T: ?Sized> From<&'a T> for StreamRef<'a> {
    fn from(_stream: &'a T) -> Self {
        Self(PhantomData)
    }
}

/// A value that knows the CUDA stream its work goes to; switched off, nothing asks for it.
///
/// cudarc's own types implement it only with the feature `enable`, as without it cudarc is not built. A generic function
/// of a library takes `impl Into<StreamRef<'_>>` to accept them in both builds.
pub trait HasStream {
    /// The stream.
    fn stream(&self) -> StreamRef<'_>;
}

impl HasStream for StreamRef<'_> {
    fn stream(&self) -> StreamRef<'_> {
        *self
    }
}

impl<T: HasStream + ?Sized> HasStream for &T {
    fn stream(&self) -> StreamRef<'_> {
        StreamRef::from(self)
    }
}

impl<T: HasStream + ?Sized> HasStream for &mut T {
    fn stream(&self) -> StreamRef<'_> {
        StreamRef::from(self)
    }
}

impl<T: HasStream> HasStream for Arc<T> {
    fn stream(&self) -> StreamRef<'_> {
        StreamRef::from(self)
    }
}

impl<T: HasStream + ?Sized> HasStream for Rc<T> {
    fn stream(&self) -> StreamRef<'_> {
        StreamRef::from(self)
    }
}

impl<T: HasStream + ?Sized> HasStream for Box<T> {
    fn stream(&self) -> StreamRef<'_> {
        StreamRef::from(self)
    }
}

impl<P: Deref<Target: HasStream>> HasStream for Pin<P> {
    fn stream(&self) -> StreamRef<'_> {
        StreamRef::from(self)
    }
}

/// Runs `f`; switched off there are no spans to give the stream to.
pub fn with_stream<S: ?Sized, R>(_stream: &S, f: impl FnOnce() -> R) -> R {
    f()
}

/// An empty profile: switched off nothing is measured.
#[must_use]
pub fn snapshot() -> Profile {
    Profile::default()
}

/// An empty profile: switched off nothing is measured and there is nothing to wait for.
#[must_use]
pub fn report() -> Profile {
    Profile::default()
}

/// Does nothing: switched off there is nothing to forget.
pub fn reset() {}
