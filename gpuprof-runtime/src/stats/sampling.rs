//! How sure a total is that was scaled up from a sample.
//!
//! Sampling draws once for an outermost span and everything inside it, so the calls inside are no independent sample: what
//! tells of the spread are the sums over each such cluster. A site's own `sample` draws again within. Kept are only sums
//! of squares and products, so memory does not go by the number of calls. Must not import gpu, span or collector.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Clusters of which more may come, kept apart: at least so many of the latest, at most twice as many. A sample can lie on
/// the way while so many follow; what comes later still counts as a cluster more.
const RECENT: usize = 4_096;

/// The 0.975 quantile of Student's t for 1, 2, … degrees of freedom.
const T975: [f64; 10] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
];
/// The same of the normal distribution.
const Z975: f64 = 1.959_964;

/// What sampling drew for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SamplingDraw {
    /// A number that the calls share for which the same first draw was made, and no others.
    pub(crate) cluster: u64,
    /// One cluster in so many is drawn.
    pub(crate) cluster_rate: u32,
    /// How many calls this one stands for by everything that was drawn for it, the first draw included.
    pub(crate) weight: u32,
}

impl SamplingDraw {
    /// Nothing was drawn: the call stands for itself.
    pub(crate) const UNSAMPLED: Self = Self {
        cluster: 0,
        cluster_rate: 1,
        weight: 1,
    };
}

/// Sums over the clusters of all sites.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clusters {
    by_site: FxHashMap<u32, Sums>,
    /// What came of the latest clusters so far, by cluster and site: the newer and the older half.
    recent: [FxHashMap<(u64, u32), Cluster>; 2],
}

/// By device: almost always one.
type ByDevice<T> = SmallVec<[(u32, T); 1]>;

/// Of one site. `u` is the weighted time of a cluster on a device, `v` its weighted number of calls.
#[derive(Clone, Debug, Default)]
struct Sums {
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

/// `u` and `v` of a cluster as far as it has come.
#[derive(Clone, Debug, Default)]
struct Cluster {
    u: ByDevice<f64>,
    v: f64,
}

/// How a site's total was made from its sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scaling {
    /// All calls over the weighted number of timed ones.
    pub(super) factor: f64,
    /// The estimated total over all calls, ns.
    pub(super) ratio: f64,
}

impl Clusters {
    /// Adds a call's time on one device; `counts` on the first of its devices.
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
        // Squares and products grow by what the call adds to the cluster's, so that no cluster need ever be closed.
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
        if newer.len() >= RECENT {
            *older = std::mem::take(newer);
        }
    }

    /// Adds what another window has.
    pub(crate) fn fold(&mut self, other: &Self) {
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

    /// Half the width of the 95 % interval of a site's total on a device, ns. `None`: too few clusters were draw to tell.
    ///
    /// The variance of a ratio estimator under cluster sampling (Cochran, Sampling Techniques, 3rd ed., chapters 9A and 11),
    /// for draws that are made for each span on its own (Särndal, Swensson, Wretman, Model Assisted Survey Sampling,
    /// chapters 4 and 5): with `e = u − ratio · v` of a cluster and of a single call,
    /// `Σ clusters (1 − p₁) e² + Σ calls p₁ (1 − p₂) e²`, where a cluster is draw with p₁ and a call in it with p₂. The
    /// quantile is Student's, as the spread itself is only estimated.
    pub(super) fn half_width(&self, site: u32, device: u32, scaling: Scaling) -> Option<f64> {
        let sums = self.by_site.get(&site)?;
        let freedom = sums
            .clusters
            .checked_sub(1)
            .filter(|&freedom| freedom > 0)?;
        let mut times = sums.times.iter().filter(|(known, _)| *known == device);
        let Products { uu, uv } = times.next().map_or(Products::default(), |(_, sum)| *sum);
        let Scaling { factor, ratio } = scaling;
        let squares = uu - 2.0 * ratio * uv + ratio * ratio * sums.vv;
        let small = sums.clusters as f64 / freedom as f64;
        Some(t975(freedom) * factor * (squares.max(0.0) * small).sqrt())
    }
}

impl Sums {
    fn on(&mut self, device: u32, change: impl FnOnce(&mut Products)) {
        on(&mut self.times, device, change);
    }
}

/// Changes the entry of `device`, which is made where there is none.
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

/// The 0.975 quantile of Student's t; beyond the table by its expansion (Abramowitz, Stegun, 26.7.5), to 0.003.
fn t975(freedom: u64) -> f64 {
    let listed = usize::try_from(freedom - 1)
        .ok()
        .and_then(|at| T975.get(at));
    listed.copied().unwrap_or_else(|| {
        let (n, z) = (freedom as f64, Z975);
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
        z + (z.powi(3) + z) / 4.0 / n + second / (n * n)
    })
}

#[cfg(test)]
mod tests {
    use super::{Clusters, SamplingDraw, Scaling, t975};

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

    fn sums(calls: &[(u64, u64)], cluster_rate: u32, weight: u32) -> Clusters {
        let mut clusters = Clusters::default();
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
        let scaling = Scaling {
            factor: 1.0,
            ratio: 25.0,
        };
        let found = sums(&calls, 4, 4).half_width(1, 0, scaling).unwrap();
        // e: 4 · (−20, 0, 20); n ⁄ (n − 1) is 3 ⁄ 2.
        let wanted = 4.303 * (0.75 * 16.0 * 800.0 * 1.5_f64).sqrt();
        assert!((found - wanted).abs() < 1e-6, "{found}, not {wanted}");
    }

    #[test]
    fn draws_within_a_cluster_add_their_own_spread() {
        // Nothing between the clusters, all within.
        let calls = [(1, 10), (1, 30), (2, 10), (2, 30)];
        let scaling = Scaling {
            factor: 1.0,
            ratio: 20.0,
        };
        let all = sums(&calls, 2, 2).half_width(1, 0, scaling).unwrap();
        assert_eq!(all, 0.0);
        let half = sums(&calls, 2, 4).half_width(1, 0, scaling).unwrap();
        // Σ p₁ (1 − p₂) (4 · 10)², and n ⁄ (n − 1) is 2.
        let wanted = 12.706 * (0.25 * 4.0 * 1600.0 * 2.0_f64).sqrt();
        assert!((half - wanted).abs() < 1e-6, "{half}, not {wanted}");
    }

    #[test]
    fn one_cluster_tells_nothing() {
        let scaling = Scaling {
            factor: 2.0,
            ratio: 10.0,
        };
        let found = sums(&[(7, 10), (7, 10)], 2, 2).half_width(1, 0, scaling);
        assert_eq!(found, None);
    }

    #[test]
    fn clusters_on_their_way_are_bounded() {
        let calls: Vec<_> = (0..20_000).map(|cluster| (cluster, 5)).collect();
        let clusters = sums(&calls, 2, 2);
        assert!(
            clusters
                .recent
                .iter()
                .all(|half| half.len() <= super::RECENT)
        );
    }
}
