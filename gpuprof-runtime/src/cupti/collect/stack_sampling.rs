//! Which CUDA calls are worth a look at their stack: the first ones of a kernel on a call path, and
//! of the further ones as many, at random, as a share of the thread's time pays for.
//!
//! At random, because every N-th one would follow the rhythm of a loop.

use fastrand::Rng;
use rustc_hash::FxHashMap;

/// Calls of a kernel on a call path that are always looked at.
pub(super) const FIRST_CALLS: u32 = 32;

/// The part of a thread's time that looks at stacks may take, in the mean.
const BUDGET: f64 = 0.01;

/// Kernels and call paths of a thread whose first calls are told apart: 256 KiB.
const MAX_KEYS: usize = 1 << 12;

/// What distinguishes the first calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SampledCall {
    /// Where the kernel's symbol is; 0 if the call launches none.
    pub(super) symbol: usize,
    pub(super) path: u32,
    pub(super) cbid: u32,
}

/// The calls of one thread.
#[derive(Debug)]
pub(super) struct StackSampling {
    first_calls: FxHashMap<SampledCall, u32>,
    /// Clock ticks at the first call.
    began: u64,
    calls: u64,
    looks: u64,
    /// Clock ticks that the looks took.
    spent: u64,
    random: Rng,
}

impl StackSampling {
    /// `began` in clock ticks.
    pub(super) fn new(began: u64, random: Rng) -> Self {
        Self {
            first_calls: FxHashMap::default(),
            began,
            calls: 0,
            looks: 0,
            spent: 0,
            random,
        }
    }

    /// Whether to look at the stack of a call that begins at `now`, in clock ticks.
    pub(super) fn wants(&mut self, call: SampledCall, now: u64) -> bool {
        self.calls += 1;
        if self.is_first(call) {
            return true;
        }
        let elapsed = now.saturating_sub(self.began) as f64;
        let per_call = elapsed / self.calls as f64;
        let per_look = self.spent as f64 / self.looks.max(1) as f64;
        self.random.f64() * per_look <= BUDGET * per_call
    }

    /// Adds what a look took, in clock ticks.
    pub(super) fn add_look(&mut self, ticks: u64) {
        self.looks += 1;
        self.spent += ticks;
    }

    fn is_first(&mut self, call: SampledCall) -> bool {
        let has_room = self.first_calls.len() < MAX_KEYS;
        match self.first_calls.get_mut(&call) {
            Some(calls) => {
                *calls = calls.saturating_add(1);
                *calls <= FIRST_CALLS
            }
            None if has_room => {
                self.first_calls.insert(call, 1);
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST_CALLS, MAX_KEYS, Rng, SampledCall, StackSampling};

    fn call(symbol: usize) -> SampledCall {
        SampledCall {
            symbol,
            path: 1,
            cbid: 307,
        }
    }

    /// How many of `calls` calls, one every 1,000 ticks, are looked at if a look takes `cost`.
    fn looks(calls: u64, cost: u64) -> u64 {
        let mut sampling = StackSampling::new(0, Rng::with_seed(7));
        let wanted = (1..=calls).filter(|number| {
            let wants = sampling.wants(call(1), number * 1_000);
            if wants {
                sampling.add_look(cost);
            }
            wants
        });
        wanted.count() as u64
    }

    #[test]
    fn the_first_calls_of_each_kernel_are_looked_at_and_then_what_the_budget_pays_for() {
        let first = u64::from(FIRST_CALLS);
        assert_eq!(looks(first, 1_000_000), first);
        // 1 % of 1,000 ticks pays for every look of 10 ticks, and for one in 100 of 1,000.
        assert_eq!(looks(100_000, 10), 100_000);
        let some = looks(100_000, 1_000) - first;
        assert!((900..1_100).contains(&some), "{some}");
        let mut sampling = StackSampling::new(0, Rng::with_seed(7));
        for kernel in [1, 2] {
            for _ in 0..FIRST_CALLS {
                assert!(sampling.wants(call(kernel), 1));
                sampling.add_look(1_000_000);
            }
            assert!(!sampling.wants(call(kernel), 1));
        }
    }

    #[test]
    fn kernels_beyond_the_table_are_paid_for_by_the_budget_alone() {
        let mut sampling = StackSampling::new(0, Rng::with_seed(7));
        sampling.add_look(u64::MAX / 2);
        let wanted = (0..2 * MAX_KEYS).filter(|symbol| sampling.wants(call(*symbol), 1));
        assert_eq!(wanted.count(), MAX_KEYS);
        assert_eq!(sampling.first_calls.len(), MAX_KEYS);
    }
}
