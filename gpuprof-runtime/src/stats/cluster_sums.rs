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

use rustc_hash::FxHashMap;

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
pub(super) enum Group {
    /// A call path on all devices.
    Path(u32),
    /// A site on one device, over its paths, so that those of one cluster are not taken as
    /// independent. Each call counts relative to the mean of its path so far: where durations
    /// change along with the rates, that of a single path is better.
    Site { site: u32, device: u32 },
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
    groups: FxHashMap<Group, Spread>,
    typical: FxHashMap<u32, TypicalTime>,
    /// The latest clusters so far: the newer and the older half.
    recent: [FxHashMap<(u64, Group), Cluster>; 2],
}

/// What a path's times are taken relative to.
#[derive(Clone, Copy, Debug)]
struct TypicalTime {
    /// Near their mean, so that sums of powers keep their precision.
    fixed_ns: f64,
    /// The mean so far of the calls that timed ones represent, and their number: so that paths of
    /// different durations can be added.
    mean_ns: f64,
    calls: f64,
}

impl TypicalTime {
    fn new(ns: u64, calls: u64) -> Self {
        Self {
            fixed_ns: ns as f64,
            mean_ns: ns as f64,
            calls: calls as f64,
        }
    }

    /// The difference of a call that represents `others` from the mean before it, as large as one
    /// from the final mean is (Welford).
    fn beyond_mean(&mut self, ns: u64, others: f64) -> f64 {
        let difference = ns as f64 - self.mean_ns;
        let calls = self.calls + others;
        let before = self.calls / calls;
        self.mean_ns += difference * (1.0 - before);
        self.calls = calls;
        difference * before.sqrt()
    }
}

/// The sums of a group. Times are relative to the typical one of their path.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    /// Drawn calls.
    drawn: u64,
    /// How many calls these represent beside themselves, and the sum of their times.
    represented: f64,
    represented_ns: f64,
    moments: Moments,
}

/// `Σ b (u − m v)²` and `Σ b² (u − m v)⁴` as polynomials in m, over addends of weighted time u,
/// weight v and share b of the variance.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    second: [f64; 3],
    fourth: [f64; 5],
}

/// Weighted time and weight of a cluster so far.
#[derive(Clone, Copy, Debug, Default)]
struct Cluster {
    u: f64,
    v: f64,
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
        let known = self.typical.entry(call.path).or_insert_with(|| {
            let (ns, calls) = typical();
            TypicalTime::new(ns, calls)
        });
        let beyond_ns = known.beyond_mean(call.ns, f64::from(draw.weight) - 1.0);
        let relative_ns = call.ns as f64 - known.fixed_ns;
        let (site, device) = (call.site, call.device);
        // On a further device, a call adds time to itself.
        let (more_ns, counts) = match call.counts {
            true => (relative_ns, true),
            false => (call.ns as f64, false),
        };
        self.add_to(Group::Path(call.path), draw, more_ns, counts);
        self.add_to(Group::Site { site, device }, draw, beyond_ns, true);
        if let Some(ns) = call.outermost_ns {
            let others_ns = call.ns.saturating_sub(ns) as f64;
            self.add_to(Group::Device(device), draw, beyond_ns - others_ns, true);
        }
    }

    fn add_to(&mut self, group: Group, draw: SamplingDraw, ns: f64, counts: bool) {
        let (weight, first) = (f64::from(draw.weight), f64::from(draw.cluster_rate.max(1)));
        // Shares of the variance: between clusters, and of the later draws within them.
        let (between, within) = (1.0 - 1.0 / first, 1.0 / first - 1.0 / weight);
        let [newer, older] = &mut self.recent;
        let key = (draw.cluster, group);
        let cluster = newer.entry(key);
        let cluster = cluster.or_insert_with(|| older.remove(&key).unwrap_or_default());
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
        if counts {
            spread.drawn += 1;
            spread.represented += weight - 1.0;
        }
        if newer.len() >= RECENT_CLUSTERS {
            *older = std::mem::take(newer);
        }
    }

    /// Adds the sums of another window.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (group, more) in &other.groups {
            let spread = self.groups.entry(*group).or_default();
            spread.drawn += more.drawn;
            spread.represented += more.represented;
            spread.represented_ns += more.represented_ns;
            spread.moments.merge(&more.moments);
        }
        for (path, typical) in &other.typical {
            self.typical.entry(*path).or_insert(*typical);
        }
    }

    /// Half the width of the 95 % interval of a group's total, ns, where `per_represented` calls
    /// were left out for each one that the timed ones represent. `None`: the sample is too small to
    /// tell.
    pub(super) fn half_width(&self, group: Group, per_represented: f64) -> Option<f64> {
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

impl Moments {
    /// Adds an addend, or takes one out if `sign` is −1.
    fn add(&mut self, sign: f64, share: f64, Cluster { u, v }: Cluster) {
        if share == 0.0 {
            return;
        }
        let (uu, uv, vv) = (u * u, u * v, v * v);
        let powers = [uu, uv, vv];
        for (sum, power) in self.second.iter_mut().zip(powers) {
            *sum += sign * share * power;
        }
        let powers = [uu * uu, uu * uv, uu * vv, uv * vv, vv * vv];
        for (sum, power) in self.fourth.iter_mut().zip(powers) {
            *sum += sign * share * share * power;
        }
    }

    fn merge(&mut self, other: &Self) {
        let second = self.second.iter_mut().zip(other.second);
        let fourth = self.fourth.iter_mut().zip(other.fourth);
        second.chain(fourth).for_each(|(sum, more)| *sum += more);
    }

    /// `Σ b (u − m v)²`
    fn second(&self, mean: f64) -> f64 {
        let [uu, uv, vv] = self.second;
        uu - 2.0 * mean * uv + mean * mean * vv
    }

    /// `Σ b² (u − m v)⁴`
    fn fourth(&self, mean: f64) -> f64 {
        let [u4, u3v, u2v2, uv3, v4] = self.fourth;
        let square = mean * mean;
        u4 - 4.0 * mean * u3v + 6.0 * square * u2v2 - 4.0 * square * mean * uv3
            + square * square * v4
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
