//! The spread of sampled times, for confidence intervals.
//!
//! Sampling draws once for an outermost span and all spans nested in it, so nested calls are no
//! independent sample: the spread comes from the sums over each such cluster. A site's own `sample`
//! and rate draw again within a cluster.
//!
//! Let e = Σ w (x − m) over the calls of a cluster, of weight w and duration x, where m is the mean
//! of the calls that were left out. A cluster is timed with probability p₁, and a call in it with
//! p₂. The variance of an estimated total is then
//!
//! ```text
//! V = Σ clusters (1 − p₁) e² + Σ calls p₁ (1 − p₂) (w (x − m))²
//! ```
//!
//! (ratio estimator under cluster sampling: Cochran, Sampling Techniques, 3rd ed., chapters 9A and
//! 11; draws that are made independently: Särndal, Swensson, Wretman, Model Assisted Survey
//! Sampling, chapters 4 and 5). m is known at the end only, and V is a polynomial in it. So sums of
//! powers are kept instead of calls, and memory does not grow with the number of calls.

mod mean_time;
mod spread;

use std::borrow::Cow;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use self::mean_time::MeanTime;
use self::spread::{Cluster, GroupSums};
use super::sampling_decisions::SamplingDraw;

/// Sums of clusters kept open for late results: between this many and twice as many. A GPU time
/// that arrives after its cluster was dropped starts a new cluster.
const RECENT_CLUSTERS: usize = 8_192;

/// The fewest drawn calls, and the least effective number of them, that give an interval.
const LEAST_SAMPLE: f64 = 4.0;

/// The 0.975 quantile of Student's t for 1, 2, … degrees of freedom.
const T975: [f64; 10] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
];
/// The 0.975 quantile of the normal distribution.
pub(super) const Z975: f64 = 1.959_964;

/// What a spread is asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ClusterGroup {
    /// A call path on all devices.
    Path(u32),
    /// A site over its paths, so that those of one cluster are not taken as independent. Each call
    /// counts relative to the mean of its path so far: where durations change along with the rates,
    /// that of a single path is better.
    Site(u32),
    /// The part of it on one of several devices, to which a call on another adds 0.
    SiteOn { site: u32, device: u32 },
    /// The spans of a device that are nested in no timed span.
    Device(u32),
}

/// A timed call of a weight over 1, on one of its devices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallOfCluster {
    pub(crate) path: u32,
    pub(crate) site: u32,
    pub(crate) device: u32,
    /// True on the first of its devices.
    pub(crate) counts: bool,
    pub(crate) ns: u64,
    /// The time that counts for the device, if the call is nested in no timed span.
    pub(crate) outermost_ns: Option<u64>,
}

/// Sums over the clusters of each group.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterSums {
    groups: FxHashMap<ClusterGroup, GroupSums>,
    typical: FxHashMap<u32, TypicalTime>,
    /// By path and device, of sites on several.
    typical_on: FxHashMap<(u32, u32), MeanTime>,
    /// By site: its devices.
    devices: FxHashMap<u32, Vec<u32>>,
    /// The latest clusters so far: the newer and the older half.
    recent: [FxHashMap<(u64, ClusterGroup), Cluster>; 2],
}

/// What a path's times are taken relative to.
#[derive(Clone, Copy, Debug)]
struct TypicalTime {
    site: u32,
    /// Near their mean, so that sums of powers keep their precision.
    fixed_ns: f64,
    mean: MeanTime,
}

impl ClusterSums {
    /// Adds a call. `typical`: a duration like that of the path's calls before, and their number;
    /// asked once.
    pub(crate) fn add(
        &mut self,
        call: &CallOfCluster,
        draw: SamplingDraw,
        typical: impl FnOnce() -> (u64, u64),
    ) {
        self.add_group(call.site, call.device);
        let known = self.typical.entry(call.path).or_insert_with(|| {
            let (ns, calls) = typical();
            let (fixed_ns, calls) = (ns as f64, calls as f64);
            TypicalTime {
                site: call.site,
                fixed_ns,
                mean: MeanTime {
                    ns: fixed_ns,
                    calls,
                },
            }
        });
        let (ns, others, counts) = (call.ns as f64, f64::from(draw.weight) - 1.0, call.counts);
        let varies = counts && known.mean.calls > 0.0;
        // On a further device, a call adds time to itself.
        let (relative_ns, beyond_ns) = if counts {
            (ns - known.fixed_ns, known.mean.beyond(ns, others))
        } else {
            (ns, known.mean.add_time_on_another_device(ns, others))
        };
        let (path, site) = (ClusterGroup::Path(call.path), ClusterGroup::Site(call.site));
        self.add_to(path, draw, relative_ns, counts, counts);
        self.add_to(site, draw, beyond_ns, counts, varies);
        let devices = self.devices.get(&call.site);
        match devices.filter(|devices| devices.len() > 1).cloned() {
            None => self.add_outermost(call, draw, beyond_ns, varies),
            Some(devices) => self.add_on_devices(call, draw, &devices),
        }
    }

