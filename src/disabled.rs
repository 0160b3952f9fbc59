//! What measures, for builds without the feature `enable`: the same names and signatures, which do
//! nothing, so that a library compiles in both builds. Plain types are those of `gpuprof-report`.

use gpuprof_report::diagnostic::Diagnostic;
use gpuprof_report::profile::Profile;
use gpuprof_report::setting_values::{Counters, CuptiMode, Mode, Output, Sampling, SessionError};
use gpuprof_report::trace::Trace;
use std::cell::{Ref, RefMut};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, MutexGuard, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// Stands for a CUDA stream. Without the feature `enable` it is made from a reference to anything.
#[derive(Clone, Debug)]
pub struct StreamRef<'a>(PhantomData<&'a ()>);

impl StreamRef<'_> {
    /// A stream by its `CUstream` and `CUcontext`, which are ignored.
    ///
    /// # Safety
    /// As with the feature `enable`: both handles must be valid. The stream must stay valid until
    /// every span that was given it has ended, and until it is no longer the default stream; the
    /// context until the times of these spans have been read.
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

impl<T: ?Sized> From<Arc<T>> for StreamRef<'_> {
    fn from(_stream: Arc<T>) -> Self {
        Self(PhantomData)
    }
}

/// A value that knows the CUDA stream its work goes to. Without the feature `enable`, nothing asks
/// for it.
///
/// cudarc's own types implement it only with the feature `enable`, because cudarc is not built
/// without it. A generic function of a library takes `impl Into<StreamRef<'_>>` to accept them in
/// both builds.
pub trait HasStream {
    /// The stream, or `None` if this value has none at present.
    fn stream_ref(&self) -> Option<StreamRef<'_>>;
}

impl HasStream for StreamRef<'_> {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        Some(self.clone())
    }
}

impl<T: HasStream> HasStream for Option<T> {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        self.as_ref().and_then(T::stream_ref)
    }
}

impl<P: Deref<Target: HasStream>> HasStream for Pin<P> {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        P::Target::stream_ref(self)
    }
}

macro_rules! pointers {
    ($($pointer:ty),+) => {$(
        impl<T: HasStream + ?Sized> HasStream for $pointer {
            fn stream_ref(&self) -> Option<StreamRef<'_>> {
                T::stream_ref(self)
            }
        }
    )+};
}
pointers!(&T, &mut T, Arc<T>, Rc<T>, Box<T>, Ref<'_, T>, RefMut<'_, T>);
pointers!(
    MutexGuard<'_, T>,
    RwLockReadGuard<'_, T>,
    RwLockWriteGuard<'_, T>
);

/// Calls `f`.
pub fn with_stream<S, R>(_stream: S, f: impl FnOnce() -> R) -> R {
    f()
}

/// Does nothing.
pub fn set_default_stream<S>(_stream: S) {}

/// A span, of which there is none.
#[derive(Clone, Debug)]
pub struct CurrentSpan(());

/// Carries nothing.
#[must_use = "it has no effect until it runs something"]
pub fn current() -> CurrentSpan {
    CurrentSpan(())
}

impl CurrentSpan {
    /// Calls `f`.
    pub fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        f()
    }
}

/// An empty profile.
#[must_use]
pub fn snapshot() -> Profile {
    Profile::default()
}

/// An empty profile, without waiting.
#[must_use]
pub fn collect() -> Profile {
    Profile::default()
}

/// False: there is no time line.
pub fn set_recording(_on: bool) -> bool {
    false
}

/// `None`: there is no time line.
#[must_use]
pub fn collect_trace() -> Option<Trace> {
    None
}

/// Does nothing.
pub fn reset() {}

/// Does nothing.
pub fn step() {}

/// False: nothing is ever said.
pub fn on_diagnostic(_callback: impl Fn(&Diagnostic) + Send + Sync + 'static) -> bool {
    false
}

/// A measuring window that measures nothing.
#[derive(Debug)]
#[must_use = "a session ends when it is dropped"]
pub struct Session(());

impl Session {
    /// Settings without effect.
    pub fn builder() -> SessionBuilder {
        SessionBuilder(())
    }

    /// An empty profile.
    #[must_use]
    pub fn snapshot(&self) -> Profile {
        Profile::default()
    }

    /// An empty profile.
    #[must_use]
    pub fn finish(self) -> Profile {
        Profile::default()
    }
}

/// Settings of a [`Session`], which are ignored.
#[derive(Clone, Debug)]
#[must_use = "nothing is measured before `start`"]
pub struct SessionBuilder(());

impl SessionBuilder {
    /// What spans do.
    pub fn mode(self, _mode: Mode) -> Self {
        self
    }

    /// Which functions are measured. The pattern is not checked.
    pub fn filter(self, _pattern: impl Into<String>) -> Self {
        self
    }

    /// Which calls are timed on the GPU.
    pub fn sampling(self, _sampling: Sampling) -> Self {
        self
    }

    /// How many events a time line keeps.
    pub fn trace_limit(self, _events: NonZeroUsize) -> Self {
        self
    }

    /// How long [`Session::finish`] waits.
    pub fn exit_wait(self, _limit: Duration) -> Self {
        self
    }

    /// Which hardware counters are sampled.
    pub fn counters(self, _counters: impl Into<Counters>) -> Self {
        self
    }

    /// Whether the stacks of launches are sampled.
    pub fn stacks(self, _stacks: bool) -> Self {
        self
    }

    /// Whether it is sampled for what kernels wait.
    pub fn stalls(self, _stalls: bool) -> Self {
        self
    }

    /// What is recorded through CUPTI.
    pub fn cupti(self, _mode: CuptiMode) -> Self {
        self
    }

    /// Whether memory is recorded.
    pub fn memory(self, _on: bool) -> Self {
        self
    }

    /// What is written at exit.
    pub fn outputs(self, _outputs: impl IntoIterator<Item = Output>) -> Self {
        self
    }

    /// Returns a session that measures nothing.
    ///
    /// # Errors
    /// None without the feature `enable`.
    pub fn start(self) -> Result<Session, SessionError> {
        Ok(Session(()))
    }
}
