//! [`StreamRef`] and [`HasStream`]: how a program gives gpuprof a stream.
//!
//! The only public interface that names cudarc's types.

use std::cell::{Ref, RefMut};
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, MutexGuard, RwLockReadGuard, RwLockWriteGuard};

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut, DeviceSlice};

use crate::driver::handles;
use crate::gpu::stream::hold::Hold;

/// A CUDA stream, borrowed or owned, that a span is to be timed on.
///
/// Made from cudarc's types with `StreamRef::from`, or from raw handles with
/// [`StreamRef::from_raw`].
#[derive(Clone)]
pub struct StreamRef<'a>(StreamHandle<'a>);

#[derive(Clone)]
enum StreamHandle<'a> {
    Owned(Arc<CudaStream>),
    Shared {
        stream: &'a Arc<CudaStream>,
        /// The same as below.
        outlives_call: bool,
    },
    Borrowed {
        stream: &'a CudaStream,
        /// Whether `'a` is known to last until the annotated call returns.
        outlives_call: bool,
    },
    Raw {
        stream: handles::Stream,
        context: handles::Context,
        owner: PhantomData<&'a ()>,
    },
}

impl StreamRef<'_> {
    /// A stream of another library or of another version of cudarc, by its `CUstream` and
    /// `CUcontext`.
    ///
    /// `context` may be null. The driver is then asked for the stream's context, unless the stream
    /// is being captured.
    ///
    /// # Safety
    /// Both handles must be valid. The stream must stay valid until every span that was given it
    /// has ended; as the default of [`set_default_stream`](crate::set_default_stream), also until
    /// it is replaced. The context must stay valid until the times of these spans have been read,
    /// as [`collect`](crate::collect) does, because gpuprof reads its events later and on another
    /// thread. (A driver of CUDA 12 or later reports a context that was destroyed before that; the
    /// affected times are discarded and counted. It cannot report a context that is destroyed
    /// during the query.)
    #[must_use]
    pub unsafe fn from_raw(stream: *mut c_void, context: *mut c_void) -> Self {
        Self(StreamHandle::Raw {
            stream: handles::Stream(stream as usize),
            context: handles::Context(context as usize),
            owner: PhantomData,
        })
    }

    /// The same stream, known to last until the annotated call returns.
    pub(crate) fn outliving_call(mut self) -> Self {
        self.set_outlives_call(true);
        self
    }

    /// The same stream, known only to be valid now.
    pub(crate) fn valid_now(mut self) -> Self {
        self.set_outlives_call(false);
        self
    }

    /// The same stream without a borrow. A stream that is borrowed without its `Arc` must last
    /// until the result is no longer used.
    pub(crate) fn detached(&self) -> StreamRef<'static> {
        StreamRef(match &self.0 {
            StreamHandle::Owned(stream) => StreamHandle::Owned(Arc::clone(stream)),
            StreamHandle::Shared { stream, .. } => StreamHandle::Owned(Arc::clone(stream)),
            StreamHandle::Borrowed { .. } | StreamHandle::Raw { .. } => StreamHandle::Raw {
                stream: self.handle(),
                context: self.raw_context(),
                owner: PhantomData,
            },
        })
    }

    /// The same stream, held for as long as it is needed. `None`: it is borrowed without its `Arc`.
    pub(crate) fn held(&self) -> Option<StreamRef<'static>> {
        match self.0 {
            StreamHandle::Borrowed { .. } => None,
            StreamHandle::Owned(_) | StreamHandle::Shared { .. } | StreamHandle::Raw { .. } => {
                Some(self.detached())
            }
        }
    }

    fn set_outlives_call(&mut self, outlives: bool) {
        if let StreamHandle::Shared { outlives_call, .. }
        | StreamHandle::Borrowed { outlives_call, .. } = &mut self.0
        {
            *outlives_call = outlives;
        }
    }

    fn cuda_stream(&self) -> Option<&CudaStream> {
        match &self.0 {
            StreamHandle::Owned(stream) => Some(stream),
            StreamHandle::Shared { stream, .. } => Some(stream),
            StreamHandle::Borrowed { stream, .. } => Some(stream),
            StreamHandle::Raw { .. } => None,
        }
    }

    pub(crate) fn handle(&self) -> handles::Stream {
        let stream = match self.0 {
            StreamHandle::Raw { stream, .. } => stream,
            _ => self.cuda_stream().map_or(handles::Stream(0), |stream| {
                handles::Stream(stream.cu_stream() as usize)
            }),
        };
        stream.named_once()
    }

    /// The stream's context; null if only the driver knows it.
    pub(crate) fn raw_context(&self) -> handles::Context {
        match self.0 {
            StreamHandle::Raw { context, .. } => context,
            _ => self.context().map_or(handles::Context::NULL, |context| {
                handles::Context(context.cu_ctx() as usize)
            }),
        }
    }

    /// Whether both are the same stream, as far as their handles tell.
    pub(crate) fn is_same_stream(&self, other: &StreamRef<'_>) -> bool {
        let contexts = [self.raw_context(), other.raw_context()];
        let [mine, its] = contexts;
        let may_be_one = mine == its || contexts.contains(&handles::Context::NULL);
        self.handle() == other.handle() && may_be_one
    }

    /// Both, if the stream is cudarc's.
    #[inline]
    pub(in crate::gpu) fn handle_and_owner(&self) -> Option<(handles::Stream, &Arc<CudaContext>)> {
        let stream = self.cuda_stream()?;
        let handle = handles::Stream(stream.cu_stream() as usize);
        Some((handle.named_once(), stream.context()))
    }

    /// cudarc's owner of the context, if the stream is cudarc's.
    pub(crate) fn context(&self) -> Option<&Arc<CudaContext>> {
        self.cuda_stream().map(CudaStream::context)
    }

    /// What a span has of the stream, so that it exists when its end event is recorded. `later`:
    /// the span begins after the borrow that this was made from may have ended. `None`: nothing can
    /// be owned, and the stream may be destroyed before the span ends.
    pub(in crate::gpu) fn hold(&self, later: bool) -> Option<Hold> {
        match &self.0 {
            StreamHandle::Shared {
                stream,
                outlives_call: true,
            } if !later => Some(Hold::lent(stream)),
            StreamHandle::Shared { stream, .. } => Some(Hold::hold_owned(stream)),
            StreamHandle::Owned(stream) => Some(Hold::hold_owned(stream)),
            // The caller of `from_raw` promised that the stream lasts.
            StreamHandle::Raw { .. } => Some(Hold::Nothing),
            StreamHandle::Borrowed { outlives_call, .. } => {
                (*outlives_call && !later).then_some(Hold::Nothing)
            }
        }
    }
}

