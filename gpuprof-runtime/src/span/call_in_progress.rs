//! A call in progress as a value, which other threads can ask whether it is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::stats::path_counters::PathCounters;

/// A call in progress on any thread.
#[derive(Clone, Debug)]
pub(super) struct CallInProgress {
    pub(super) path: u32,
    pub(super) mark: CallStart,
}

/// Which call it is, and whether it is still in progress.
#[derive(Clone, Debug)]
pub(super) enum CallStart {
    /// That of its thread's counters which began at this clock tick.
    Began(&'static PathCounters, u64),
    /// Of an async function, which may end on any thread; false at its end.
    Future(Arc<AtomicBool>),
}

impl CallInProgress {
    /// The end of an async call.
    pub(super) fn end(&self) {
        if let CallStart::Future(is_open) = &self.mark {
            is_open.store(false, Relaxed);
        }
    }

    pub(super) fn is_open(&self) -> bool {
        match &self.mark {
            CallStart::Began(node, started) => node.running_since() == Some(*started),
            CallStart::Future(is_open) => is_open.load(Relaxed),
        }
    }
}

/// What a thread's position does not say of its innermost span, if that is a value in the program's
/// hands.
#[derive(Debug)]
pub(super) struct NamedPosition {
    pub(super) depth: u32,
    /// It is carried to this thread; otherwise it is a poll of this thread.
    pub(super) is_carried: bool,
    pub(super) call: CallInProgress,
}
