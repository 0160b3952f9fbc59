//! The call tree with its GPU times: what each path measured, what lies below it, what sampling makes of it.

use rustc_hash::FxHashMap;

use super::call::Untimed as Reason;
use super::gpu_node::GpuNode;
use super::node::NodeData;
use super::paths::{Path, ROOT};
use super::summary::Measured;

/// One path with everything known of it.
pub(super) struct Place<'a> {
    pub(super) path: Path,
    pub(super) cpu: NodeData,
    /// By device.
    pub(super) gpu: Vec<(u32, &'a GpuNode)>,
    /// What sampled times are multiplied by to stand for all calls; 1 without sampling.
    pub(super) scale: f64,
    /// GPU time below, of spans whose streams no timed span between has all of.
    pub(super) below: f64,
    /// Its own time holds that of spans inside on some of several streams.
    pub(super) own_overlaps: bool,
    /// `below` holds some of its time twice, for the same reason.
    pub(super) below_overlaps: bool,
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
            below: 0.0,
            own_overlaps: false,
            below_overlaps: false,
        });
    }
    scale(&mut places);
    let mut enclosed: Vec<_> = measured.gpu.enclosed.iter().collect();
    enclosed.sort_unstable();
    let (outermost, inside): (Vec<_>, Vec<_>) = enclosed
        .into_iter()
        .filter(|(_, ns)| **ns > 0)
        .partition(|((_, covered, _), _)| *covered == ROOT);
    for (&(path, covered, blurs), &ns) in inside {
        add_below(&mut places, path, covered, ns);
        note_overlap(&mut places, path, covered, blurs);
    }
    for &(&(path, covered, blurs), _) in &outermost {
        note_overlap(&mut places, path, covered, blurs);
    }
    add_outermost(&mut places, outermost);
    places
}

/// Adds the times of paths inside no timed span to all places above each: from the bottom up in one go, as a deep recursion
/// can have them at every level.
fn add_outermost(places: &mut [Place<'_>], times: Vec<(&(u32, u32, u32), &u64)>) {
    let mut up = vec![0.0; places.len()];
    for (&(path, ..), &ns) in times {
        if let (Some(sum), Some(place)) = (up.get_mut(path as usize), places.get(path as usize)) {
            *sum += ns as f64 * place.scale;
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

/// Sets what sampled times are multiplied by. The calls of a function that could have been chosen are counted, so its
/// total is that count times the weighted mean of those that were (Hájek's estimator); each path's weight is how many
/// calls one stands for there. Over a whole function, not path by path: a path that was never chosen is then made up for
/// by the others.
fn scale(places: &mut [Place<'_>]) {
    let mut sampled: FxHashMap<u32, (u64, f64)> = FxHashMap::default();
    for place in places.iter().skip(1) {
        let (timed, weight) = place.chosen();
        let (all, weights) = sampled.entry(place.path.site).or_default();
        *all += timed + reason(&place.cpu, Reason::SampledOut);
        *weights += weight * timed as f64;
    }
    for place in places.iter_mut().skip(1) {
        let (_, weight) = place.chosen();
        if let Some(&(all, weights)) = sampled.get(&place.path.site)
            && weights > 0.0
        {
            place.scale = all as f64 * weight / weights;
        }
    }
}

impl Place<'_> {
    /// Timed calls, and how many calls each stands for.
    fn chosen(&self) -> (u64, f64) {
        let timed = self.gpu.iter().map(|(_, node)| node.calls).sum();
        let weight = self.gpu.iter().map(|(_, node)| node.stands_for).max();
        (timed, f64::from(weight.unwrap_or(1).max(1)))
    }
}

/// Adds the time of `path` to all places above it, up to the span `covered`, which has it in its own time already.
fn add_below(places: &mut [Place<'_>], path: u32, covered: u32, ns: u64) {
    let Some(place) = places.get(path as usize) else {
        return;
    };
    let (scaled, mut at) = (ns as f64 * place.scale, place.path.parent);
    while at != ROOT
        && let Some(above) = places.get_mut(at as usize)
    {
        above.below += scaled;
        at = if at == covered {
            ROOT
        } else {
            above.path.parent
        };
    }
}

/// Marks the span `blurs`, which shares some streams with `path`, and all places above that count both.
fn note_overlap(places: &mut [Place<'_>], path: u32, covered: u32, blurs: u32) {
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
