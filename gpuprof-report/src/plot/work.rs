//! What the device can do at most with the stated work, and where that work outgrows its caches.

use std::collections::BTreeMap;

use super::number;
use super::quantity::Quantity;
use super::sweep::{Sweep, Work};
use crate::profile::Device;

/// Rooflines of a plot.
const MAX_CURVES: usize = 8;

/// The stated work over x, which some implementations share.
pub(super) struct WorkCurve {
    /// Indices of the implementations.
    implementations: Vec<usize>,
    /// By the bits of x, whose order for positive numbers is that of the numbers.
    at: BTreeMap<u64, Work>,
}

/// Where the stated bytes are as many as a cache holds.
pub(super) struct CacheMark {
    pub(super) x: f64,
    pub(super) cache: &'static str,
    pub(super) bytes: f64,
}

/// The distinct work of the implementations: two share a curve if they state the same at each x
/// that both have.
pub(super) fn curves(sweep: &Sweep<'_>) -> Vec<WorkCurve> {
    let mut curves: Vec<WorkCurve> = Vec::new();
    for series in &sweep.series {
        let stated = series.points.iter().filter(|point| {
            let Work { bytes, flops, .. } = point.work;
            bytes.is_some() || flops.is_some()
        });
        let at: BTreeMap<u64, Work> = stated
            .map(|point| (point.x.to_bits(), point.work))
            .collect();
        if at.is_empty() {
            continue;
        }
        let has_room = curves.len() < MAX_CURVES;
        match curves.iter_mut().find(|curve| curve.agrees(&at)) {
            Some(curve) => {
                curve.at.extend(at);
                if !curve.implementations.contains(&series.implementation) {
                    curve.implementations.push(series.implementation);
                }
            }
            None if has_room => curves.push(WorkCurve {
                implementations: vec![series.implementation],
                at,
            }),
            None => {}
        }
    }
    curves
}

impl WorkCurve {
    fn agrees(&self, other: &BTreeMap<u64, Work>) -> bool {
        let mut shared = other
            .iter()
            .filter_map(|(x, work)| Some((self.at.get(x)?, work)));
        let first = shared.next();
        first.is_some_and(|(a, b)| a == b) && shared.all(|(a, b)| a == b)
    }

    /// What its implementations have in common, or else the first of them.
    pub(super) fn label(&self, sweep: &Sweep<'_>) -> String {
        let parts = |index: &usize| sweep.implementations.get(*index);
        let mut all = self.implementations.iter().filter_map(parts);
        let Some(first) = all.next() else {
            return String::new();
        };
        let mut common = first.clone();
        all.for_each(|parts| common.retain(|part| parts.contains(part)));
        if common.is_empty() && !first.is_empty() {
            format!("{}, …", first.join(", "))
        } else {
            common.join(", ")
        }
    }

    /// The most that the device can reach, or the least time it can take, over x. Work is
    /// interpolated between the points so that the line turns where memory and arithmetic take
    /// the same time.
    pub(super) fn roofline(&self, device: &Device, quantity: Quantity) -> Vec<(f64, f64)> {
        let bounds: Vec<Bound> = self
            .at
            .iter()
            .map(|(x, work)| Bound::new(f64::from_bits(*x), *work, device))
            .collect();
        let mut line = Vec::new();
        for (at, bound) in bounds.iter().enumerate() {
            line.extend(bound.value(quantity));
            let turn = bounds.get(at + 1).and_then(|next| bound.turn(next));
            line.extend(turn.and_then(|turn| turn.value(quantity)));
        }
        line
    }

    fn crossings(&self, bytes: f64) -> Vec<f64> {
        let all: Vec<(f64, f64)> = self
            .at
            .iter()
            .filter_map(|(x, work)| Some((f64::from_bits(*x), work.bytes?)))
            .collect();
        let equal = all
            .iter()
            .filter(|(_, stated)| *stated == bytes)
            .map(|(x, _)| *x);
        let between = all.iter().zip(all.iter().skip(1)).filter_map(|(a, b)| {
            let is_crossed = (a.1 < bytes && bytes < b.1) || (b.1 < bytes && bytes < a.1);
            let share = (bytes / a.1).ln() / (b.1 / a.1).ln();
            is_crossed.then(|| between(a.0, b.0, share))
        });
        equal.chain(between).collect()
    }
}

/// The least times of one call.
struct Bound {
    x: f64,
    work: Work,
    memory_ns: Option<f64>,
    arithmetic_ns: Option<f64>,
}

impl Bound {
    fn new(x: f64, work: Work, device: &Device) -> Self {
        let bandwidth = device.peak_bytes_per_s.filter(|peak| *peak > 0);
        let ns = |amount: f64, peak: f64| amount / peak * 1e9;
        let memory_ns = || Some(ns(work.bytes?, bandwidth? as f64));
        let arithmetic_ns = || Some(ns(work.flops?, work.peak_flops?));
        Self {
            x,
            work,
            memory_ns: memory_ns(),
            arithmetic_ns: arithmetic_ns(),
        }
    }

    fn value(&self, quantity: Quantity) -> Option<(f64, f64)> {
        // `None` is less than any time.
        let ns = match (self.memory_ns, self.arithmetic_ns) {
            (Some(memory), Some(arithmetic)) => memory.max(arithmetic),
            (memory, arithmetic) => memory.or(arithmetic)?,
        };
        Some((self.x, quantity.of(&self.work, ns)?))
    }

    /// Where memory and arithmetic take the same time between here and `next`.
    fn turn(&self, next: &Self) -> Option<Self> {
        let here = (self.memory_ns? / self.arithmetic_ns?).ln();
        let there = (next.memory_ns? / next.arithmetic_ns?).ln();
        let share = here / (here - there);
        let is_between = share > 0.0 && share < 1.0;
        is_between.then_some(())?;
        let both = |of: fn(&Self) -> Option<f64>| Some(between(of(self)?, of(next)?, share));
        Some(Self {
            x: between(self.x, next.x, share),
            work: Work {
                bytes: both(|bound| bound.work.bytes),
                flops: both(|bound| bound.work.flops),
                peak_flops: self.work.peak_flops,
            },
            memory_ns: both(|bound| bound.memory_ns),
            arithmetic_ns: both(|bound| bound.arithmetic_ns),
        })
    }
}

/// The marks of all curves, by ascending x.
pub(super) fn cache_marks(curves: &[WorkCurve], device: &Device) -> Vec<CacheMark> {
    let l1 = || Some(u64::from(device.sm_count?).saturating_mul(device.l1_bytes_per_sm?));
    let caches = [("L1", l1()), ("L2", device.l2_bytes)];
    let mut marks = Vec::new();
    for (cache, bytes) in caches {
        let Some(bytes) = bytes
            .map(|bytes| bytes as f64)
            .filter(|b| number::is_positive(*b))
        else {
            continue;
        };
        let mut places: Vec<f64> = curves.iter().flat_map(|c| c.crossings(bytes)).collect();
        places.sort_by(f64::total_cmp);
        // Those of work that is almost the same are one.
        places.dedup_by(|b, a| *b < *a * 1.01);
        marks.extend(places.into_iter().map(|x| CacheMark { x, cache, bytes }));
    }
    marks.sort_by(|a, b| a.x.total_cmp(&b.x));
    marks
}

/// Geometric interpolation.
fn between(from: f64, to: f64, share: f64) -> f64 {
    (from.ln() + (to.ln() - from.ln()) * share).exp()
}
