//! The counters of one thread as other threads see them.
//!
//! They are never freed. A thread that ends hands them on to the next that begins, with all that is counted in them: so
//! nothing has to be added up at a thread's end, and memory goes by how many threads run at once. Must not import gpu, span
//! or collector.

use std::sync::atomic::Ordering::Relaxed;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::histogram;
use super::node::{Node, Stamp};
use super::paths::Paths;
use crate::sync::{AtomicU32, AtomicU64};

/// What other threads may read of a thread at any time.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(super) nodes: Mutex<Vec<&'static Node>>,
    pub(super) sites: Mutex<Vec<&'static SiteCounters>>,
    /// The owner's alone. A lock only because owners follow one another.
    index: Mutex<Index>,
    /// Clock ticks that gpuprof's own GPU calls took.
    pub(crate) own_ticks: AtomicU64,
    /// The same of calls that met a context or a thread for the first time.
    pub(crate) setup_ticks: AtomicU64,
    /// The same of calls that must have waited for room in the stream's queue.
    pub(crate) stalled_ticks: AtomicU64,
    pub(crate) misnested: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct Index {
    /// By parent's path and site; `None` when there are too many paths.
    nodes: FxHashMap<(u32, u32), Option<&'static Node>>,
    sites: FxHashMap<u32, &'static SiteCounters>,
}

impl Shared {
    /// The node of `site` called from `parent`, made now if it is new here. `None`: there are too many.
    pub(crate) fn node(
        &self,
        paths: &Mutex<Paths>,
        parent: u32,
        site: u32,
        is_async: bool,
    ) -> Option<&'static Node> {
        let mut index = self.index.lock();
        if let Some(known) = index.nodes.get(&(parent, site)) {
            return *known;
        }
        let node = paths.lock().child(parent, site).map(|path| {
            let counters = *index
                .sites
                .entry(site)
                .or_insert_with(|| self.add_site(site, is_async));
            let node: &'static Node = Box::leak(Box::new(Node::new(path, counters)));
            self.nodes.lock().push(node);
            node
        });
        index.nodes.insert((parent, site), node);
        node
    }

    fn add_site(&self, site: u32, is_async: bool) -> &'static SiteCounters {
        let counters: &'static SiteCounters =
            Box::leak(Box::new(SiteCounters::new(site, is_async)));
        self.sites.lock().push(counters);
        counters
    }
}

/// What is kept once for a site, wherever in the tree it is called.
#[derive(Debug)]
pub(crate) struct SiteCounters {
    pub(super) site: u32,
    pub(super) cpu: histogram::Shared,
    /// Of async functions.
    pub(super) wall: Option<histogram::Shared>,
    /// Threads that booked here, one after another, in the window of `seen`.
    threads: AtomicU32,
    /// The [`Stamp`] of the last of them.
    seen: AtomicU64,
}

impl SiteCounters {
    pub(super) fn new(site: u32, is_async: bool) -> Self {
        Self {
            site,
            cpu: histogram::Shared::new(),
            wall: is_async.then(histogram::Shared::new),
            threads: AtomicU32::new(0),
            seen: AtomicU64::new(0),
        }
    }

    /// Counts the thread of `stamp`, if it is new here.
    pub(super) fn count_thread(&self, stamp: Stamp) {
        let seen = self.seen.load(Relaxed);
        if seen == stamp.bits() {
            return;
        }
        let before = match Stamp::of(seen).epoch() == stamp.epoch() {
            true => self.threads.load(Relaxed),
            false => 0,
        };
        self.threads.store(before + 1, Relaxed);
        self.seen.store(stamp.bits(), Relaxed);
    }

    /// Threads that booked a call of the site here in the window `epoch`.
    pub(super) fn threads(&self, epoch: u32) -> u32 {
        match Stamp::of(self.seen.load(Relaxed)).epoch() == epoch {
            true => self.threads.load(Relaxed),
            false => 0,
        }
    }
}