    /// Adds a call of a site on several devices.
    #[cold]
    fn add_on_devices(&mut self, call: &CallOfCluster, draw: SamplingDraw, devices: &[u32]) {
        let others = f64::from(draw.weight) - 1.0;
        for &device in devices {
            let is_here = device == call.device;
            let ns = if is_here { call.ns as f64 } else { 0.0 };
            let mean = self.typical_on.entry((call.path, device)).or_default();
            let varies = call.counts && mean.calls > 0.0;
            let beyond_ns = if call.counts {
                mean.beyond(ns, others)
            } else {
                mean.add_time_on_another_device(ns, others)
            };
            let site = call.site;
            self.add_to(
                ClusterGroup::SiteOn { site, device },
                draw,
                beyond_ns,
                call.counts,
                varies,
            );
            if is_here {
                self.add_outermost(call, draw, beyond_ns, varies);
            } else if call.outermost_ns.is_some() {
                let group = ClusterGroup::Device(device);
                self.add_to(group, draw, beyond_ns, call.counts, varies);
            }
        }
    }

    fn add_outermost(
        &mut self,
        call: &CallOfCluster,
        draw: SamplingDraw,
        beyond_ns: f64,
        varies: bool,
    ) {
        if let Some(ns) = call.outermost_ns {
            let others_ns = call.ns.saturating_sub(ns) as f64;
            let (group, ns) = (ClusterGroup::Device(call.device), beyond_ns - others_ns);
            self.add_to(group, draw, ns, call.counts, varies);
        }
    }

    /// `varies`: the time is relative to that of other calls, and so says how much times vary.
    fn add_to(
        &mut self,
        group: ClusterGroup,
        draw: SamplingDraw,
        ns: f64,
        counts: bool,
        varies: bool,
    ) {
        let (weight, first) = (f64::from(draw.weight), f64::from(draw.cluster_rate.max(1)));
        // Shares of the variance: between clusters, and of the later draws within them.
        let (between, within) = (1.0 - 1.0 / first, 1.0 / first - 1.0 / weight);
        let [newer, older] = &mut self.recent;
        let key = (draw.cluster, group);
        let cluster = newer
            .entry(key)
            .or_insert_with(|| older.remove(&key).unwrap_or_default());
        let spread = self.groups.entry(group).or_default();
        let more = Cluster {
            u: weight * ns,
            v: if counts { weight } else { 0.0 },
        };
        // Each call changes the addend of its cluster in place, so it need not be known when a
        // cluster is complete.
        spread.moments.add(-1.0, between, *cluster);
        cluster.u += more.u;
        cluster.v += more.v;
        spread.moments.add(1.0, between, *cluster);
        spread.moments.add(1.0, within, more);
        spread.represented_ns += (weight - 1.0) * ns;
        spread.drawn += u64::from(varies);
        if counts {
            spread.represented += weight - 1.0;
        }
        if newer.len() >= RECENT_CLUSTERS {
            *older = std::mem::take(newer);
        }
    }

    /// Calls of the site run on the device.
    fn add_group(&mut self, site: u32, device: u32) {
        let devices = self.devices.entry(site).or_default();
        if devices.contains(&device) {
            return;
        }
        devices.push(device);
        if let [first, .., latest] = **devices {
            let is_second = devices.len() == 2;
            self.divide(site, is_second.then_some(first), latest);
        }
    }

