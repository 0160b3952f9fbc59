//! The sum of many threads' counters, by path and by site.

use std::sync::atomic::Ordering::Relaxed;

use rustc_hash::FxHashMap;

use super::path_counters::PathTotals;
use super::thread_counters::ThreadCounters;
use gpuprof_report::histogram::Histogram;

/// Counters of any number of threads, as plain data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// By path.
    pub(crate) nodes: Vec<PathTotals>,
    /// By site.
    pub(crate) cpu: FxHashMap<u32, Histogram>,
    /// By site, of async functions.
    pub(crate) wall: FxHashMap<u32, Histogram>,
    /// By site: threads that recorded a call in the window.
    pub(crate) threads: FxHashMap<u32, u32>,
    pub(crate) own_ticks: u64,
    pub(crate) setup_ticks: u64,
    pub(crate) stalled_ticks: u64,
    pub(crate) misnested: u64,
    pub(crate) dropped: u64,
}

impl Totals {
    /// Adds what a thread has counted so far.
    pub(crate) fn add(&mut self, thread: &ThreadCounters) {
        let epoch = super::epoch();
        for node in thread.nodes.lock().iter() {
            let at = node.path as usize;
            if self.nodes.len() <= at {
                self.nodes.resize(at + 1, PathTotals::default());
            }
            if let Some(sum) = self.nodes.get_mut(at) {
                sum.merge(&node.read(epoch));
            }
        }
        for (&site, counters) in thread.sites.lock().iter() {
            counters.cpu.add_to(self.cpu.entry(site).or_default());
            if let Some(wall) = &counters.wall {
                wall.add_to(self.wall.entry(site).or_default());
            }
            *self.threads.entry(site).or_default() += counters.threads(epoch);
        }
        self.own_ticks += thread.own_ticks.load(Relaxed);
        self.setup_ticks += thread.setup_ticks.load(Relaxed);
        self.stalled_ticks += thread.stalled_ticks.load(Relaxed);
        self.misnested += thread.misnested.load(Relaxed);
        self.dropped += thread.dropped.load(Relaxed);
    }

    /// Adds what another window has counted.
    pub(crate) fn fold(&mut self, other: &Self) {
        if self.nodes.len() < other.nodes.len() {
            self.nodes.resize(other.nodes.len(), PathTotals::default());
        }
        for (sum, more) in self.nodes.iter_mut().zip(&other.nodes) {
            sum.merge(more);
        }
        for (sums, more) in [(&mut self.cpu, &other.cpu), (&mut self.wall, &other.wall)] {
            for (site, more) in more {
                sums.entry(*site).or_default().merge(more);
            }
        }
        // The same threads, as far as anybody can tell.
        for (site, &threads) in &other.threads {
            let known = self.threads.entry(*site).or_default();
            *known = threads.max(*known);
        }
        self.own_ticks += other.own_ticks;
        self.setup_ticks += other.setup_ticks;
        self.stalled_ticks += other.stalled_ticks;
        self.misnested += other.misnested;
        self.dropped += other.dropped;
    }

    /// Takes away an earlier state of the same sum.
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
        self.own_ticks = self.own_ticks.saturating_sub(earlier.own_ticks);
        self.setup_ticks = self.setup_ticks.saturating_sub(earlier.setup_ticks);
        self.stalled_ticks = self.stalled_ticks.saturating_sub(earlier.stalled_ticks);
        self.misnested = self.misnested.saturating_sub(earlier.misnested);
        self.dropped = self.dropped.saturating_sub(earlier.dropped);
    }
}
