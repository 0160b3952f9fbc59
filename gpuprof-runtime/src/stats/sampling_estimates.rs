//! Sampling: the totals estimated from timed calls, and their confidence intervals.
//!
//! Sampling draws once for an outermost span and all spans nested in it, so nested calls are no
//! independent sample: the spread comes from the sums over each such cluster. A site's own `sample`
//! draws again within a cluster. Only sums of squares and products are stored, so memory does not
//! grow with the number of calls.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Clusters kept open for late results: between this many and twice as many. A GPU time that
/// arrives after its cluster was dropped starts a new cluster.
const RECENT_CLUSTERS: usize = 4_096;

/// The 0.975 quantile of Student's t for 1, 2, … degrees of freedom.
const T975: [f64; 10] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
];
/// The 0.975 quantile of the normal distribution.
const Z975: f64 = 1.959_964;

/// The sampling decision for a timed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SamplingDraw {
    /// Identifies the first draw: shared by the calls that it decided on, and no others.
    pub(crate) cluster: u64,
    /// One cluster in this many is timed.
    pub(crate) cluster_rate: u32,
    /// How many calls this one represents by all draws made for it.
    pub(crate) weight: u32,
}

impl SamplingDraw {
    /// No draw was made: the call represents itself.
    pub(crate) const UNSAMPLED: Self = Self {
        cluster: 0,
        cluster_rate: 1,
        weight: 1,
    };
}

/// Sums over the clusters of each site.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterSums {
    by_site: FxHashMap<u32, SiteSums>,
    /// The latest clusters so far, by cluster and site: the newer and the older half.
    recent: [FxHashMap<(u64, u32), Cluster>; 2],
}

/// By device. There is almost always one.
type ByDevice<T> = SmallVec<[(u32, T); 1]>;

/// Sums of one site. `u` is the weighted time of a cluster on a device, `v` its weighted number of
/// calls.
#[derive(Clone, Debug, Default)]
struct SiteSums {
    clusters: u64,
    vv: f64,
    times: ByDevice<Products>,
}

/// Sums of `u²` and `u v`.
#[derive(Clone, Copy, Debug, Default)]
struct Products {
    uu: f64,
    uv: f64,
}

/// `u` and `v` of a cluster so far.
#[derive(Clone, Debug, Default)]
struct Cluster {
    u: ByDevice<f64>,
    v: f64,
}

/// How a site's total was estimated from its sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct RatioEstimate {
    /// All calls divided by the weighted number of timed ones.
    pub(super) calls_per_weight: f64,
    /// The estimated total divided by all calls, ns.
    pub(super) ratio: f64,
}

impl ClusterSums {
    /// Adds a call's time on one device. `counts` is true on the first of its devices.
    pub(crate) fn add(
        &mut self,
        site: u32,
        draw: SamplingDraw,
        device: u32,
        counts: bool,
        ns: u64,
    ) {
        if draw.weight <= 1 {
            return;
        }
        let (weight, first) = (f64::from(draw.weight), f64::from(draw.cluster_rate.max(1)));
        // Shares of the variance: between clusters, and of the later draws within them.
        let (between, within) = (1.0 - 1.0 / first, 1.0 / first - 1.0 / weight);
        let sums = self.by_site.entry(site).or_default();
        let key = (draw.cluster, site);
        let [newer, older] = &mut self.recent;
        let cluster = newer.entry(key).or_insert_with(|| {
            older.remove(&key).unwrap_or_else(|| {
                sums.clusters += 1;
                Cluster::default()
            })
        });
        // Each call updates its cluster's squares and products in place, so it need not be known
        // when a cluster is complete: (x + d)² − x² = d (2 x + d).
        if counts {
            sums.vv += between * weight * (2.0 * cluster.v + weight) + within * weight * weight;
            for &(device, u) in &cluster.u {
                sums.on(device, |sum| sum.uv += between * u * weight);
            }
            cluster.v += weight;
        }
        let (v, more) = (cluster.v, weight * ns as f64);
        let mut before = 0.0;
        on(&mut cluster.u, device, |u| {
            before = *u;
            *u += more;
        });
        sums.on(device, |sum| {
            sum.uu += between * more * (2.0 * before + more) + within * more * more;
            sum.uv += between * more * v + within * more * weight;
        });
        if newer.len() >= RECENT_CLUSTERS {
            *older = std::mem::take(newer);
        }
    }

