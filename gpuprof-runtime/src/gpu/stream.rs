//! What a span can be timed on: the public way to hand gpuprof a stream.
//!
//! The only place where cudarc's types are part of gpuprof's interface.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut, DeviceSlice};

pub(in crate::gpu) mod context_guard;
pub(in crate::gpu) mod resolve;

use crate::gpu::driver::handles;

/// A CUDA stream, borrowed for as long as it takes to start a span on it.
///
/// Made from cudarc's types with `StreamRef::from`, or from raw handles with [`StreamRef::from_raw`].
#[derive(Clone, Copy)]
pub struct StreamRef<'a> {
    source: Source<'a>,
    /// Whether the stream is known to outlive the span even if nothing keeps it.
    outlives: bool,
}

#[derive(Clone, Copy)]
enum Source<'a> {
    Shared(&'a Arc<CudaStream>),
    Borrowed(&'a CudaStream),
    Raw {
        stream: handles::Stream,
        context: handles::Context,
        owner: PhantomData<&'a ()>,
    },
}

impl<'a> StreamRef<'a> {
    /// A stream of another library or another version of cudarc, by its `CUstream` and `CUcontext`.
    ///
    /// `context` may be null: the driver is then asked for the stream's context, unless the stream is being captured.
    ///
    /// # Safety
    /// Both handles must be valid. The stream must stay so until every span that was given it has ended, the context
    /// until the times of these spans are read, as [`collect`](crate::collect) does: gpuprof reads its events there later, from
    /// another thread. (A driver of CUDA 12 or later tells when the context has ended before: those times are then lost and
    /// counted. It cannot tell while it is being asked.)
    #[must_use]
    pub unsafe fn from_raw(stream: *mut c_void, context: *mut c_void) -> Self {
        let (stream, context) = (
            handles::Stream(stream as usize),
            handles::Context(context as usize),
        );
        Self {
            source: Source::Raw {
                stream,
                context,
                owner: PhantomData,
            },
            outlives: true,
        }
    }

    /// Says that the reference this was made from outlives the annotated call, as a parameter's does.
    pub(crate) fn outliving(mut self, outlives: bool) -> Self {
        self.outlives |= outlives;
        self
    }

    pub(crate) fn handle(&self) -> handles::Stream {
        let stream = match self.source {
            Source::Shared(stream) => handles::Stream(stream.cu_stream() as usize),
            Source::Borrowed(stream) => handles::Stream(stream.cu_stream() as usize),
            Source::Raw { stream, .. } => stream,
        };
        stream.named_once()
    }

    /// The stream's context, null when only the driver knows it.
    pub(crate) fn raw_context(&self) -> handles::Context {
        match self.source {
            Source::Raw { context, .. } => context,
            _ => self.context().map_or(handles::Context::NULL, |context| {
                handles::Context(context.cu_ctx() as usize)
            }),
        }
    }

    /// cudarc's owner of the context, if the stream is cudarc's.
    pub(crate) fn context(&self) -> Option<&'a Arc<CudaContext>> {
        match self.source {
            Source::Shared(stream) => Some(stream.context()),
            Source::Borrowed(stream) => Some(stream.context()),
            Source::Raw { .. } => None,
        }
    }

    /// What a span holds until its end event is recorded. `Err` when nothing can be held and the stream may be gone
    /// by then; `later` says that the span begins when the borrow this was made from may be over.
    pub(crate) fn keep(&self, later: bool) -> Result<Option<Arc<CudaStream>>, NotKept> {
        match self.source {
            Source::Shared(stream) => Ok(Some(Arc::clone(stream))),
            // Whoever made it from raw handles has promised that they last.
            Source::Raw { .. } => Ok(None),
            Source::Borrowed(_) if self.outlives && !later => Ok(None),
            Source::Borrowed(_) => Err(NotKept),
        }
    }
}

/// The stream may be destroyed before the span ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotKept;

impl fmt::Debug for StreamRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamRef")
            .field("stream", &self.handle())
            .finish_non_exhaustive()
    }
}

impl<'a> From<&'a Arc<CudaStream>> for StreamRef<'a> {
    fn from(stream: &'a Arc<CudaStream>) -> Self {
        Self {
            source: Source::Shared(stream),
            outlives: false,
        }
    }
}

