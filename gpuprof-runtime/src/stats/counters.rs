//! The counters of one thread as other threads see them.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;

use super::histogram;
use super::node::Node;

/// What other threads may read of a thread at any time.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) nodes: Mutex<Vec<Arc<Node>>>,
    pub(crate) histograms: Mutex<Vec<SiteHistograms>>,
    /// Clock ticks that gpuprof's own GPU calls took.
    pub(crate) own_ticks: AtomicU64,
    /// The same of calls that met a context or a thread for the first time.
    pub(crate) setup_ticks: AtomicU64,
    /// The same of calls that must have waited for room in the stream's queue.
    pub(crate) stalled_ticks: AtomicU64,
    pub(crate) misnested: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

/// The histograms of one site on one thread.
#[derive(Clone, Debug)]
pub(crate) struct SiteHistograms {
    pub(crate) site: u32,
    pub(crate) cpu: Arc<histogram::Shared>,
    pub(crate) wall: Option<Arc<histogram::Shared>>,
}
