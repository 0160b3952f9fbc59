//! The call tree with its GPU times: what each path measured, what lies below it, what sampling makes of it.

use rustc_hash::FxHashMap;

use super::build_profile::Measured;
use super::call::Untimed as Reason;
use super::estimate::Sampled;
use super::gpu_totals::GpuNode;
use super::path_counters::NodeData;
use super::path_ids::{Path, ROOT};

/// One path with everything known of it.
pub(super) struct Place<'a> {
    pub(super) path: Path,
    pub(super) cpu: NodeData,
    /// By device.
    pub(super) gpu: Vec<(u32, &'a GpuNode)>,
    /// What times, each as often as it stands for, are multiplied by to make those of all calls; 1 without sampling.
    pub(super) scale: f64,
    /// The same before what is inside another place was held within that.
    pub(super) free_scale: f64,
    /// GPU time below, of spans whose streams no timed span between has all of.
    pub(super) below: f64,
    /// Its own time holds that of spans inside on some of several streams.
    pub(super) own_overlaps: bool,
    /// `below` holds some of its time twice, for the same reason.
    pub(super) below_overlaps: bool,
    /// `below` lacks the time of calls that were to be timed.
    pub(super) below_partial: bool,
    /// `below` is partly scaled up from a sample.
    pub(super) below_estimated: bool,
}

pub(super) fn places<'a>(measured: &'a Measured<'_>) -> Vec<Place<'a>> {
    let mut gpu: FxHashMap<u32, Vec<(u32, &GpuNode)>> = FxHashMap::default();
    for (&(path, device), node) in &measured.gpu.nodes {
        gpu.entry(path).or_default().push((device, node));
    }
    let mut places: Vec<Place<'_>> = Vec::with_capacity(measured.paths.len());
    for (at, &path) in measured.paths.iter().enumerate() {
        let cpu = measured.merged.nodes.get(at).copied().unwrap_or_default();
        let mut gpu = gpu.remove(&(at as u32)).unwrap_or_default();
        gpu.sort_unstable_by_key(|(device, _)| *device);
        places.push(Place {
            path,
            cpu,
            gpu,
            scale: 1.0,
            free_scale: 1.0,
            below: 0.0,
            own_overlaps: false,
            below_overlaps: false,
            below_partial: false,
            below_estimated: false,
        });
    }
    scale(&mut places);
    let mut enclosed: Vec<Enclosed> = measured
        .gpu
        .enclosed
        .iter()
        .filter(|(_, time)| time.ns > 0)
        .map(|(&(path, covered, blurs), &time)| Enclosed {
            covered,
            path,
            blurs,
            ns: time.ns,
            read_ns: time.read_ns,
        })
        .collect();
    enclosed.sort_unstable();
    for inside in enclosed.chunk_by(|a, b| a.covered == b.covered) {
        hold_within(&mut places, inside);
    }
    for one in &enclosed {
        if one.covered != ROOT {
            add_below(&mut places, one);
        }
        note_overlap(&mut places, one);
    }
    add_outermost(&mut places, &enclosed);
    note_doubt(&mut places, &enclosed);
    places
}