    /// Adds the sums of another window.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (site, more) in &other.by_site {
            let sums = self.by_site.entry(*site).or_default();
            sums.clusters += more.clusters;
            sums.vv += more.vv;
            for &(device, more) in &more.times {
                sums.on(device, |sum| {
                    sum.uu += more.uu;
                    sum.uv += more.uv;
                });
            }
        }
    }

    /// Half the width of the 95 % interval of a site's total on a device, in ns. `None`: fewer than
    /// two clusters were timed.
    ///
    /// The variance of a ratio estimator under cluster sampling (Cochran, Sampling Techniques, 3rd
    /// ed., chapters 9A and 11), for draws that are made for each span independently (Särndal,
    /// Swensson, Wretman, Model Assisted Survey Sampling, chapters 4 and 5). With `e = u − ratio ·
    /// v` of a cluster and of a single call it is `Σ clusters (1 − p₁) e² + Σ calls p₁ (1 − p₂)
    /// e²`, where a cluster is timed with probability p₁ and a call in it with p₂. The quantile is
    /// Student's, because the spread itself is only estimated.
    pub(super) fn half_width(
        &self,
        site: u32,
        device: u32,
        estimate: RatioEstimate,
    ) -> Option<f64> {
        let sums = self.by_site.get(&site)?;
        let freedom = sums
            .clusters
            .checked_sub(1)
            .filter(|&freedom| freedom > 0)?;
        let mut times = sums.times.iter().filter(|(known, _)| *known == device);
        let Products { uu, uv } = times.next().map_or(Products::default(), |(_, sum)| *sum);
        let RatioEstimate {
            calls_per_weight,
            ratio,
        } = estimate;
        let squares = uu - 2.0 * ratio * uv + ratio * ratio * sums.vv;
        let small = sums.clusters as f64 / freedom as f64;
        Some(t975(freedom) * calls_per_weight * (squares.max(0.0) * small).sqrt())
    }
}

impl SiteSums {
    fn on(&mut self, device: u32, change: impl FnOnce(&mut Products)) {
        on(&mut self.times, device, change);
    }
}

/// The sample of a site. The calls that could have been timed are counted, so the total is that
/// count times the weighted mean of the timed ones (Hájek's estimator). It is made over the whole
/// function and not by path: a path that was never drawn is then represented by the others.
#[derive(Default)]
pub(super) struct SiteSample {
    /// Timed calls, unweighted.
    pub(super) timed_calls: u64,
    /// Calls that were left out, captured ones among them.
    pub(super) left_out: u64,
    /// Of these, the calls that did not ask the driver whether they were captured.
    pub(super) unasked: u64,
    /// An estimate of how many of those were captured, and its variance.
    pub(super) captured_unasked: u64,
    pub(super) calls_variance: u64,
    /// The weights of the timed calls.
    pub(super) weights: u64,
    /// Timed calls of weight 1.
    pub(super) certain: u64,
}

impl SiteSample {
    /// Calls that were left out before the driver was asked, and were captured: an estimate.
    pub(super) fn captured_unasked(&self) -> u64 {
        self.captured_unasked.min(self.unasked)
    }

    /// Calls that were left out and could have been timed.
    pub(super) fn sampled_out(&self) -> u64 {
        self.left_out.saturating_sub(self.captured_unasked())
    }

    /// Calls that could have been timed.
    pub(super) fn calls(&self) -> u64 {
        self.timed_calls + self.sampled_out()
    }

    /// All calls divided by the weights of the timed ones, near 1: corrects times that already
    /// carry their weights. `None`: no call was timed.
    pub(super) fn calls_per_weight(&self) -> Option<f64> {
        (self.weights > 0).then(|| self.calls() as f64 / self.weights as f64)
    }

    /// The share of the calls that were not timed with certainty.
    pub(super) fn uncertain_share(&self) -> f64 {
        self.calls().saturating_sub(self.certain) as f64 / self.calls() as f64
    }

    /// Half the width of the 95 % interval of `calls`.
    pub(super) fn calls_half_width(&self) -> f64 {
        Z975 * (self.calls_variance as f64).sqrt()
    }
}