impl fmt::Debug for StreamRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamRef")
            .field("stream", &self.handle())
            .finish_non_exhaustive()
    }
}

/// An owned stream, for a value that cannot lend its own, such as one behind a lock.
impl From<Arc<CudaStream>> for StreamRef<'_> {
    fn from(stream: Arc<CudaStream>) -> Self {
        Self(StreamHandle::Owned(stream))
    }
}

impl<'a> From<&'a Arc<CudaStream>> for StreamRef<'a> {
    fn from(stream: &'a Arc<CudaStream>) -> Self {
        Self(StreamHandle::Shared {
            stream,
            outlives_call: false,
        })
    }
}

/// A stream that gpuprof cannot keep alive; prefer the `Arc`. A call whose own argument could
/// destroy the stream before the call returns is not GPU-timed, and is counted as such.
impl<'a> From<&'a CudaStream> for StreamRef<'a> {
    fn from(stream: &'a CudaStream) -> Self {
        Self(StreamHandle::Borrowed {
            stream,
            outlives_call: false,
        })
    }
}

/// A value that knows the CUDA stream its work goes to.
///
/// Implement it for your own types, and `#[gpu_profile]` finds the stream in their methods and in
/// functions that take them:
///
/// ```
/// # use std::sync::{Arc, MutexGuard, RwLockReadGuard, RwLockWriteGuard};
/// # use cudarc::driver::CudaStream;
/// # use gpuprof_runtime as gpuprof;
/// use gpuprof::{HasStream, StreamRef};
///
/// struct Model {
///     stream: Arc<CudaStream>,
/// }
///
/// impl HasStream for Model {
///     fn stream_ref(&self) -> Option<StreamRef<'_>> {
///         Some(StreamRef::from(&self.stream))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "gpuprof finds no CUDA stream in `{Self}`",
    label = "not a stream, and `HasStream` is not implemented for it",
    note = "a stream is given by `&CudaStream`, `Arc<CudaStream>`, `CudaSlice`, `CudaView`, \
            references and guards of these, `Option`s of these, and types with \
            `impl gpuprof::HasStream`"
)]
pub trait HasStream {
    /// The stream, or `None` if this value has none at present. The search for a stream then goes
    /// on as if the value's type had none: with the next parameter, then with the enclosing span.
    fn stream_ref(&self) -> Option<StreamRef<'_>>;
}

// `CudaStream` itself has no impl, so that `&CudaStream` and `Arc<CudaStream>` can have impls of
// their own beside those for `&T` and `Arc<T>`: only the `Arc` can keep the stream alive.

// In the impls for references, `outliving_call` is right for the type of a parameter: a reference
// in it, however deep, outlives the call. `stream = EXPR` may borrow for a shorter time; see
// `valid_now`.

impl HasStream for &CudaStream {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        Some(StreamRef::from(&**self).outliving_call())
    }
}

impl HasStream for Arc<CudaStream> {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        Some(StreamRef::from(self))
    }
}

impl HasStream for StreamRef<'_> {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        Some(self.clone().outliving_call())
    }
}

impl<T> HasStream for CudaSlice<T> {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        Some(StreamRef::from(CudaSlice::stream(self)))
    }
}

impl<T> HasStream for CudaView<'_, T> {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        Some(StreamRef::from(DeviceSlice::stream(self)))
    }
}

impl<T> HasStream for CudaViewMut<'_, T> {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        Some(StreamRef::from(DeviceSlice::stream(self)))
    }
}

impl<T: HasStream> HasStream for Option<T> {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        self.as_ref().and_then(T::stream_ref)
    }
}

impl<T: HasStream + ?Sized> HasStream for &T {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        T::stream_ref(self).map(StreamRef::outliving_call)
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
// The call may replace what these refer to or own, so they add nothing to what `T` says.
pointers!(&mut T, Arc<T>, Rc<T>, Box<T>, Ref<'_, T>, RefMut<'_, T>);
pointers!(
    MutexGuard<'_, T>,
    RwLockReadGuard<'_, T>,
    RwLockWriteGuard<'_, T>
);

impl<P: Deref<Target: HasStream>> HasStream for Pin<P> {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        P::Target::stream_ref(self)
    }
}
