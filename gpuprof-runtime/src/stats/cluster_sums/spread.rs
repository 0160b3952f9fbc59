//! The sums of one group of clusters, as polynomials in a mean that is known later.

/// The sums of a group. Times are relative to the typical one of their path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GroupSums {
    /// Drawn calls, without those that are alone on their path so far.
    pub(super) drawn: u64,
    /// How many calls these represent beside themselves, and the sum of their times.
    pub(super) represented: f64,
    pub(super) represented_ns: f64,
    pub(super) moments: MomentPolynomials,
}

/// `Σ b (u − m v)²` and `Σ b² (u − m v)⁴` as polynomials in m, over addends of weighted time u,
/// weight v and share b of the variance.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MomentPolynomials {
    second: [f64; 3],
    fourth: [f64; 5],
}

/// Weighted time and weight of a cluster so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cluster {
    pub(super) u: f64,
    pub(super) v: f64,
}

impl GroupSums {
    /// As if each time was 0.
    pub(super) fn without_time(&self) -> Self {
        let [_, _, vv] = self.moments.second;
        let [_, _, _, _, v4] = self.moments.fourth;
        Self {
            represented_ns: 0.0,
            moments: MomentPolynomials {
                second: [0.0, 0.0, vv],
                fourth: [0.0, 0.0, 0.0, 0.0, v4],
            },
            ..*self
        }
    }

    /// Each time is relative to another one, and so larger by `ns`.
    pub(super) fn shift(&mut self, ns: f64) {
        self.represented_ns += ns * self.represented;
        self.moments.shift(ns);
    }

    pub(super) fn merge(&mut self, more: &Self) {
        self.drawn += more.drawn;
        self.represented += more.represented;
        self.represented_ns += more.represented_ns;
        self.moments.merge(&more.moments);
    }
}

impl MomentPolynomials {
    /// Adds an addend, or takes one out if `sign` is −1.
    pub(super) fn add(&mut self, sign: f64, share: f64, Cluster { u, v }: Cluster) {
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

    pub(super) fn merge(&mut self, other: &Self) {
        let second = self.second.iter_mut().zip(other.second);
        let fourth = self.fourth.iter_mut().zip(other.fourth);
        second.chain(fourth).for_each(|(sum, more)| *sum += more);
    }

    /// Each u becomes u + d v.
    pub(super) fn shift(&mut self, d: f64) {
        let [_, uv, vv] = self.second;
        self.second = [self.second(-d), uv + d * vv, vv];
        let [_, u3v, u2v2, uv3, v4] = self.fourth;
        let square = d * d;
        self.fourth = [
            self.fourth(-d),
            u3v + 3.0 * d * u2v2 + 3.0 * square * uv3 + square * d * v4,
            u2v2 + 2.0 * d * uv3 + square * v4,
            uv3 + d * v4,
            v4,
        ];
    }

    /// `Σ b (u − m v)²`
    pub(super) fn second(&self, mean: f64) -> f64 {
        let [uu, uv, vv] = self.second;
        uu - 2.0 * mean * uv + mean * mean * vv
    }

    /// `Σ b² (u − m v)⁴`
    pub(super) fn fourth(&self, mean: f64) -> f64 {
        let [u4, u3v, u2v2, uv3, v4] = self.fourth;
        let square = mean * mean;
        u4 - 4.0 * mean * u3v + 6.0 * square * u2v2 - 4.0 * square * mean * uv3
            + square * square * v4
    }
}
