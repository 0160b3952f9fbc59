//! What event pairs have cost lately, in sum: spans that are nested in each other, and the first
//! calls of many functions, can exceed together what each may cost alone.

use rustc_hash::FxHashMap;

/// Costs and time count for about so long, ns.
const MEMORY_NS: f64 = 1e9;
/// What may be spent at once, as if so much time had passed before, ns: a run of a second is not to
/// rest on a few timed calls.
pub(super) const GRANT_NS: f64 = 2e8;
/// The least time after which costs are reduced, ns.
const MIN_PERIOD_NS: u64 = 100_000;
/// Payers that have spent less than this share of the largest one's time are dropped.
const MATTERS: f64 = 0.01;

/// Whose time event pairs take. Threads and devices work at once, so each is looked at alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Payer {
    /// And those that follow it in its counters, by their address.
    Thread(usize),
    Device(u32),
}

/// See the module.
#[derive(Debug)]
pub(super) struct EventPairCosts {
    spent_ns: FxHashMap<Payer, f64>,
    /// The largest of them.
    most_ns: f64,
    /// With what is left of the grant.
    elapsed_ns: f64,
    /// When both were last reduced; `None` at first.
    reduced_at_ns: Option<u64>,
}

impl Default for EventPairCosts {
    fn default() -> Self {
        Self {
            spent_ns: FxHashMap::default(),
            most_ns: 0.0,
            elapsed_ns: GRANT_NS,
            reduced_at_ns: None,
        }
    }
}

impl EventPairCosts {
    /// It is `now_ns` of some clock.
    pub(super) fn pass(&mut self, now_ns: u64) {
        let since_ns = now_ns.saturating_sub(*self.reduced_at_ns.get_or_insert(now_ns));
        if since_ns < MIN_PERIOD_NS {
            return;
        }
        self.reduced_at_ns = Some(now_ns);
        let keeps = (-(since_ns as f64) / MEMORY_NS).exp();
        self.elapsed_ns = self.elapsed_ns * keeps + MEMORY_NS * (1.0 - keeps);
        // Threads that have ended are forgotten once they matter no more.
        let least_ns = self.most_ns * keeps * MATTERS;
        self.spent_ns.retain(|_, spent_ns| {
            *spent_ns *= keeps;
            *spent_ns >= least_ns
        });
        self.most_ns = self.spent_ns.values().copied().fold(0.0, f64::max);
    }

    pub(super) fn add(&mut self, payer: Payer, ns: f64) {
        let spent_ns = self.spent_ns.entry(payer).or_default();
        *spent_ns += ns;
        self.most_ns = self.most_ns.max(*spent_ns);
    }

    /// The largest payer's time over `share` of the elapsed time, at least 1.
    pub(super) fn excess(&self, share: f64) -> f64 {
        (self.most_ns / (share * self.elapsed_ns)).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{EventPairCosts, Payer};

    const SHARE: f64 = 0.005;
    /// Time between two calls, ns.
    const APART_NS: u64 = 10_000_000;

    /// The excess after so many calls, each of which costs both devices so much.
    fn after(calls: u64, costs_ns: [f64; 2]) -> f64 {
        let mut costs = EventPairCosts::default();
        for call in 0..calls {
            costs.pass(call * APART_NS);
            for (device, ns) in (0..).zip(costs_ns) {
                costs.add(Payer::Device(device), ns);
            }
        }
        costs.excess(SHARE)
    }

    #[test]
    fn the_excess_is_that_of_whoever_pays_most() {
        // 50 µs are allowed between two calls.
        assert_eq!(after(1_000, [49_000.0, 0.0]), 1.0);
        let excess = after(1_000, [100_000.0, 150_000.0]);
        assert!((excess - 3.0).abs() < 0.05, "{excess}");
        // 0.2 s at once.
        assert_eq!(after(1, [1e6, 1e6]), 1.0);
        assert_eq!(after(1, [1e6, 2e6]), 2.0);
    }

    #[test]
    fn the_last_second_counts_also_after_an_idle_time() {
        let mut costs = EventPairCosts::default();
        costs.pass(0);
        costs.add(Payer::Device(0), 1e9);
        costs.pass(APART_NS);
        assert!(costs.excess(SHARE) > 900.0);
        let idle_until = 60_000_000_000;
        costs.pass(idle_until);
        assert_eq!(costs.excess(SHARE), 1.0, "it is long ago");
        // A burst: 5 ms are allowed in a second.
        costs.add(Payer::Device(0), 4.9e6);
        assert_eq!(costs.excess(SHARE), 1.0);
        costs.add(Payer::Device(0), 5.1e6);
        let excess = costs.excess(SHARE);
        assert!((excess - 2.0).abs() < 0.01, "{excess}");
    }

    #[test]
    fn payers_that_pay_no_more_are_forgotten() {
        let mut costs = EventPairCosts::default();
        for device in 0..10_000 {
            costs.pass(u64::from(device) * APART_NS);
            costs.add(Payer::Device(device), 1_000.0);
        }
        // ln 100 seconds.
        let known = costs.spent_ns.len();
        assert!((400..500).contains(&known), "{known}");
    }
}
