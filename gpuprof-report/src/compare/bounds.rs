//! What limits an item in the runs of each side, by hardware counters, and whether that changed.

use super::estimate::median;
use crate::peak_shares::{self, Bound, Unit, own_samples};
use crate::profile::{Device, Function, KernelStats};

/// How close an item came to each peak in a run.
pub(super) type PeakShares = Vec<(Unit, f64)>;

/// The least change of a share that is noted. Runs of one program differ by a hundredth, but clock
/// states that are 7 % apart move the share of the memory bandwidth, which does not follow the
/// clock, by 7 % of it: by 0.05 at 0.7.
const MIN_CHANGE: f64 = 0.05;

/// Of a function; `None` without samples of its own.
pub(super) fn of_function(function: &Function, devices: &[Device]) -> Option<PeakShares> {
    own_samples(function.activity.counters.as_deref())?;
    peak_shares::of_function(function, devices).map(by_path)
}

/// The same of a kernel.
pub(super) fn of_kernel(kernel: &KernelStats, devices: &[Device]) -> Option<PeakShares> {
    own_samples(kernel.counters.as_deref())?;
    peak_shares::of_kernel(kernel, devices).map(by_path)
}

/// Not all runs have samples that tell shared memory from the L1 caches.
fn by_path(mut shares: PeakShares) -> PeakShares {
    let units = shares.iter_mut().map(|(unit, _)| unit);
    units
        .filter(|unit| **unit == Unit::Shared)
        .for_each(|unit| *unit = Unit::L1);
    shares
}

/// The bound of a side, by the medians of its runs.
pub(super) fn bound(runs: &[Option<PeakShares>]) -> Option<Bound> {
    nearest(runs).map(Bound::of)
}

/// A line if the bound changed, or its share, by more than runs differ: of a unit that limits
/// either side, all runs of one side are at least [`MIN_CHANGE`] from all runs of the other.
pub(super) fn note(runs: &[Option<PeakShares>], old: usize) -> Option<String> {
    let (first, second) = runs.split_at_checked(old)?;
    let (before, after) = (nearest(first)?, nearest(second)?);
    let has_moved = |unit| {
        let ((low, high), (new_low, new_high)) = (range(first, unit)?, range(second, unit)?);
        Some((new_low - high).max(low - new_high) >= MIN_CHANGE)
    };
    let has_changed = [before.0, after.0]
        .into_iter()
        .any(|unit| has_moved(unit) == Some(true));
    let (before, after) = (Bound::of(before), Bound::of(after));
    (has_changed && before != after).then(|| format!("bound {before} → {after}"))
}

/// The unit with the largest median share.
fn nearest(runs: &[Option<PeakShares>]) -> Option<(Unit, f64)> {
    let units = runs.iter().flatten().next()?.iter().map(|(unit, _)| *unit);
    let medians = units.filter_map(|unit| Some((unit, median(shares(runs, unit).collect())?)));
    medians.max_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// The least and the greatest share of a unit.
fn range(runs: &[Option<PeakShares>], unit: Unit) -> Option<(f64, f64)> {
    let low = shares(runs, unit).reduce(f64::min)?;
    Some((low, shares(runs, unit).reduce(f64::max)?))
}

/// The shares of a unit in the runs that have it.
fn shares(runs: &[Option<PeakShares>], unit: Unit) -> impl Iterator<Item = f64> {
    let of_run = move |shares: &PeakShares| {
        let mut shares = shares.iter();
        shares
            .find(|(known, _)| *known == unit)
            .map(|(_, share)| *share)
    };
    runs.iter().flatten().filter_map(of_run)
}
