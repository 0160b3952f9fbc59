//! The search for a stream among the parameters of a function, as generated code makes it.
//!
//! A parameter that is a stream comes before those that carry one: a slice carries the stream that
//! it was allocated on, and the function may launch on another.

use std::cell::{Ref, RefMut};
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, MutexGuard, RwLockReadGuard, RwLockWriteGuard};

use cudarc::driver::CudaStream;

use crate::gpu::stream::stream_ref::{HasStream, StreamRef};
use crate::gpu::thread::hold_streams::Streams;
use crate::site::Site;

/// Types that are nothing but a stream.
pub trait IsStream {}

impl IsStream for CudaStream {}
impl IsStream for StreamRef<'_> {}
impl<T: IsStream> IsStream for Option<T> {}
macro_rules! pointers {
    ($($pointer:ty),+) => {$(impl<T: IsStream + ?Sized> IsStream for $pointer {})+};
}
pointers!(&T, &mut T, Arc<T>, Rc<T>, Box<T>, Ref<'_, T>, RefMut<'_, T>);
pointers!(
    MutexGuard<'_, T>,
    RwLockReadGuard<'_, T>,
    RwLockWriteGuard<'_, T>
);
impl<P: Deref<Target: IsStream>> IsStream for Pin<P> {}

/// A parameter whose type may be a stream, may carry one, or neither.
#[derive(Debug)]
pub struct ParameterProbe<'a, T: ?Sized>(pub &'a T);

/// Method resolution takes this one for types that are streams, as it needs no reference to the
/// probe.
pub trait StreamYes<'a> {
    /// The parameter's stream.
    fn gpuprof_stream(&self) -> Option<StreamRef<'a>>;
}

impl<'a, T: HasStream + IsStream + ?Sized> StreamYes<'a> for ParameterProbe<'a, T> {
    #[inline]
    fn gpuprof_stream(&self) -> Option<StreamRef<'a>> {
        self.0.stream_ref()
    }
}

/// Method resolution takes this one for all other types.
pub trait StreamNo<'a> {
    /// `None`.
    fn gpuprof_stream(&self) -> Option<StreamRef<'a>>;
}

impl<'a, T: ?Sized> StreamNo<'a> for &ParameterProbe<'a, T> {
    #[inline]
    fn gpuprof_stream(&self) -> Option<StreamRef<'a>> {
        None
    }
}

/// The same for types that carry a stream.
pub trait CarrierYes<'a> {
    /// The stream that the parameter carries.
    fn gpuprof_carried(&self) -> Option<StreamRef<'a>>;
}

impl<'a, T: HasStream + ?Sized> CarrierYes<'a> for ParameterProbe<'a, T> {
    #[inline]
    fn gpuprof_carried(&self) -> Option<StreamRef<'a>> {
        self.0.stream_ref()
    }
}

/// The same for types that carry none.
pub trait CarrierNo<'a> {
    /// `None`.
    fn gpuprof_carried(&self) -> Option<StreamRef<'a>>;
}

impl<'a, T: ?Sized> CarrierNo<'a> for &ParameterProbe<'a, T> {
    #[inline]
    fn gpuprof_carried(&self) -> Option<StreamRef<'a>> {
        None
    }
}

/// What the parameters of a call carry.
#[derive(Debug)]
pub struct Carried<'a> {
    site: &'static Site,
    first: Option<StreamRef<'a>>,
}

impl<'a> Carried<'a> {
    /// Nothing yet.
    #[inline]
    pub fn new(site: &'static Site) -> Self {
        Self { site, first: None }
    }

    /// With the stream of the next parameter. The first one counts; others that differ from it are
    /// noted.
    // Inlined, nothing is left of it for a parameter that is no stream.
    #[inline(always)]
    #[must_use]
    pub fn and(mut self, next: Option<StreamRef<'a>>) -> Self {
        match (&self.first, next) {
            (None, next) => self.first = next,
            (Some(first), Some(next)) => self.compare(first, &next),
            (Some(_), None) => {}
        }
        self
    }

    #[inline(never)]
    fn compare(&self, first: &StreamRef<'_>, next: &StreamRef<'_>) {
        if !first.is_same_stream(next) {
            self.site.note_parameter_streams_differ();
        }
    }

    /// The stream of the call, or that of the enclosing span.
    #[inline]
    pub fn streams(self) -> Streams<'a> {
        self.first.map_or(Streams::Inherit, Streams::One)
    }
}