/// Marks the places whose `below` lacks time, or estimates it.
fn note_doubt(places: &mut [Place<'_>], enclosed: &[Enclosed]) {
    // By site: whether any call was timed, and whether replays make up for what was captured.
    let mut sites: FxHashMap<u32, (bool, bool)> = FxHashMap::default();
    for place in places.iter().skip(1) {
        let (timed, replayed) = sites.entry(place.path.site).or_default();
        *timed |= place.chosen().0 > 0;
        *replayed |= place.cpu.counts.replays > 0;
    }
    let site = |place: &Place<'_>| sites.get(&place.path.site).copied().unwrap_or_default();
    let partial = above(places, enclosed, |place| {
        let ((is_timed, is_replayed), counts) = (site(place), &place.cpu.counts);
        let sampled_out = reason(&place.cpu, Reason::SampledOut);
        let made_up_for = if is_timed { sampled_out } else { 0 };
        let replayed = if is_replayed { counts.in_graph } else { 0 };
        counts.with_stream() > place.chosen().0 + made_up_for + replayed
    });
    let estimated = above(places, enclosed, |place| {
        site(place).0 && reason(&place.cpu, Reason::SampledOut) > 0
    });
    for ((place, partial), estimated) in places.iter_mut().zip(partial).zip(estimated) {
        (place.below_partial, place.below_estimated) = (partial, estimated);
    }
}

/// The places whose `below` has a part in those that `is_so` holds for: all above one of these, up to the nearest that has its
/// time in its own already.
fn above(
    places: &[Place<'_>],
    enclosed: &[Enclosed],
    is_so: impl Fn(&Place<'_>) -> bool,
) -> Vec<bool> {
    // Where a path's way up ends; of several ways the longest.
    let mut ends: FxHashMap<u32, u32> = FxHashMap::default();
    for one in enclosed {
        let end = match places.get(one.covered as usize) {
            Some(covered) if covered.has_time() => one.covered,
            _ => ROOT,
        };
        let known = ends.entry(one.path).or_insert(end);
        *known = end.min(*known);
    }
    let mut found = vec![false; places.len()];
    let mut ways: Vec<Option<u32>> = vec![None; places.len()];
    // From the bottom up: a parent stands before its children.
    for (at, place) in places.iter().enumerate().skip(1).rev() {
        let from_here = || ends.get(&(at as u32)).copied().unwrap_or(ROOT);
        let own = is_so(place).then(from_here);
        let inside = ways.get(at).copied().flatten();
        let parent = place.path.parent;
        let way = own.into_iter().chain(inside).min();
        if let Some(end) = way.filter(|end| *end < at as u32 && parent != ROOT)
            && let (Some(found), Some(way)) = (
                found.get_mut(parent as usize),
                ways.get_mut(parent as usize),
            )
        {
            *found = true;
            *way = Some(way.map_or(end, |known| known.min(end)));
        }
    }
    found
}

/// Adds the times of paths inside no timed span to all places above each: from the bottom up in one go, as a deep recursion
/// can have them at every level.
fn add_outermost(places: &mut [Place<'_>], enclosed: &[Enclosed]) {
    let mut up = vec![0.0; places.len()];
    for one in enclosed.iter().filter(|one| one.covered == ROOT) {
        let at = one.path as usize;
        if let (Some(sum), Some(place)) = (up.get_mut(at), places.get(at)) {
            *sum += one.ns as f64 * place.scale;
        }
    }
    for at in (1..places.len()).rev() {
        let sum = up.get(at).copied().unwrap_or(0.0);
        let parent = places.get(at).map_or(ROOT, |place| place.path.parent);
        if parent != ROOT
            && let (Some(up), Some(above)) =
                (up.get_mut(parent as usize), places.get_mut(parent as usize))
        {
            *up += sum;
            above.below += sum;
        }
    }
}

/// Time of `path`, as it was measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Enclosed {
    /// The nearest timed place above that has it in its own time, or [`ROOT`].
    covered: u32,
    path: u32,
    /// The nearest that has it in part, or [`ROOT`].
    blurs: u32,
    ns: u64,
    /// Each call as one.
    read_ns: u64,
}

/// Sets what times are multiplied by.
fn scale(places: &mut [Place<'_>]) {
    let mut by_site: FxHashMap<u32, Sampled> = FxHashMap::default();
    for place in places.iter().skip(1) {
        by_site.entry(place.path.site).or_default().add(place);
    }
    for place in places.iter_mut().skip(1) {
        if let Some(factor) = by_site.get(&place.path.site).and_then(Sampled::factor) {
            place.scale = factor;
            place.free_scale = factor;
        }
    }
}

/// Holds what is inside one place within its total. Each is estimated by its own count of calls, so by chance the parts can
/// come out larger than the whole. Outer places come first, so that what is inside the inner ones follows.
fn hold_within(places: &mut [Place<'_>], inside: &[Enclosed]) {
    let enclosing = inside.first().map_or(ROOT, |one| one.covered);
    let Some(outer) = places.get(enclosing as usize).filter(|_| enclosing != ROOT) else {
        return;
    };
    let limit = outer.measured_ns() as f64 * outer.scale;
    // More than the whole as it was read: futures that ran beside each other, which no chance explains.
    let read: u64 = outer.gpu.iter().map(|(_, node)| node.read_ns).sum();
    if inside.iter().map(|one| one.read_ns).sum::<u64>() > read {
        return;
    }
    let scaled = |places: &[Place<'_>], one: &Enclosed| {
        let scale = places
            .get(one.path as usize)
            .map_or(0.0, |place| place.scale);
        one.ns as f64 * scale
    };
    let sum: f64 = inside.iter().map(|one| scaled(places, one)).sum();
    if sum <= limit {
        return;
    }
    for one in inside {
        let over = scaled(places, one) * (1.0 - limit / sum);
        if let Some(place) = places.get_mut(one.path as usize) {
            let total = place.measured_ns() as f64 * place.scale;
            // The part of the place that is inside this one.
            place.scale *= 1.0 - over / total.max(over);
        }
    }
}

impl Place<'_> {
    /// Sum of the times that were read, each as often as it stands for.
    fn measured_ns(&self) -> u64 {
        self.gpu.iter().map(|(_, node)| node.times.total).sum()
    }

    /// Whether a time of it was read.
    fn has_time(&self) -> bool {
        self.gpu.iter().any(|(_, node)| node.read > 0)
    }

    /// Timed calls, and how many calls they stand for.
    pub(super) fn chosen(&self) -> (u64, u64) {
        let sum = |of: fn(&GpuNode) -> u64| self.gpu.iter().map(|(_, node)| of(node)).sum();
        (sum(|node| node.calls), sum(|node| node.weights))
    }
}

/// Adds the time of a path to all places above it, up to the span that has it in its own time already. Where that one went
/// untimed after all, up to the next that has a time, which may hold this one too.
fn add_below(places: &mut [Place<'_>], one: &Enclosed) {
    let Enclosed {
        covered, path, ns, ..
    } = *one;
    let Some(place) = places.get(path as usize) else {
        return;
    };
    let (scaled, mut at) = (ns as f64 * place.scale, place.path.parent);
    let mut is_past = false;
    while at != ROOT
        && let Some(above) = places.get_mut(at as usize)
    {
        above.below += scaled;
        is_past |= at == covered;
        at = match is_past && above.has_time() {
            true => ROOT,
            false => above.path.parent,
        };
    }
}

/// Marks the span `blurs`, which shares some streams with `path`, and all places above that count both.
fn note_overlap(places: &mut [Place<'_>], one: &Enclosed) {
    let Enclosed {
        covered,
        path,
        blurs,
        ..
    } = *one;
    if blurs == ROOT {
        return;
    }
    if let Some(place) = places.get_mut(blurs as usize) {
        place.own_overlaps = true;
    }
    let mut counts_both = false;
    let mut at = path;
    while at != ROOT && at != covered {
        counts_both |= at == blurs;
        let Some(place) = places.get(at as usize) else {
            return;
        };
        at = place.path.parent;
        if let Some(above) = places.get_mut(at as usize) {
            above.below_overlaps |= counts_both;
        }
    }
}

pub(super) fn reason(data: &NodeData, reason: Reason) -> u64 {
    data.counts
        .untimed
        .get(reason as usize)
        .copied()
        .unwrap_or(0)
}
