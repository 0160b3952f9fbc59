//! GPU times of one place on one device. The resolver is the only writer; readers take the lock around the whole map.

use rustc_hash::FxHashMap;

use super::Durations;
use super::histogram::Plain;
use super::node::Work;
use super::paths::ROOT;

/// GPU times of one path on one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GpuNode {
    /// Every time read on this device.
    pub(crate) times: Durations,
    /// Calls counted here: those whose first device this is.
    pub(crate) calls: u64,
    /// Part of the calls inside no call of the same site on the same stream.
    pub(crate) outermost_ns: u64,
    /// Time of timed spans directly inside, on the same stream, each weighted by its own sampling.
    pub(crate) children_ns: u64,
    /// Calls of which not every time could be read.
    pub(crate) failed: u64,
    /// Stated work of the calls counted here.
    pub(crate) work: Work,
}

/// One resolved call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuCall {
    pub(crate) path: u32,
    pub(crate) site: u32,
    pub(crate) device: u32,
    /// Whether this is the first device of the call's.
    pub(crate) counts: bool,
    /// The nearest enclosing timed span on the same single stream.
    pub(crate) parent: Option<u32>,
    pub(crate) outermost: bool,
    /// How many calls of the parent's this one stands for, by its own site's `sample`.
    pub(crate) weight: u32,
    pub(crate) work: Work,
}

/// All GPU times of the current epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct GpuStats {
    /// By (path, device).
    pub(crate) nodes: FxHashMap<(u32, u32), GpuNode>,
    /// Time by (path, path of the nearest enclosing timed span on the same single stream or [`ROOT`]).
    pub(crate) enclosed: FxHashMap<(u32, u32), u64>,
    /// By (site, device).
    pub(crate) histograms: FxHashMap<(u32, u32), Plain>,
}

impl GpuStats {
    pub(crate) fn add(&mut self, call: &GpuCall, ns: u64) {
        let node = self.nodes.entry((call.path, call.device)).or_default();
        node.times.add(ns);
        if call.counts {
            node.calls += 1;
            node.work.add(&call.work);
        }
        if call.outermost {
            node.outermost_ns += ns;
        }
        let enclosing = call.parent.unwrap_or(ROOT);
        *self.enclosed.entry((call.path, enclosing)).or_default() += ns;
        if let Some(parent) = call.parent {
            self.nodes
                .entry((parent, call.device))
                .or_default()
                .children_ns += ns * u64::from(call.weight);
        }
        self.histograms
            .entry((call.site, call.device))
            .or_default()
            .record(ns);
    }

    pub(crate) fn fail(&mut self, call: &GpuCall) {
        self.nodes
            .entry((call.path, call.device))
            .or_default()
            .failed += 1;
    }
}
