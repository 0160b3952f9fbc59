//! From figures to verdicts.

use std::cmp::Reverse;

use super::bounds::{self, PeakShares};
use super::comparison::{ComparedItem, ComparisonOptions, ItemKind, SideFigures, Verdict};
use super::estimate::{
    CommonFactors, ItemEstimate, LogValues, corrected, estimate, estimates, holm, median,
};
use super::items::RunsOfItem;
use super::measure::{Measure, PerCall};
use super::text;
use crate::table;

/// Judges items whose first `old` runs are of the old side.
pub(super) fn judge(
    runs: Vec<RunsOfItem>,
    old: usize,
    options: &ComparisonOptions,
) -> Vec<ComparedItem> {
    let values: Vec<LogValues> = runs.iter().map(logarithms).collect();
    let total_runs = values.first().map_or(0, Vec::len);
    let can_decide = total_runs > 2;
    let mut all = Vec::new();
    let mut corrected_values = values.clone();
    for is_gpu in [true, false] {
        let Some((basis, factors)) = common_factors(&runs, &values, is_gpu, total_runs) else {
            continue;
        };
        if !can_decide {
            continue;
        }
        for (at, values) in corrected_values.iter_mut().enumerate() {
            if runs
                .get(at)
                .is_some_and(|item| item.measure.is_gpu() == is_gpu)
            {
                let own = basis.iter().position(|item| *item == at);
                *values = corrected(values, &factors.without(own));
            }
        }
        all.extend(all_work(&factors, is_gpu, old, options));
    }
    let mut estimates = estimates(&corrected_values, old);
    correct_for_number(&mut estimates);
    let mut items: Vec<ComparedItem> = Vec::with_capacity(runs.len() + all.len());
    for ((item, values), found) in runs.iter().zip(&values).zip(estimates) {
        items.push(judged(item, values, found, old, options));
    }
    items.extend(all);
    sort(&mut items);
    items
}

fn logarithms(item: &RunsOfItem) -> LogValues {
    let values = item.runs.iter().map(|run| Some((*run)?.ns.ln()));
    values.collect()
}

/// The factors of the GPU's or the CPU's runs, and the items that they are from: kernels, or
/// functions that spend most of their time themselves.
fn common_factors(
    runs: &[RunsOfItem],
    values: &[LogValues],
    is_gpu: bool,
    total_runs: usize,
) -> Option<(Vec<usize>, CommonFactors)> {
    let from = |wanted: &dyn Fn(&RunsOfItem) -> bool| {
        let items = runs
            .iter()
            .enumerate()
            .filter(|(_, item)| item.runs.iter().all(Option::is_some) && wanted(item));
        let basis: Vec<usize> = items.map(|(at, _)| at).collect();
        let values: Vec<&LogValues> = basis.iter().filter_map(|at| values.get(*at)).collect();
        Some((basis, CommonFactors::new(&values, total_runs)?))
    };
    let is_own = |item: &RunsOfItem| item.runs.iter().flatten().all(|run| run.is_own);
    let functions = |item: &RunsOfItem| {
        item.kind == ItemKind::Function && item.measure.is_gpu() == is_gpu && is_own(item)
    };
    let kernels = |item: &RunsOfItem| is_gpu && item.kind == ItemKind::Kernel;
    from(&kernels).or_else(|| from(&functions))
}

