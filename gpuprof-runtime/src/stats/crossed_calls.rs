//! Calls that began in an earlier window than they ended in: copies of what they added to the
//! window in which they ended. Under a schedule that window may be discarded, as a warm-up or a
//! pause; these calls still count.

use super::host_path_totals::HostPathTotals;
use super::host_totals::Totals;
use crate::clock;
use gpuprof_report::histogram::Histogram;

/// The crossed calls of one site on one thread. They are rare: at most one for each path and
/// window, and of async functions those that were pending.
#[derive(Debug, Default)]
pub(super) struct CrossedCalls {
    /// By path.
    nodes: Vec<(u32, HostPathTotals)>,
    cpu: Histogram,
    /// For async functions.
    wall: Histogram,
}

impl CrossedCalls {
    /// Adds one call.
    pub(super) fn add(&mut self, path: u32, mut call: HostPathTotals) {
        for durations in [&mut call.cpu, &mut call.wall] {
            (durations.min, durations.max) = (durations.total, durations.total);
        }
        self.cpu.record(clock::rough_ns(call.cpu.total));
        self.wall.record(clock::rough_ns(call.wall.total));
        match self.nodes.iter_mut().find(|(known, _)| *known == path) {
            Some((_, sum)) => sum.merge(&call),
            None => self.nodes.push((path, call)),
        }
    }

    /// Adds them to `totals` as calls of `site`.
    pub(super) fn add_to(&self, site: u32, is_async: bool, totals: &mut Totals) {
        for (path, calls) in &self.nodes {
            totals.add_node(*path, calls);
        }
        totals.cpu.entry(site).or_default().merge(&self.cpu);
        if is_async {
            totals.wall.entry(site).or_default().merge(&self.wall);
        }
        *totals.threads.entry(site).or_default() += 1;
    }
}
