//! Of which CUDA calls the stack is sampled: the first ones of a kernel on a call path, and
//! of the further ones as many, at random, as a share of the thread's time pays for.
//!
//! At random, because every N-th one would follow the rhythm of a loop.

use fastrand::Rng;
use rustc_hash::FxHashMap;

/// Calls of a kernel on a call path that are always sampled, and that the budget does not pay for.
pub(super) const FIRST_CALLS: u32 = 4;

/// The part of a thread's time that further samples may take.
const BUDGET: f64 = 0.01;

/// What a thread may save for a burst of launches.
const MAX_CREDIT_MS: f64 = 10.0;

/// With at least so much credit every call is sampled, with less a share of them. It is what a
/// window begins with.
const FULL_CREDIT_MS: f64 = 0.1;

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

/// Why a stack is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StackSampleReason {
    First,
    /// The budget pays for it.
    Paid,
}

/// The calls of one thread in one window.
#[derive(Debug)]
pub(super) struct StackSampling {
    pub(super) window: u32,
    first_calls: FxHashMap<SampledCall, u32>,
    /// Clock ticks that samples may take now. Below 0 after a sample that took more.
    credit: f64,
    /// The last call, in clock ticks.
    last: u64,
    ticks_per_ms: f64,
    random: Rng,
}

impl StackSampling {
    /// `now` in clock ticks.
    pub(super) fn new(window: u32, now: u64, ticks_per_ms: f64, random: Rng) -> Self {
        Self {
            window,
            first_calls: FxHashMap::default(),
            credit: FULL_CREDIT_MS * ticks_per_ms,
            last: now,
            ticks_per_ms,
            random,
        }
    }

    /// Whether to sample the stack of a call that begins at `now`, in clock ticks.
    pub(super) fn wants(&mut self, call: SampledCall, now: u64) -> Option<StackSampleReason> {
        let earned = BUDGET * now.saturating_sub(self.last) as f64;
        self.last = now;
        self.credit = (self.credit + earned).min(MAX_CREDIT_MS * self.ticks_per_ms);
        if self.is_first(call) {
            return Some(StackSampleReason::First);
        }
        let needed = self.random.f64() * FULL_CREDIT_MS * self.ticks_per_ms;
        (self.credit > needed).then_some(StackSampleReason::Paid)
    }

    /// Pays for a sample, which took so many clock ticks.
    pub(super) fn charge(&mut self, sample: StackSampleReason, ticks: u64) {
        match sample {
            StackSampleReason::First => {}
            StackSampleReason::Paid => self.credit -= ticks as f64,
        }
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
    use super::{FIRST_CALLS, MAX_KEYS, Rng, SampledCall, StackSampleReason, StackSampling};

    fn call(symbol: usize) -> SampledCall {
        SampledCall {
            symbol,
            path: 1,
            cbid: 307,
        }
    }

    /// A window that begins at 0. A tick is 1 ns.
    fn window() -> StackSampling {
        StackSampling::new(1, 0, 1e6, Rng::with_seed(7))
    }

    /// How many of the calls at these times, in ns, are sampled if a sample takes `cost`.
    fn samples(sampling: &mut StackSampling, at: impl Iterator<Item = u64>, cost: u64) -> u64 {
        let wanted = at.filter(|now| {
            let sample = sampling.wants(call(1), *now);
            if let Some(sample) = sample {
                sampling.charge(sample, cost);
            }
            sample.is_some()
        });
        wanted.count() as u64
    }

    #[test]
    fn the_budget_pays_for_a_share_of_the_time() {
        let first = u64::from(FIRST_CALLS);
        // One call every 10 µs for 1 s, of which 1 % pays for 1,000 samples of 10 µs.
        let every = |ns: u64| (1..=1_000_000_000 / ns).map(move |number| number * ns);
        let some = samples(&mut window(), every(10_000), 10_000) - first;
        assert!((950..=1_020).contains(&some), "{some}");
        // Samples that take no time are free, and one that takes a second is the only one.
        assert_eq!(samples(&mut window(), every(10_000), 0), 100_000);
        let long = samples(&mut window(), every(10_000), 1_000_000_000) - first;
        assert_eq!(long, 1);
    }

    #[test]
    fn a_pause_saves_at_most_ten_ms() {
        let mut sampling = window();
        samples(&mut sampling, std::iter::repeat_n(1, 1_000), 10_000);
        // An hour later, a burst of launches at once: 10 ms pay for 1,000 samples of 10 µs.
        let burst = std::iter::repeat_n(3_600_000_000_000, 10_000);
        let some = samples(&mut sampling, burst, 10_000);
        assert!((990..=1_000).contains(&some), "{some}");
    }

    #[test]
    fn the_first_calls_of_each_kernel_are_free() {
        let mut sampling = window();
        sampling.charge(StackSampleReason::Paid, 1_000_000_000);
        for kernel in [1, 2] {
            for _ in 0..FIRST_CALLS {
                assert_eq!(
                    sampling.wants(call(kernel), 1),
                    Some(StackSampleReason::First)
                );
                sampling.charge(StackSampleReason::First, 1_000_000);
            }
            assert_eq!(sampling.wants(call(kernel), 1), None);
        }
        assert!(
            (sampling.credit + 999_900_000.0).abs() < 1.0,
            "{sampling:?}"
        );
    }

    #[test]
    fn kernels_beyond_the_table_are_paid_for_by_the_budget_alone() {
        let mut sampling = window();
        sampling.charge(StackSampleReason::Paid, u64::MAX / 2);
        let wanted = (0..2 * MAX_KEYS).filter(|symbol| sampling.wants(call(*symbol), 1).is_some());
        assert_eq!(wanted.count(), MAX_KEYS);
        assert_eq!(sampling.first_calls.len(), MAX_KEYS);
    }
}