/// The common factor as an item of its own.
fn all_work(
    factors: &CommonFactors,
    is_gpu: bool,
    old: usize,
    options: &ComparisonOptions,
) -> Option<ComparedItem> {
    let values: LogValues = factors.of_runs.iter().copied().map(Some).collect();
    let found = estimate(&values, old)?;
    let change = found.difference.exp_m1();
    let p = found.doubt.map(|(_, p)| p);
    let verdict = verdict(Some(&found), options.common_threshold, options);
    let mut notes = Vec::new();
    if verdict == Verdict::Unsure && p.is_some_and(|p| p < options.alpha) {
        notes.push(format!(
            "clocks and temperatures change all work by as much; below {} this is no verdict",
            text::percent(options.common_threshold)
        ));
    }
    let (name, measure) = if is_gpu {
        ("all GPU work", Measure::Span)
    } else {
        ("all CPU work", Measure::Cpu)
    };
    Some(ComparedItem {
        kind: ItemKind::All,
        name: name.to_owned(),
        measure,
        old: None,
        new: None,
        verdict,
        change: Some(change),
        interval: interval(&found),
        p,
        ranks_differ: found.ranks_differ,
        measured_change: Some(change),
        notes,
    })
}

fn correct_for_number(estimates: &mut [Option<ItemEstimate>]) {
    let doubts = estimates
        .iter_mut()
        .flatten()
        .filter_map(|found| found.doubt.as_mut());
    let mut probabilities: Vec<&mut f64> = doubts.map(|(_, p)| p).collect();
    holm(&mut probabilities);
}

/// The 95 % interval as shares.
fn interval(found: &ItemEstimate) -> Option<(f64, f64)> {
    let (half, _) = found.doubt?;
    let ends = (found.difference - half, found.difference + half);
    Some((ends.0.exp_m1(), ends.1.exp_m1()))
}

/// The verdict on a change of at least `least`. `None`: a side lacks the item.
fn verdict(found: Option<&ItemEstimate>, least: f64, options: &ComparisonOptions) -> Verdict {
    let Some(found) = found else {
        return Verdict::Unsure;
    };
    let Some((low, high)) = interval(found) else {
        return Verdict::Unsure;
    };
    let is_shown = found.doubt.is_some_and(|(_, p)| p < options.alpha) && found.ranks_differ;
    // As ratios, so that a change and its reverse are judged alike.
    let ratio = found.difference.exp();
    if is_shown && ratio >= 1.0 + least {
        Verdict::Slower
    } else if is_shown && ratio <= 1.0 / (1.0 + least) {
        Verdict::Faster
    } else if high <= options.margin && low >= -options.margin {
        Verdict::Same
    } else {
        Verdict::Unsure
    }
}

fn judged(
    item: &RunsOfItem,
    values: &LogValues,
    found: Option<ItemEstimate>,
    old: usize,
    options: &ComparisonOptions,
) -> ComparedItem {
    let (before, after) = item.runs.split_at_checked(old).unwrap_or((&item.runs, &[]));
    let peaks = &item.peak_shares;
    let (peaks_before, peaks_after) = peaks.split_at_checked(old).unwrap_or((peaks, &[]));
    let (before, after) = (figure(before, peaks_before), figure(after, peaks_after));
    let measured = estimate(values, old);
    let is_same_as_measured =
        verdict(measured.as_ref(), options.min_change, options) == Verdict::Same;
    // Not every item follows the clock: one that is the same as measured is not corrected.
    let found = if is_same_as_measured { measured } else { found };
    let change = found.map(|found| found.difference.exp_m1());
    let interval = found.as_ref().and_then(interval);
    let p = found.and_then(|found| Some(found.doubt?.1));
    let verdict = match (&before, &after) {
        (Some(_), Some(_)) => verdict(found.as_ref(), options.min_change, options),
        (None, Some(_)) => Verdict::New,
        (_, None) => Verdict::Gone,
    };
    let mut judged = ComparedItem {
        kind: item.kind,
        name: item.name.clone(),
        measure: item.measure,
        old: before,
        new: after,
        verdict,
        change,
        interval,
        p,
        ranks_differ: found.is_some_and(|found| found.ranks_differ),
        measured_change: measured.map(|of| of.difference.exp_m1()),
        notes: Vec::new(),
    };
    judged.notes = notes(&judged, &item.runs, old);
    judged.notes.extend(bounds::note(peaks, old));
    judged.notes.extend(allocated(&item.allocated, old));
    let is_odd = p.is_some_and(|p| p < options.alpha) && !judged.ranks_differ;
    if is_odd && judged.verdict == Verdict::Unsure {
        judged
            .notes
            .push("some runs of both sides are alike: the difference is of others".into());
    }
    judged
}