    /// A site runs on one more device, `latest`, with no time so far; all time was on `first`, if
    /// it is the second.
    #[cold]
    fn divide(&mut self, site: u32, first: Option<u32>, latest: u32) {
        let on = |device| ClusterGroup::SiteOn { site, device };
        let so_far = self
            .groups
            .get(&ClusterGroup::Site(site))
            .copied()
            .unwrap_or_default();
        self.groups.insert(on(latest), so_far.without_time());
        if let Some(first) = first {
            self.groups.insert(on(first), so_far);
        }
        for half in &mut self.recent {
            let of_site = |((id, group), cluster): (&(u64, ClusterGroup), &Cluster)| {
                (*group == ClusterGroup::Site(site)).then_some((*id, *cluster))
            };
            let of_site: Vec<_> = half.iter().filter_map(of_site).collect();
            for (id, cluster) in of_site {
                half.insert((id, on(latest)), Cluster { u: 0.0, ..cluster });
                if let Some(first) = first {
                    half.insert((id, on(first)), cluster);
                }
            }
        }
        for (&path, typical) in &self.typical {
            if typical.site == site {
                let mean = MeanTime {
                    ns: 0.0,
                    ..typical.mean
                };
                self.typical_on.insert((path, latest), mean);
                if let Some(first) = first {
                    self.typical_on.insert((path, first), typical.mean);
                }
            }
        }
    }

    /// Adds the sums of another window.
    pub(crate) fn merge(&mut self, other: &Self) {
        let mut other = Cow::Borrowed(other);
        for (site, devices) in &self.devices {
            let known = other.devices.get(site);
            let lacks = |device: &&u32| known.is_some_and(|known| !known.contains(device));
            let lacking: Vec<u32> = devices.iter().filter(lacks).copied().collect();
            for device in lacking {
                other.to_mut().add_group(*site, device);
            }
        }
        for (site, devices) in &other.devices {
            devices
                .iter()
                .for_each(|device| self.add_group(*site, *device));
        }
        for (group, more) in &other.groups {
            let mut more = *more;
            if let ClusterGroup::Path(path) = group
                && let (Some(own), Some(others)) = (self.typical.get(path), other.typical.get(path))
            {
                more.shift(others.fixed_ns - own.fixed_ns);
            }
            self.groups.entry(*group).or_default().merge(&more);
        }
        for (path, typical) in &other.typical {
            match self.typical.entry(*path) {
                Entry::Occupied(mut known) => known.get_mut().mean.merge(typical.mean),
                Entry::Vacant(new) => {
                    new.insert(*typical);
                }
            }
        }
        for (key, mean) in &other.typical_on {
            self.typical_on.entry(*key).or_default().merge(*mean);
        }
    }

    /// The group of a site on one of its devices or on all.
    pub(super) fn site_group(&self, site: u32, device: Option<u32>) -> ClusterGroup {
        let is_divided = self.devices.get(&site).is_some_and(|all| all.len() > 1);
        match device.filter(|_| is_divided) {
            Some(device) => ClusterGroup::SiteOn { site, device },
            None => ClusterGroup::Site(site),
        }
    }

    /// Half the width of the 95 % interval of a group's total, ns, where `per_represented` calls
    /// were left out for each one that the timed ones represent. `None`: the sample is too small to
    /// tell.
    pub(super) fn half_width(&self, group: ClusterGroup, per_represented: f64) -> Option<f64> {
        let spread = self.groups.get(&group)?;
        if (spread.drawn as f64) < LEAST_SAMPLE {
            return None;
        }
        let mean = spread.represented_ns / spread.represented;
        let (second, fourth) = (spread.moments.second(mean), spread.moments.fourth(mean));
        if second <= 0.0 {
            return Some(0.0);
        }
        // How many equal addends would spread as much (Satterthwaite).
        let effective = second * second / fourth;
        if effective < LEAST_SAMPLE || !effective.is_finite() {
            return None;
        }
        Some(t975(effective - 1.0) * second.sqrt() * per_represented)
    }
}

/// The 0.975 quantile of Student's t. Between the entries of the table by interpolation, beyond it
/// by its expansion (Abramowitz, Stegun, 26.7.5), which is accurate to 0.003.
fn t975(freedom: f64) -> f64 {
    let whole = freedom.floor().max(1.0);
    let at = whole as usize;
    if let Some([low, high]) = T975.get(at - 1..=at) {
        return low + (high - low) * (freedom - whole).max(0.0);
    }
    let z = Z975;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    z + (z.powi(3) + z) / 4.0 / freedom + second / (freedom * freedom)
}

#[cfg(test)]
mod tests;
