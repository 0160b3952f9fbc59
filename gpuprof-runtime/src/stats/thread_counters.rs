//! The counters of one thread, as other threads see them.
//!
//! They are never freed. A thread that ends leaves them to the next thread that begins, with all
//! that is counted in them: so nothing has to be added up when a thread ends, and memory is
//! proportional to the number of threads that run at once.

use std::sync::atomic::Ordering::Relaxed;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::host_totals::Totals;
use super::memory_limit::MemoryLimit;
use super::path_counters::PathCounters;
use super::path_ids::{CallPaths, PathKey};
use super::sampling_allowance::Spent;
use super::site_counters::SiteCounters;
use super::window_epoch;
use crate::clock;
use crate::os;
use crate::sync::AtomicU64;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ThreadCounters {
    /// Everything below in the order in which it was made, which is that of memory; a site before
    /// its nodes.
    list: Mutex<Vec<Listed>>,
    /// By the site's id.
    sites: Mutex<FxHashMap<u32, &'static SiteCounters>>,
    /// Used by the owner alone. A lock only because one owner follows another.
    known: Mutex<KnownNodes>,
    /// Clock ticks that gpuprof's GPU and CUPTI calls on this thread took.
    pub(crate) overhead_ticks: AtomicU64,
    /// The same for calls that met a context or a thread for the first time.
    pub(crate) setup_ticks: AtomicU64,
    /// The same for calls that waited for room in the stream's queue.
    pub(crate) stalled_ticks: AtomicU64,
    /// Calls with a stream that went untimed on the GPU, and polls of such futures: those that
    /// have begun, and those that have ended.
    pub(crate) untimed_begun: AtomicU64,
    pub(crate) untimed_ended: AtomicU64,
    pub(crate) misnested: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) invalid_amounts: AtomicU64,
    /// Of event pairs, in automatic sampling.
    pub(crate) spent: Spent,
    /// The main thread writes them, and no other ever has.
    is_main: bool,
    owner: Owner,
}

/// The thread that writes the counters now, for viewers. All 0 without viewers.
#[derive(Debug, Default)]
struct Owner {
    /// The system's number.
    tid: AtomicU64,
    /// Clock ticks.
    began: AtomicU64,
    /// What was counted when it began, or when the window began if that was later.
    calls_before: AtomicU64,
    ticks_before: AtomicU64,
}

/// What one thread has counted in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunningThread {
    /// The system's number.
    pub(crate) tid: u32,
    pub(crate) calls: u64,
    /// Clock ticks of these calls without nested spans.
    pub(crate) self_ticks: u64,
    /// When the innermost call in progress began, in clock ticks, and its path.
    pub(crate) running: Option<(u64, u32)>,
}

/// Counters of a function, which has this id, or of one of its paths.
#[derive(Clone, Copy, Debug)]
enum Listed {
    Site(u32, &'static SiteCounters),
    Node(&'static PathCounters),
}

/// `None`: there is no room for a node.
type KnownNodes = FxHashMap<PathKey, Option<&'static PathCounters>>;

/// Bytes of an entry in a table and in a list, each half empty at worst.
const ENTRY_BYTES: usize =
    2 * (size_of::<(PathKey, Option<&PathCounters>)>() + size_of::<Listed>());
/// Bytes of a node. To align it costs twice its alignment (glibc 2.36).
const NODE_BYTES: usize = size_of::<PathCounters>() + 2 * align_of::<PathCounters>() + ENTRY_BYTES;

impl ThreadCounters {
    /// The node of the path with this key, made now if it is new on this thread. `None`: there is
    /// no room for it.
    pub(crate) fn node(
        &self,
        paths: &Mutex<CallPaths>,
        memory: &MemoryLimit,
        key: PathKey,
        is_async: bool,
    ) -> Option<&'static PathCounters> {
        let mut known = self.known.lock();
        if let Some(node) = known.get(&key) {
            return *node;
        }
        let node = self.add_node(paths, memory, key, is_async);
        // A refusal is remembered while there is room for that. After that it is found out each
        // time.
        if node.is_some() || memory.reserve(ENTRY_BYTES) {
            known.insert(key, node);
        }
        node
    }

    /// The node of the path with this key, if the thread has it.
    pub(crate) fn existing_node(&self, key: PathKey) -> Option<&'static PathCounters> {
        *self.known.lock().get(&key)?
    }

    fn add_node(
        &self,
        paths: &Mutex<CallPaths>,
        memory: &MemoryLimit,
        key: PathKey,
        is_async: bool,
    ) -> Option<&'static PathCounters> {
        let path = paths.lock().intern(key)?;
        let site = key.site();
        let mut sites = self.sites.lock();
        let known = sites.get(&site).copied();
        let site_bytes = match known {
            Some(_) => 0,
            None => site_bytes(is_async),
        };
        if !memory.reserve(NODE_BYTES + site_bytes) {
            return None;
        }
        let counters = known.unwrap_or_else(|| {
            let counters = SiteCounters::leaked(is_async);
            sites.insert(site, counters);
            self.list.lock().push(Listed::Site(site, counters));
            counters
        });
        let node: &'static PathCounters = Box::leak(Box::new(PathCounters::new(path, counters)));
        self.list.lock().push(Listed::Node(node));
        Some(node)
    }

    /// Adds everything counted so far to `totals`.
    pub(crate) fn add_to(&self, totals: &mut Totals) {
        let epoch = window_epoch::current();
        // Read from a copy: the thread's next first call of a function needs this lock.
        let list = self.list.lock().clone();
        for counters in list {
            match counters {
                // Before its nodes, so that the histogram of a window has every call that the nodes
                // have counted in it.
                Listed::Site(site, counters) => counters.add_to(site, epoch, totals),
                Listed::Node(node) => {
                    let mut of_path = node.read(epoch);
                    if !self.is_main {
                        of_path.off_main = of_path.cpu.calls;
                    }
                    totals.add_node(node.path, &of_path);
                }
            }
        }
        totals.overhead_ticks += self.overhead_ticks.load(Relaxed);
        totals.setup_ticks += self.setup_ticks.load(Relaxed);
        totals.stalled_ticks += self.stalled_ticks.load(Relaxed);
        totals.misnested += self.misnested.load(Relaxed);
        totals.dropped += self.dropped.load(Relaxed);
        totals.invalid_amounts += self.invalid_amounts.load(Relaxed);
    }
}