fn figure(runs: &[Option<PerCall>], peaks: &[Option<PeakShares>]) -> Option<SideFigures> {
    let runs: Vec<PerCall> = runs.iter().copied().flatten().collect();
    let logarithms: f64 = runs.iter().map(|run| run.ns.ln()).sum();
    let tails: Option<Vec<f64>> = runs.iter().map(|run| run.p95_ns).collect();
    (!runs.is_empty()).then(|| SideFigures {
        runs: runs.len(),
        ns: (logarithms / runs.len() as f64).exp(),
        calls: median(runs.iter().map(|run| run.calls as f64).collect()).unwrap_or(0.0) as u64,
        p95_ns: tails.and_then(median),
        bound: bounds::bound(peaks),
    })
}

/// The least change of a 95th percentile that is noted: histograms tell them apart to 1/16.
const TAIL_CHANGE: f64 = 1.15;

/// What the verdict does not say: other numbers of calls, a longer tail, and a change that all work
/// shares.
fn notes(item: &ComparedItem, runs: &[Option<PerCall>], old: usize) -> Vec<String> {
    let mut notes = Vec::new();
    let (Some(before), Some(after)) = (&item.old, &item.new) else {
        return notes;
    };
    if before.calls != after.calls {
        notes.push(format!(
            "calls per run {} → {}",
            table::count(before.calls).text(),
            table::count(after.calls).text()
        ));
    }
    let tails = |range: &[Option<PerCall>]| -> Vec<f64> {
        let tails = range.iter().flatten().filter_map(|run| run.p95_ns);
        tails.collect()
    };
    let (first, second) = runs.split_at_checked(old).unwrap_or((runs, &[]));
    let longest = tails(first).into_iter().fold(0.0, f64::max);
    let shortest = tails(second).into_iter().fold(f64::INFINITY, f64::min);
    if let (Some(p95_before), Some(p95_after)) = (before.p95_ns, after.p95_ns)
        && item.verdict != Verdict::Slower
        && shortest > longest * TAIL_CHANGE
    {
        notes.push(format!(
            "in every new run the 95th percentile is above that of every old one: {} → {}",
            text::duration(p95_before),
            text::duration(p95_after)
        ));
    }
    if let (Some(change), Some(measured)) = (item.change, item.measured_change)
        && (change - measured).abs() >= SHARED_CHANGE
    {
        notes.push(format!("{} as measured", text::change(measured)));
    }
    notes
}

/// Allocated memory, where every run of one side has more of it than every run of the other.
fn allocated(runs: &[Option<u64>], old: usize) -> Option<String> {
    let (first, second) = runs.split_at_checked(old)?;
    let range = |runs: &[Option<u64>]| {
        let known = || runs.iter().flatten().copied();
        let is_known = runs.iter().all(Option::is_some);
        known().min().zip(known().max()).filter(|_| is_known)
    };
    let (before, after) = (range(first)?, range(second)?);
    let differ = before.1 < after.0 || after.1 < before.0;
    differ.then(|| {
        format!(
            "device memory allocated per run {} → {}",
            table::size(before.1).text(),
            table::size(after.1).text()
        )
    })
}

/// The least difference between a change and the measured one that is noted.
const SHARED_CHANGE: f64 = 0.005;

/// All work first, then by verdict, then by the time on the new side, or on the old one.
fn sort(items: &mut [ComparedItem]) {
    items.sort_by_cached_key(|item| {
        let figure = item.new.as_ref().or(item.old.as_ref());
        let total_ns = figure.map_or(0.0, |figure| figure.ns * figure.calls as f64);
        (
            item.kind != ItemKind::All,
            item.verdict,
            Reverse(total_ns as u64),
            item.name.clone(),
        )
    });
}
