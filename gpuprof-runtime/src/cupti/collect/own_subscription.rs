//! gpuprof's subscription to CUPTI: its handle, and the set of calls that goes with it.

use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};

use super::bindings::Subscriber;

/// A set of libcupti's calls about activities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallSet {
    /// For one profiler at a time.
    Process,
    /// Each subscriber has its own kinds of activity, buffers and records.
    Subscriber,
}

#[derive(Debug, Default)]
pub(super) struct OwnSubscription {
    set: OnceLock<CallSet>,
    /// Null while gpuprof is not subscribed.
    handle: AtomicPtr<c_void>,
    /// Another profiler has decided that no one gets records of the nodes of graphs. None can
    /// decide so once gpuprof records activities.
    pub(super) hides_graph_nodes: AtomicBool,
}

impl OwnSubscription {
    /// The set of the first subscription, which stays that of the process.
    pub(super) fn set(&self) -> Option<CallSet> {
        self.set.get().copied()
    }

    /// Null while gpuprof is not subscribed.
    pub(super) fn handle(&self) -> Subscriber {
        self.handle.load(Relaxed)
    }

    pub(super) fn is_subscribed(&self) -> bool {
        !self.handle().is_null()
    }

    pub(super) fn begin(&self, set: CallSet, handle: Subscriber) {
        let _ = self.set.set(set);
        self.handle.store(handle, Relaxed);
    }

    /// Returns the handle.
    pub(super) fn end(&self) -> Subscriber {
        self.handle.swap(ptr::null_mut(), Relaxed)
    }
}
