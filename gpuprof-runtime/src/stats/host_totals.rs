//! The sum of many threads' counters, by path and by site.

use rustc_hash::FxHashMap;

use super::calls_in_progress::CallsInProgress;
use super::host_path_totals::HostPathTotals;
use gpuprof_report::histogram::Histogram;

/// The counters of any number of threads, as plain data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// By path.
    pub(crate) nodes: Vec<HostPathTotals>,
    /// By site.
    pub(crate) cpu: FxHashMap<u32, Histogram>,
    /// By site, for async functions.
    pub(crate) wall: FxHashMap<u32, Histogram>,
    /// By site: threads that recorded a call in the window.
    pub(crate) threads: FxHashMap<u32, u32>,
    pub(crate) overhead_ticks: u64,
    pub(crate) setup_ticks: u64,
    pub(crate) stalled_ticks: u64,
    pub(crate) misnested: u64,
    pub(crate) dropped: u64,
    pub(crate) invalid_amounts: u64,
}

impl Totals {
    /// Adds what one thread has counted on `path`.
    pub(super) fn add_node(&mut self, path: u32, node: &HostPathTotals) {
        let index = path as usize;
        if self.nodes.len() <= index {
            self.nodes.resize(index + 1, HostPathTotals::default());
        }
        if let Some(sum) = self.nodes.get_mut(index) {
            sum.merge(node);
        }
    }

    /// Adds the totals of a later window, whose calls in progress replace those of this one.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.set_open_calls(other);
        for (sum, more) in self.nodes.iter_mut().zip(&other.nodes) {
            let open = sum.open;
            sum.merge(more);
            sum.open = open;
        }
        for (sums, more) in [(&mut self.cpu, &other.cpu), (&mut self.wall, &other.wall)] {
            for (site, more) in more {
                sums.entry(*site).or_default().merge(more);
            }
        }
        // Most likely the same threads, so the larger number and not the sum.
        for (site, &threads) in &other.threads {
            let known = self.threads.entry(*site).or_default();
            *known = threads.max(*known);
        }
        self.overhead_ticks += other.overhead_ticks;
        self.setup_ticks += other.setup_ticks;
        self.stalled_ticks += other.stalled_ticks;
        self.misnested += other.misnested;
        self.dropped += other.dropped;
        self.invalid_amounts += other.invalid_amounts;
    }

    /// Replaces the calls in progress by those of `latest`.
    pub(crate) fn set_open_calls(&mut self, latest: &Self) {
        if self.nodes.len() < latest.nodes.len() {
            self.nodes
                .resize(latest.nodes.len(), HostPathTotals::default());
        }
        let mut latest = latest.nodes.iter();
        for node in &mut self.nodes {
            node.open = latest.next().map(|node| node.open).unwrap_or_default();
        }
    }

    /// Adds calls in progress on `path`.
    pub(crate) fn add_open_calls(&mut self, path: u32, open: &CallsInProgress) {
        if let Some(node) = self.nodes.get_mut(path as usize) {
            node.open.add(open);
        }
    }

    /// Subtracts an earlier state of the same sum. The calls in progress are left unchanged.
    pub(crate) fn subtract(&mut self, earlier: &Self) {
        for (node, gone) in self.nodes.iter_mut().zip(&earlier.nodes) {
            node.subtract(gone);
        }
        for (histograms, gone) in [
            (&mut self.cpu, &earlier.cpu),
            (&mut self.wall, &earlier.wall),
        ] {
            for (site, gone) in gone {
                if let Some(histogram) = histograms.get_mut(site) {
                    histogram.subtract(gone);
                }
            }
        }
        self.overhead_ticks = self.overhead_ticks.saturating_sub(earlier.overhead_ticks);
        self.setup_ticks = self.setup_ticks.saturating_sub(earlier.setup_ticks);
        self.stalled_ticks = self.stalled_ticks.saturating_sub(earlier.stalled_ticks);
        self.misnested = self.misnested.saturating_sub(earlier.misnested);
        self.dropped = self.dropped.saturating_sub(earlier.dropped);
        self.invalid_amounts = self.invalid_amounts.saturating_sub(earlier.invalid_amounts);
    }
}
