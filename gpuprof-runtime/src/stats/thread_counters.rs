//! The counters of one thread as other threads see them.
//!
//! They are never freed. A thread that ends hands them on to the next that begins, with all that is counted in them: so
//! nothing has to be added up at a thread's end, and memory goes by how many threads run at once. Must not import gpu, span
//! or collector.

use std::sync::atomic::Ordering::Relaxed;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::histogram;
use super::memory_limit::{BLOCK_OVERHEAD, MemoryLimit};
use super::path_counters::{PathCounters, WriterEpoch};
use super::path_ids::CallPaths;
use crate::sync::{AtomicU32, AtomicU64};

/// What other threads may read of a thread at any time.
#[derive(Debug, Default)]
pub(crate) struct ThreadCounters {
    pub(super) nodes: Mutex<Vec<&'static PathCounters>>,
    /// By number.
    pub(super) sites: Mutex<FxHashMap<u32, &'static SiteCounters>>,
    /// The owner's alone. A lock only because owners follow one another.
    known: Mutex<Known>,
    /// Clock ticks that gpuprof's own GPU calls took.
    pub(crate) own_ticks: AtomicU64,
    /// The same of calls that met a context or a thread for the first time.
    pub(crate) setup_ticks: AtomicU64,
    /// The same of calls that must have waited for room in the stream's queue.
    pub(crate) stalled_ticks: AtomicU64,
    pub(crate) misnested: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

/// Nodes by parent's path and site; `None` where there is no room for one.
type Known = FxHashMap<(u32, u32), Option<&'static PathCounters>>;

/// Bytes of an entry in a table and in a list, each half empty at worst.
const ENTRY: usize =
    2 * (size_of::<((u32, u32), Option<&PathCounters>)>() + size_of::<&PathCounters>());
/// Bytes of a node. To put it at a multiple of its alignment costs twice that (glibc 2.36).
const NODE: usize = size_of::<PathCounters>() + 2 * align_of::<PathCounters>() + ENTRY;

impl ThreadCounters {
    /// The node of `site` called from `parent`, made now if it is new here. `None`: there are too many.
    pub(crate) fn node(
        &self,
        paths: &Mutex<CallPaths>,
        limit: &MemoryLimit,
        parent: u32,
        site: u32,
        is_async: bool,
    ) -> Option<&'static PathCounters> {
        let mut known = self.known.lock();
        if let Some(node) = known.get(&(parent, site)) {
            return *node;
        }
        let node = self.make(paths, limit, parent, site, is_async);
        // What is refused is remembered while there is room for that; then it is found out each time.
        if node.is_some() || limit.take(ENTRY) {
            known.insert((parent, site), node);
        }
        node
    }

    fn make(
        &self,
        paths: &Mutex<CallPaths>,
        limit: &MemoryLimit,
        parent: u32,
        site: u32,
        is_async: bool,
    ) -> Option<&'static PathCounters> {
        let path = paths.lock().child(parent, site)?;
        let mut sites = self.sites.lock();
        let known = sites.get(&site).copied();
        let site_bytes = match known {
            Some(_) => 0,
            None => SiteCounters::bytes(is_async),
        };
        if !limit.take(NODE + site_bytes) {
            return None;
        }
        let counters = known.unwrap_or_else(|| {
            let made = SiteCounters::leaked(is_async);
            sites.insert(site, made);
            made
        });
        let node: &'static PathCounters = Box::leak(Box::new(PathCounters::new(path, counters)));
        self.nodes.lock().push(node);
        Some(node)
    }
}

/// What is kept once for a site, wherever in the tree it is called.
#[derive(Debug)]
pub(crate) struct SiteCounters {
    pub(super) cpu: histogram::AtomicHistogram,
    /// Of async functions.
    pub(super) wall: Option<Box<histogram::AtomicHistogram>>,
    /// Threads that recorded here, one after another, in the window of `seen`.
    threads: AtomicU32,
    /// The [`WriterEpoch`] of the last of them.
    seen: AtomicU64,
}

impl SiteCounters {
    /// What one takes from the start.
    fn bytes(is_async: bool) -> usize {
        let wall = size_of::<histogram::AtomicHistogram>() + BLOCK_OVERHEAD;
        size_of::<Self>() + BLOCK_OVERHEAD + ENTRY + if is_async { wall } else { 0 }
    }

    pub(super) fn leaked(is_async: bool) -> &'static Self {
        Box::leak(Box::new(Self {
            cpu: histogram::AtomicHistogram::new(),
            wall: is_async.then(|| Box::new(histogram::AtomicHistogram::new())),
            threads: AtomicU32::new(0),
            seen: AtomicU64::new(0),
        }))
    }
    /// Counts the thread of `writer`, if it is new here.
    pub(super) fn count_thread(&self, writer: WriterEpoch) {
        let seen = self.seen.load(Relaxed);
        if seen == writer.bits() {
            return;
        }
        let before = match WriterEpoch::from_bits(seen).epoch() == writer.epoch() {
            true => self.threads.load(Relaxed),
            false => 0,
        };
        self.threads.store(before + 1, Relaxed);
        self.seen.store(writer.bits(), Relaxed);
    }

    /// Threads that recorded a call of the site here in the window `epoch`.
    pub(super) fn threads(&self, epoch: u32) -> u32 {
        match WriterEpoch::from_bits(self.seen.load(Relaxed)).epoch() == epoch {
            true => self.threads.load(Relaxed),
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::super::memory_limit::MemoryLimit;
    use super::super::path_counters::WriterEpoch;
    use super::super::path_ids::{CallPaths, ROOT};
    use super::{ENTRY, NODE, SiteCounters, ThreadCounters};

    #[test]
    fn a_place_past_the_ceiling_is_refused_and_those_before_go_on() {
        let site = SiteCounters::bytes(false);
        let paths = Mutex::new(CallPaths::new());
        // Two functions, a second place of one of them, and no more.
        let limit = MemoryLimit::new(2 * (NODE + site) + NODE + 5 * ENTRY);
        let shared = ThreadCounters::default();
        let node = |parent, site| shared.node(&paths, &limit, parent, site, false);
        let first = node(ROOT, 0).expect("there is room");
        assert!(node(ROOT, 1).is_some() && node(first.path, 1).is_some());
        for site in 2..100 {
            assert!(node(ROOT, site).is_none() && node(ROOT, site).is_none());
        }
        // Not even what is refused is remembered without end.
        assert!(shared.known.lock().len() < 10);
        let again = node(ROOT, 0).expect("it is known");
        assert!(std::ptr::eq(first, again));
        assert!(again.record_time(1, 0, WriterEpoch::new(WriterEpoch::owner(1), 1)));
    }

    #[test]
    fn another_thread_pays_for_counters_of_its_own() {
        let paths = Mutex::new(CallPaths::new());
        let limit = MemoryLimit::new(2 * (NODE + SiteCounters::bytes(true)));
        let threads = [(); 3].map(|()| ThreadCounters::default());
        let node = |thread: &ThreadCounters| thread.node(&paths, &limit, ROOT, 0, true).is_some();
        assert_eq!(threads.each_ref().map(node), [true, false, false]);
    }
}
