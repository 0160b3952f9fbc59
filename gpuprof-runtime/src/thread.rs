//! What one thread keeps: where in the call tree it is, its counters, and its part of GPU timing.
//!
//! Only the owning thread writes; the collector reads through [`Shared`]. Must not import span or report.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::gpu::GpuThread;
use crate::stats::counters::{Shared, SiteHistograms};
use crate::stats::histogram;
use crate::stats::node::Node;
use crate::stats::paths::{Paths, ROOT};

/// The owner's side.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) shared: Arc<Shared>,
    table: RefCell<Table>,
    /// Path of the innermost open span.
    pub(crate) current: Cell<u32>,
    /// Open spans and `with_stream`s.
    pub(crate) depth: Cell<u32>,
    /// Nanoseconds that spans inside the current one have taken so far.
    pub(crate) children: Cell<u64>,
    pub(crate) gpu: RefCell<GpuThread>,
}

#[derive(Debug, Default)]
struct Table {
    /// By (parent path, site): place in `nodes`, or `None` when there are too many paths.
    places: FxHashMap<(u32, u32), Option<u32>>,
    nodes: Vec<Arc<Node>>,
    histograms: FxHashMap<u32, SiteHistograms>,
}

/// A node of this thread, by its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeAt {
    pub(crate) place: u32,
    pub(crate) path: u32,
}

impl Thread {
    pub(crate) fn new() -> Self {
        Self {
            shared: Arc::default(),
            table: RefCell::default(),
            current: Cell::new(ROOT),
            depth: Cell::new(0),
            children: Cell::new(0),
            gpu: RefCell::new(GpuThread::new()),
        }
    }

    /// The node of `site` called from `parent`, made now if this thread was never there. `None`: there are too many.
    #[inline]
    pub(crate) fn node(
        &self,
        paths: &Mutex<Paths>,
        parent: u32,
        site: u32,
        is_async: bool,
    ) -> Option<NodeAt> {
        let mut table = self.table.try_borrow_mut().ok()?;
        let place = match table.places.get(&(parent, site)) {
            Some(place) => *place,
            None => table.add(&self.shared, paths, parent, site, is_async),
        }?;
        let node = table.nodes.get(place as usize)?;
        Some(NodeAt {
            place,
            path: node.path,
        })
    }

    /// Runs `f` on a node of this thread.
    #[inline]
    pub(crate) fn with_node(&self, place: u32, f: impl FnOnce(&Node)) {
        if let Ok(table) = self.table.try_borrow()
            && let Some(node) = table.nodes.get(place as usize)
        {
            f(node);
        }
    }

    /// Adds to a counter that only this thread writes.
    #[inline]
    pub(crate) fn count(counter: &AtomicU64, more: u64) {
        counter.store(counter.load(Relaxed) + more, Relaxed);
    }
}

impl Table {
    #[cold]
    fn add(
        &mut self,
        shared: &Shared,
        paths: &Mutex<Paths>,
        parent: u32,
        site: u32,
        is_async: bool,
    ) -> Option<u32> {
        let Some(path) = paths.lock().child(parent, site) else {
            self.places.insert((parent, site), None);
            return None;
        };
        let histograms = self.histograms.entry(site).or_insert_with(|| {
            let made = SiteHistograms {
                site,
                cpu: Arc::new(histogram::Shared::new()),
                wall: is_async.then(|| Arc::new(histogram::Shared::new())),
            };
            shared.histograms.lock().push(made.clone());
            made
        });
        let node = Arc::new(Node::new(
            path,
            site,
            Arc::clone(&histograms.cpu),
            histograms.wall.clone(),
        ));
        let place = u32::try_from(self.nodes.len()).ok()?;
        shared.nodes.lock().push(Arc::clone(&node));
        self.nodes.push(node);
        self.places.insert((parent, site), Some(place));
        Some(place)
    }
}