/// From a stream that nothing can keep alive: prefer the `Arc`. A call whose own argument could destroy the stream
/// before it ends is left untimed and counted.
impl<'a> From<&'a CudaStream> for StreamRef<'a> {
    fn from(stream: &'a CudaStream) -> Self {
        Self {
            source: Source::Borrowed(stream),
            outlives: false,
        }
    }
}

/// A value that knows the CUDA stream its work goes to.
///
/// Implement it for your own types and `#[gpu_profile]` finds the stream in their methods and in functions that take them:
///
/// ```
/// # use std::sync::Arc;
/// # use cudarc::driver::CudaStream;
/// # use gpuprof_runtime::{HasStream, StreamRef};
/// struct Model {
///     stream: Arc<CudaStream>,
/// }
///
/// impl HasStream for Model {
///     fn stream_ref(&self) -> StreamRef<'_> {
///         StreamRef::from(&self.stream)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not tell gpuprof which CUDA stream it uses",
    label = "not a stream, and `HasStream` is not implemented for it",
    note = "`stream = …` takes `CudaStream`, `Arc<CudaStream>`, `CudaSlice`, `CudaView`, references to these, and types with `impl gpuprof::HasStream`"
)]
pub trait HasStream {
    /// The stream.
    fn stream_ref(&self) -> StreamRef<'_>;

    /// The same through the `Arc` that owns the value, where keeping that `Arc` keeps the stream.
    #[doc(hidden)]
    fn stream_of_shared(this: &Arc<Self>) -> StreamRef<'_>
    where
        Self: Sized,
    {
        // By name: `Arc<Self>` has the method as well, and would ask this one again.
        Self::stream_ref(this)
    }

    /// Whether this is a shared reference: what it refers to stays as it is during the call that it is a parameter of.
    /// What a `&mut` refers to may be replaced.
    #[doc(hidden)]
    fn is_shared_reference(&self) -> bool {
        false
    }
}

impl HasStream for StreamRef<'_> {
    fn stream_ref(&self) -> StreamRef<'_> {
        *self
    }
}

impl HasStream for CudaStream {
    fn stream_ref(&self) -> StreamRef<'_> {
        StreamRef::from(self)
    }

    fn stream_of_shared(this: &Arc<Self>) -> StreamRef<'_> {
        StreamRef::from(this)
    }
}

impl<T> HasStream for CudaSlice<T> {
    fn stream_ref(&self) -> StreamRef<'_> {
        StreamRef::from(CudaSlice::stream(self))
    }
}

impl<T> HasStream for CudaView<'_, T> {
    fn stream_ref(&self) -> StreamRef<'_> {
        StreamRef::from(DeviceSlice::stream(self))
    }
}

impl<T> HasStream for CudaViewMut<'_, T> {
    fn stream_ref(&self) -> StreamRef<'_> {
        StreamRef::from(DeviceSlice::stream(self))
    }
}

impl<T: HasStream + ?Sized> HasStream for &T {
    fn stream_ref(&self) -> StreamRef<'_> {
        T::stream_ref(self)
    }

    fn is_shared_reference(&self) -> bool {
        true
    }
}

impl<T: HasStream + ?Sized> HasStream for &mut T {
    fn stream_ref(&self) -> StreamRef<'_> {
        T::stream_ref(self)
    }
}

impl<T: HasStream> HasStream for Arc<T> {
    fn stream_ref(&self) -> StreamRef<'_> {
        T::stream_of_shared(self)
    }
}

impl<T: HasStream + ?Sized> HasStream for Rc<T> {
    fn stream_ref(&self) -> StreamRef<'_> {
        T::stream_ref(self)
    }
}

impl<T: HasStream + ?Sized> HasStream for Box<T> {
    fn stream_ref(&self) -> StreamRef<'_> {
        T::stream_ref(self)
    }
}

impl<P: std::ops::Deref<Target: HasStream>> HasStream for std::pin::Pin<P> {
    fn stream_ref(&self) -> StreamRef<'_> {
        P::Target::stream_ref(self)
    }
}