/// Changes the entry of `device`, which is added if it is missing.
fn on<T: Default>(list: &mut ByDevice<T>, device: u32, change: impl FnOnce(&mut T)) {
    match list.iter_mut().find(|(known, _)| *known == device) {
        Some((_, entry)) => change(entry),
        None => {
            let mut entry = T::default();
            change(&mut entry);
            list.push((device, entry));
        }
    }
}

/// The 0.975 quantile of Student's t. Beyond the table by its expansion (Abramowitz, Stegun,
/// 26.7.5), which is accurate to 0.003.
fn t975(freedom: u64) -> f64 {
    let listed = usize::try_from(freedom - 1)
        .ok()
        .and_then(|index| T975.get(index));
    listed.copied().unwrap_or_else(|| {
        let (n, z) = (freedom as f64, Z975);
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
        z + (z.powi(3) + z) / 4.0 / n + second / (n * n)
    })
}

#[cfg(test)]
mod tests {
    use super::{ClusterSums, RatioEstimate, SamplingDraw, t975};

    #[test]
    fn the_quantiles_are_students() {
        // From tables of the distribution.
        for (freedom, t) in [
            (1, 12.706),
            (10, 2.228),
            (11, 2.201),
            (30, 2.042),
            (120, 1.980),
        ] {
            assert!(
                (t975(freedom) - t).abs() < 0.003,
                "{freedom}: {}",
                t975(freedom)
            );
        }
    }

    fn sums(calls: &[(u64, u64)], cluster_rate: u32, weight: u32) -> ClusterSums {
        let mut clusters = ClusterSums::default();
        for &(cluster, ns) in calls {
            let draw = SamplingDraw {
                cluster,
                cluster_rate,
                weight,
            };
            clusters.add(1, draw, 0, true, ns);
        }
        clusters
    }

    #[test]
    fn calls_of_one_cluster_count_as_one() {
        // Interleaved, as streams resolve: cluster sums of 30, 50 and 70 from two calls each.
        let calls = [(1, 10), (2, 20), (3, 40), (2, 30), (3, 30), (1, 20)];
        let estimate = RatioEstimate {
            calls_per_weight: 1.0,
            ratio: 25.0,
        };
        let found = sums(&calls, 4, 4).half_width(1, 0, estimate).unwrap();
        // e: 4 · (−20, 0, 20); n ⁄ (n − 1) is 3 ⁄ 2.
        let wanted = 4.303 * (0.75 * 16.0 * 800.0 * 1.5_f64).sqrt();
        assert!((found - wanted).abs() < 1e-6, "{found}, not {wanted}");
    }

    #[test]
    fn draws_within_a_cluster_add_their_own_spread() {
        // No spread between the clusters, all of it within.
        let calls = [(1, 10), (1, 30), (2, 10), (2, 30)];
        let estimate = RatioEstimate {
            calls_per_weight: 1.0,
            ratio: 20.0,
        };
        let all = sums(&calls, 2, 2).half_width(1, 0, estimate).unwrap();
        assert_eq!(all, 0.0);
        let half = sums(&calls, 2, 4).half_width(1, 0, estimate).unwrap();
        // Σ p₁ (1 − p₂) (4 · 10)², and n ⁄ (n − 1) is 2.
        let wanted = 12.706 * (0.25 * 4.0 * 1600.0 * 2.0_f64).sqrt();
        assert!((half - wanted).abs() < 1e-6, "{half}, not {wanted}");
    }

    #[test]
    fn one_cluster_gives_no_interval() {
        let estimate = RatioEstimate {
            calls_per_weight: 2.0,
            ratio: 10.0,
        };
        let found = sums(&[(7, 10), (7, 10)], 2, 2).half_width(1, 0, estimate);
        assert_eq!(found, None);
    }

    #[test]
    fn the_clusters_in_memory_are_bounded() {
        let calls: Vec<_> = (0..20_000).map(|cluster| (cluster, 5)).collect();
        let clusters = sums(&calls, 2, 2);
        assert!(
            clusters
                .recent
                .iter()
                .all(|half| half.len() <= super::RECENT_CLUSTERS)
        );
    }
}