impl ThreadCounters {
    /// Counters of the main thread.
    pub(crate) fn of_main_thread() -> Self {
        Self {
            is_main: true,
            ..Self::default()
        }
    }

    /// The calling thread is the owner from now on.
    pub(crate) fn begin_thread(&self) {
        self.begin_window();
        self.owner.began.store(clock::now(), Relaxed);
        self.owner.tid.store(os::thread_id().into(), Relaxed);
    }

    /// What is counted so far belongs to an earlier window or owner.
    pub(crate) fn begin_window(&self) {
        let (calls, self_ticks) = self.calls();
        self.owner.calls_before.store(calls, Relaxed);
        self.owner.ticks_before.store(self_ticks, Relaxed);
    }

    /// The owner's counters, and its innermost call in progress. `None`: the thread has not noted
    /// its id.
    pub(crate) fn running(&self) -> Option<RunningThread> {
        let tid = u32::try_from(self.owner.tid.load(Relaxed)).ok()?;
        let began = self.owner.began.load(Relaxed);
        let running = self.nodes().into_iter().filter_map(|node| {
            // An earlier owner may have ended within a call.
            let started = node.running_since().filter(|started| *started >= began)?;
            Some((started, node.path))
        });
        let (calls, self_ticks) = self.calls();
        (tid > 0).then(|| RunningThread {
            tid,
            calls: calls.saturating_sub(self.owner.calls_before.load(Relaxed)),
            self_ticks: self_ticks.saturating_sub(self.owner.ticks_before.load(Relaxed)),
            // Of calls that began at the same tick, the innermost has the longest path, which is
            // numbered last.
            running: running.max(),
        })
    }

    fn nodes(&self) -> Vec<&'static PathCounters> {
        let node = |listed: &Listed| match listed {
            Listed::Node(node) => Some(*node),
            Listed::Site(..) => None,
        };
        self.list.lock().iter().filter_map(node).collect()
    }

    /// Calls counted so far, and their clock ticks without nested spans.
    fn calls(&self) -> (u64, u64) {
        let epoch = window_epoch::current();
        let nodes = self.nodes().into_iter().map(|node| node.read(epoch).cpu);
        nodes.fold((0, 0), |(calls, ticks), cpu| {
            let self_ticks = cpu.total.saturating_sub(cpu.nested);
            (calls + cpu.calls, ticks + self_ticks)
        })
    }
}

fn site_bytes(is_async: bool) -> usize {
    SiteCounters::bytes(is_async) + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::super::memory_limit::MemoryLimit;
    use super::super::path_ids::{CallPaths, PathKey, ROOT};
    use super::super::window_epoch::WriterEpoch;
    use crate::site::labels::LabelNumber;

    use super::{ENTRY_BYTES, NODE_BYTES, ThreadCounters, site_bytes};

    #[test]
    fn a_path_past_the_memory_limit_is_refused_and_known_ones_go_on() {
        let site = site_bytes(false);
        let paths = Mutex::new(CallPaths::new());
        // Room for two functions and a second path of one of them.
        let limit = MemoryLimit::new(2 * (NODE_BYTES + site) + NODE_BYTES + 5 * ENTRY_BYTES);
        let counters = ThreadCounters::default();
        let key = |parent, site| PathKey::new(parent, site, LabelNumber::NONE);
        let node = |parent, site| counters.node(&paths, &limit, key(parent, site), false);
        let first = node(ROOT, 0).expect("there is room");
        assert!(node(ROOT, 1).is_some() && node(first.path, 1).is_some());
        for site in 2..100 {
            assert!(node(ROOT, site).is_none() && node(ROOT, site).is_none());
        }
        // Refusals are not remembered without bound either.
        assert!(counters.known.lock().len() < 10);
        let again = node(ROOT, 0).expect("it is known");
        assert!(std::ptr::eq(first, again));
        assert!(again.record_time(1, 0, WriterEpoch::new(WriterEpoch::owner(1), 1)));
    }

    #[test]
    fn each_thread_reserves_memory_for_its_own_counters() {
        let paths = Mutex::new(CallPaths::new());
        let limit = MemoryLimit::new(2 * (NODE_BYTES + site_bytes(true)));
        let threads = [(); 3].map(|()| ThreadCounters::default());
        let key = PathKey::new(ROOT, 0, LabelNumber::NONE);
        let node = |thread: &ThreadCounters| thread.node(&paths, &limit, key, true).is_some();
        assert_eq!(threads.each_ref().map(node), [true, false, false]);
    }
}
