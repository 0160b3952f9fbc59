//! What event pairs have cost lately, in sum: spans that are nested in each other, and the first
//! calls of many functions, can exceed together what each may cost alone.

use std::thread::ThreadId;

use rustc_hash::FxHashMap;

/// Costs and time count for about so long, ns.
const MEMORY_NS: f64 = 1e9;
/// The least time between two looks, ns. In a short program the first calls of all functions come
/// within milliseconds.
const MIN_PERIOD_NS: u64 = 100_000;

/// Whose time event pairs take. Threads and devices work at once, so each is looked at alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Payer {
    Thread(ThreadId),
    Device(u32),
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct EventPairCosts {
    spent_ns: FxHashMap<Payer, f64>,
    elapsed_ns: f64,
    /// The time of the last look; `None` before the first.
    looked_ns: Option<u64>,
    excess: Option<f64>,
}

impl EventPairCosts {
    pub(super) fn add(&mut self, payer: Payer, ns: f64) {
        *self.spent_ns.entry(payer).or_default() += ns;
    }

    /// By how much the payer who pays most has exceeded `share` of the time until `now_ns`; 1 if
    /// none has.
    pub(super) fn excess(&mut self, now_ns: u64, share: f64) -> f64 {
        let since_ns = now_ns.saturating_sub(*self.looked_ns.get_or_insert(now_ns));
        if since_ns >= MIN_PERIOD_NS {
            self.looked_ns = Some(now_ns);
            self.elapsed_ns += since_ns as f64;
            let most = self.spent_ns.values().copied().fold(0.0, f64::max);
            self.excess = Some(most / (share * self.elapsed_ns));
            let keeps = (-(since_ns as f64) / MEMORY_NS).exp();
            self.elapsed_ns *= keeps;
            self.spent_ns.retain(|_, spent_ns| {
                *spent_ns *= keeps;
                *spent_ns >= 1.0
            });
        }
        self.excess.map_or(1.0, |excess| excess.max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::{EventPairCosts, Payer};

    const SHARE: f64 = 0.005;
    /// Time between two looks, ns.
    const APART_NS: u64 = 10_000_000;

    /// What `excess` answers after so many looks, before each of which both devices cost so much.
    fn after(looks: u64, costs_ns: [f64; 2]) -> f64 {
        let mut costs = EventPairCosts::default();
        let mut excess = costs.excess(0, SHARE);
        for look in 1..=looks {
            for (device, ns) in (0..).zip(costs_ns) {
                costs.add(Payer::Device(device), ns);
            }
            excess = costs.excess(look * APART_NS, SHARE);
        }
        excess
    }

    #[test]
    fn the_excess_is_that_of_whoever_pays_most() {
        // 50 µs are allowed between two looks.
        assert_eq!(after(100, [49_000.0, 0.0]), 1.0);
        assert!((after(100, [100_000.0, 150_000.0]) - 3.0).abs() < 0.01);
        assert_eq!(after(0, [1e9, 1e9]), 1.0, "no time has passed");
    }

    #[test]
    fn what_was_spent_long_ago_no_longer_counts() {
        let mut costs = EventPairCosts::default();
        costs.excess(0, SHARE);
        costs.add(Payer::Device(0), 1e9);
        assert!(costs.excess(APART_NS, SHARE) > 1_000.0);
        for look in 2..1_000 {
            costs.excess(look * APART_NS, SHARE);
        }
        assert_eq!(costs.excess(1_000 * APART_NS, SHARE), 1.0);
        assert!(costs.spent_ns.len() <= 1);
    }
}
