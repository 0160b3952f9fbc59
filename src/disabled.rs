//! The whole interface for builds without the feature `enable`: the same names and signatures, doing nothing, so that a
//! library compiles the same either way. Must not name cudarc or anything of the run time but its plain data.

use gpuprof_runtime::profile::Profile;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Stands for a CUDA stream. Without the feature `enable` it is made from a reference to anything.
#[derive(Clone, Debug)]
pub struct StreamRef<'a>(PhantomData<&'a ()>);

impl StreamRef<'_> {
    /// A stream by its `CUstream` and `CUcontext`, which are ignored.
    ///
    /// # Safety
    /// As with the feature `enable`: both handles must be valid. The stream must stay valid until every
    /// span that was given it has ended, the context until the times of these spans have been read.
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

/// A value that knows the CUDA stream its work goes to. Without the feature `enable`, nothing asks for it.
///
/// cudarc's own types implement it only with the feature `enable`, because cudarc is not built without
/// it. A generic function of a library takes `impl Into<StreamRef<'_>>` to accept them in both builds.
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
pointers!(&T, &mut T, Arc<T>, Rc<T>, Box<T>);

/// A captured graph; switched off it is what it was made from, and its launches are that one's own.
#[derive(Clone, Debug)]
pub struct Graph<G>(G);

impl<G> Graph<G> {
    /// Takes over a graph.
    #[must_use]
    pub fn new(graph: G) -> Self {
        Self(graph)
    }

    /// A graph of any library; switched off, the handles are not looked at.
    ///
    /// # Safety
    /// The same as with the feature `enable`: both handles must be valid until `owner` is dropped or taken back.
    #[must_use]
    pub unsafe fn from_raw(owner: G, _graph: *mut c_void, _exec: *mut c_void) -> Self {
        Self(owner)
    }

    /// Calls `launch`.
    ///
    /// # Errors
    /// Those of `launch`.
    pub fn launch_with<T, E>(&self, launch: impl FnOnce(&G) -> Result<T, E>) -> Result<T, E> {
        launch(&self.0)
    }

    /// The graph again.
    #[must_use]
    pub fn into_inner(self) -> G {
        self.0
    }
}

impl<G> Deref for Graph<G> {
    type Target = G;

    fn deref(&self) -> &G {
        &self.0
    }
}

impl<G> From<G> for Graph<G> {
    fn from(graph: G) -> Self {
        Self(graph)
    }
}

/// Calls `f`.
pub fn with_stream<S, R>(_stream: S, f: impl FnOnce() -> R) -> R {
    f()
}

/// An empty profile: switched off nothing is measured.
#[must_use]
pub fn snapshot() -> Profile {
    Profile::default()
}

/// An empty profile: switched off nothing is measured and there is nothing to wait for.
#[must_use]
pub fn collect() -> Profile {
    Profile::default()
}

/// Does nothing: switched off there is nothing to forget.
pub fn reset() {}

/// Does nothing: switched off no step is measured.
pub fn step() {}

/// Forgets `f`: switched off there is no profile to hand over.
pub fn on_profile_ready(_f: impl FnMut(Profile) + Send + 'static) {}

/// Which steps are measured; switched off none is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Schedule(());

impl Schedule {
    /// A cycle of so many steps.
    pub const fn new(_wait: u32, _warmup: u32, _active: u32) -> Self {
        Self(())
    }

    /// Ends after so many cycles; 0 is never.
    pub const fn repeat(self, _cycles: u32) -> Self {
        self
    }
}

/// What spans do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Measure, and emit NVTX ranges.
    #[default]
    On,
    /// Emit NVTX ranges only.
    Nvtx,
    /// Nothing.
    Off,
}

/// The order of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// GPU self time.
    #[default]
    Gpu,
    /// CPU self time.
    Cpu,
    /// Calls.
    Calls,
    /// The longest single call.
    Max,
    /// Name.
    Name,
}

/// One thing to write at exit; switched off nothing is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// The table.
    Table,
    /// The call tree.
    Tree,
    /// The JSON document, into a file.
    Json(String),
}

/// A measuring window; switched off it measures nothing.
#[derive(Debug)]
#[must_use = "a session ends when it is dropped"]
pub struct Session(());

impl Session {
    /// Settings that have no effect.
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

/// Settings of a [`Session`] to be; switched off they are taken and forgotten.
#[derive(Clone, Debug)]
#[must_use = "nothing is measured before `start`"]
pub struct SessionBuilder(());

impl SessionBuilder {
    /// What spans do.
    pub fn mode(self, _mode: Mode) -> Self {
        self
    }

    /// Which functions are measured. The pattern is not looked at.
    pub fn filter(self, _pattern: impl Into<String>) -> Self {
        self
    }

    /// How many calls are GPU-timed.
    pub fn sample(self, _n: u32) -> Self {
        self
    }

    /// That gpuprof chooses how many calls are GPU-timed.
    pub fn sample_auto(self) -> Self {
        self
    }

    /// How long [`Session::finish`] waits.
    pub fn exit_wait(self, _limit: Duration) -> Self {
        self
    }

    /// Which steps are measured.
    pub fn schedule(self, _schedule: Schedule) -> Self {
        self
    }

    /// Whether kernels are recorded.
    pub fn cupti(self, _on: bool) -> Self {
        self
    }

    /// The order of rows in what is written at exit.
    pub fn sort(self, _sort: Sort) -> Self {
        self
    }

    /// How many rows that shows.
    pub fn limit(self, _rows: usize) -> Self {
        self
    }

    /// What is written at exit.
    pub fn outputs(self, _outputs: impl IntoIterator<Item = Output>) -> Self {
        self
    }

    /// Begins nothing.
    ///
    /// # Errors
    /// None; with the feature `enable` there are some.
    pub fn start(self) -> Result<Session, SessionError> {
        Ok(Session(()))
    }
}

/// Why a session did not begin; switched off none ever fails to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionError {
    /// Another one is open.
    Open,
    /// The filter is no regular expression; the reason.
    Filter(String),
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("another gpuprof session is open; finish it first"),
            Self::Filter(reason) => write!(f, "the filter is no regular expression: {reason}"),
        }
    }
}

impl std::error::Error for SessionError {}
