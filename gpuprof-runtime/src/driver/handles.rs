//! The driver's handles as plain numbers. gpuprof never dereferences one, so they may move between
//! threads.

use std::ffi::c_int;

macro_rules! handle {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) usize);

        impl $name {
            pub(crate) const NULL: Self = Self(0);
        }
    )+};
}

handle! {
    /// `CUcontext`.
    Context;
    /// `CUstream`.
    Stream;
    /// `CUevent`.
    Event;
}

impl Stream {
    /// `CU_STREAM_LEGACY`: the null stream by another name.
    const LEGACY: Self = Self(1);
    /// `CU_STREAM_PER_THREAD`: a different stream on every OS thread.
    pub(crate) const PER_THREAD: Self = Self(2);

    /// Whether it is another stream in each context.
    pub(crate) fn is_of_current_context(self) -> bool {
        matches!(self, Self::NULL | Self::LEGACY | Self::PER_THREAD)
    }

    /// The one name of each stream.
    pub(crate) fn named_once(self) -> Self {
        match self {
            Self::LEGACY => Self::NULL,
            stream => stream,
        }
    }
}

/// `CUdevice`: an ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(crate) struct CuDevice(pub(crate) c_int);
