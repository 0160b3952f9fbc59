//! From the timed calls of a sample to the total of all calls, and how sure that is.

use rustc_hash::FxHashMap;

use super::build_profile::ProfileInputs;
use super::call::UntimedReason;
use super::call_tree::{CallTreeNode, reason};
use super::sampling::Scaling;
use gpuprof_report::profile::Estimate;

/// What a function's total is scaled up by. The calls that could have been chosen are counted, so the total is that count
/// times the weighted mean of those that were (Hájek's estimator). Over a whole function, not path by path: a path that was
/// never chosen is then made up for by the others.
#[derive(Default)]
pub(super) struct Sampled {
    /// Calls that could have been chosen.
    all: u64,
    /// Those of them that were not.
    out: u64,
    /// How many calls those that were stand for.
    weights: u64,
    /// Those that stand for themselves alone.
    certain: u64,
}

impl Sampled {
    pub(super) fn add(&mut self, node: &CallTreeNode<'_>) {
        let (timed, weights) = node.chosen();
        let out = reason(&node.cpu, UntimedReason::SampledOut);
        self.all += timed + out;
        self.out += out;
        self.weights += weights;
        self.certain += node.gpu.iter().map(|(_, node)| node.certain).sum::<u64>();
    }

    /// What weighted times are multiplied by; `None` where nothing was chosen.
    pub(super) fn factor(&self) -> Option<f64> {
        (self.weights > 0).then(|| self.all as f64 / self.weights as f64)
    }
}

/// How sure a total on one device or on all is, where calls were left out of it. What is too little to tell by is as unsure
/// as it is large, but for the calls that stand for themselves. On several devices the widths add up, whatever they have to do with each other.
pub(super) fn estimate(
    inputs: &ProfileInputs<'_>,
    site: u32,
    nodes: &[&CallTreeNode<'_>],
    device: Option<u32>,
) -> Option<Estimate> {
    let mut sampled = Sampled::default();
    nodes.iter().for_each(|node| sampled.add(node));
    let factor = sampled.factor().filter(|_| sampled.out > 0)?;
    let mut totals: FxHashMap<u32, (f64, f64)> = FxHashMap::default();
    for node in nodes {
        for (ordinal, gpu) in &node.gpu {
            if device.is_none_or(|wanted| wanted == *ordinal) {
                let (free, held) = totals.entry(*ordinal).or_default();
                *free += gpu.outermost_ns as f64 * node.free_scale;
                *held += gpu.outermost_ns as f64 * node.scale;
            }
        }
    }
    let half_width = |(&ordinal, &(free, held)): (&u32, &(f64, f64))| {
        let ratio = free / sampled.all as f64;
        let clusters = &inputs.gpu.clusters;
        let half = clusters.half_width(site, ordinal, Scaling { factor, ratio });
        // A total that was held within another's still has all of its interval.
        let unknown = sampled.all.saturating_sub(sampled.certain) as f64 / sampled.all as f64;
        half.unwrap_or(free * unknown) + (free - held)
    };
    let half: f64 = totals.iter().map(half_width).sum();
    Some(Estimate {
        total_ci95_ns: half.round() as u64,
    })
}
