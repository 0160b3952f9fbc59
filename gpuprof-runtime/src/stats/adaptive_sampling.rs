//! Automatic sampling: how many calls of each function a timed one stands for, so that event pairs
//! cost no more than half of the budget. The other half is for the spans themselves.
//!
//! Each call is drawn at random at the rate that holds when it begins, and is weighted by that
//! rate, so that totals stay unbiased while the rate changes. A rate depends on the past alone.
//! Spans read the rates; the resolver writes them.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::event_pair_costs::{EventPairCosts, Payer};
use super::sampling_allowance::{Allowance, SessionStart};
use super::sampling_decisions::{CallHistory, CallRate, FunctionRate};
use crate::settings::Sampling;

/// The share of the budget that is for event pairs.
const PAIRS_SHARE: f64 = 0.5;
/// The share of that which functions use in the long run. The rest is for paths of which few calls
/// are timed.
const LASTING_SHARE: f64 = 0.75;
/// The share of the budget for pairs which asking the driver about calls that are left out may take
/// of a function's CPU time.
const QUERIES_SHARE: f64 = 0.2;
/// What a pair of events takes from work that is queued back to back, in event overheads. On an
/// H200, where it is 1.25 µs, launches of 5 µs come 3.4 µs apart further with a pair around each
/// (docs/measurements/cost.md).
pub(crate) const OVERHEADS_PER_PAIR: f64 = 3.0;
/// While the budget permits, a call stands for at most one in so many of its path's calls so far.
const SAMPLES_PER_PATH: u64 = 40;
/// The same whatever the allowance.
const FIRST_SAMPLES_PER_PATH: u64 = 8;
/// The same whatever the budget.
const LEAST_SAMPLES_PER_PATH: u64 = 4;
/// The most calls that one stands for.
const MAX_ONE_IN: u32 = 1_024;
/// A function's durations are means over about so many of its latest timed calls.
const RECENT: u64 = 64;
/// A function of which no call was timed for so long, ns, is timed twice as often.
const UNSEEN_NS: u64 = 200_000_000;
/// Functions beyond so many are timed at every call.
const MAX_SITES: usize = 4_096;
/// The least that asking the driver for the current context and for a capture takes, ns (H200,
/// driver 580).
const QUERIES_NS: f64 = 100.0;

/// In the rate of a site: calls that are left out ask the driver nothing.
const WITHOUT_QUERIES: u32 = 1 << 31;

/// How many calls a session times.
#[derive(Debug)]
pub(crate) struct SamplingRates {
    /// Time 1 call in this many; 0 if it is automatic.
    session: AtomicU32,
    /// Of automatic sampling.
    budget_ppm: AtomicU32,
    /// Every call asks the driver whether it is captured.
    always_asks: AtomicBool,
    /// The first window of the session.
    first_epoch: AtomicU32,
    /// ns of the clock
    began_ns: AtomicU64,
    /// Pairs have cost more than the budget allows lately, on some thread or device.
    is_over_budget: AtomicBool,
    /// By site, with [`WITHOUT_QUERIES`]; 0 until a call of the session is read.
    by_site: Box<[AtomicU32]>,
    seen: Mutex<Seen>,
}

/// What is known of timed calls since the session began.
#[derive(Debug, Default)]
struct Seen {
    functions: FxHashMap<u32, SeenFunction>,
    costs: EventPairCosts,
    /// [`CallCosts::timed_ns`] of the latest call that has one.
    timed_ns: f64,
    /// When rates of functions that go unseen were last looked for.
    relaxed_at_ns: u64,
}

/// What is known of a function's timed calls.
#[derive(Clone, Copy, Debug, Default)]
struct SeenFunction {
    calls: u64,
    /// The longer of CPU time and GPU span: a call stands for at least so much of the program's
    /// time.
    mean_ns: f64,
    mean_cpu_ns: f64,
    /// When its rate was last set.
    noted_at_ns: u64,
}

/// A timed call, and what timing it cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObservedCall {
    pub(crate) site: u32,
    /// The window that it began in.
    pub(crate) epoch: u32,
    /// The address of its thread's counters.
    pub(crate) thread: usize,
    pub(crate) device: u32,
    pub(crate) gpu_ns: u64,
    pub(crate) cpu_ns: u64,
    /// How many calls it stands for.
    pub(crate) weight: u32,
    /// Event pairs: one for each stream.
    pub(crate) pairs: usize,
    pub(crate) event_overhead_ns: u64,
    pub(crate) costs: CallCosts,
}

/// CPU time that gpuprof's driver calls take around one call on the thread, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallCosts {
    /// Around a timed call.
    pub(crate) timed_ns: u32,
    /// Around a call that is left out after the driver was asked.
    pub(crate) left_out_ns: u32,
}

impl SamplingRates {
    pub(crate) fn new() -> Self {
        Self {
            session: AtomicU32::new(1),
            budget_ppm: AtomicU32::new(0),
            always_asks: AtomicBool::new(false),
            first_epoch: AtomicU32::new(0),
            began_ns: AtomicU64::new(0),
            is_over_budget: AtomicBool::new(false),
            by_site: (0..MAX_SITES).map(|_| AtomicU32::new(0)).collect(),
            seen: Mutex::default(),
        }
    }

    /// Begins a session's sampling. If it is automatic, every call is timed until enough of the
    /// function's calls are known. `always_asks`: the attribution of CUPTI's records needs to know
    /// of each call whether it is captured. Calls of windows before `first_epoch` do not count. It
    /// is `now_ns` of the clock.
    pub(crate) fn begin(
        &self,
        sampling: Sampling,
        always_asks: bool,
        first_epoch: u32,
        now_ns: u64,
    ) {
        // The lock is held until all is reset, so that no rate of before is stored in between.
        let mut seen = self.seen.lock();
        *seen = Seen::default();
        self.by_site.iter().for_each(|rate| rate.store(0, Relaxed));
        self.is_over_budget.store(false, Relaxed);
        let session = match sampling {
            Sampling::Auto { budget_ppm } => {
                self.budget_ppm.store(budget_ppm.get(), Relaxed);
                0
            }
            Sampling::OneIn(n) => n.get(),
            _ => 1,
        };
        self.always_asks.store(always_asks, Relaxed);
        self.first_epoch.store(first_epoch, Relaxed);
        self.began_ns.store(now_ns, Relaxed);
        self.session.store(session, Relaxed);
    }

    /// The session's sampling.
    pub(crate) fn session(&self) -> Sampling {
        match NonZeroU32::new(self.session.load(Relaxed)) {
            None => NonZeroU32::new(self.budget_ppm.load(Relaxed))
                .map_or(Sampling::AUTO, |budget_ppm| Sampling::Auto { budget_ppm }),
            Some(NonZeroU32::MIN) => Sampling::EveryCall,
            Some(n) => Sampling::OneIn(n),
        }
    }

    /// How many outermost calls each timed one is to stand for, and how many calls of `site`, whose
    /// own `sample` is `stated`, or 0. `allowance`: that of the thread in this session.
    #[inline]
    pub(crate) fn call_rate(
        &self,
        site: u32,
        stated: u32,
        history: impl FnOnce() -> CallHistory,
        allowance: impl FnOnce(SessionStart) -> Allowance,
    ) -> CallRate {
        let session = self.session.load(Relaxed);
        let function = match (session, stated) {
            (0, 0) => self.function_rate(site, history, allowance),
            _ => FunctionRate::Stated(stated),
        };
        CallRate { session, function }
    }

    /// How many calls of `site` one is to stand for that is timed now.
    #[inline]
    fn function_rate(
        &self,
        site: u32,
        history: impl FnOnce() -> CallHistory,
        allowance: impl FnOnce(SessionStart) -> Allowance,
    ) -> FunctionRate {
        let Some(rate) = self.by_site.get(site as usize) else {
            return FunctionRate::EVERY_CALL;
        };
        let rate = rate.load(Relaxed);
        let one_in = match rate & !WITHOUT_QUERIES {
            0 => MAX_ONE_IN,
            one_in => one_in,
        };
        if one_in == 1 {
            return FunctionRate::EVERY_CALL;
        }
        let (most, is_for_inside) = self.largest_weight(one_in, &history(), allowance);
        FunctionRate::Adaptive {
            one_in: one_in.min(most),
            inside: if is_for_inside {
                one_in
            } else {
                one_in.min(most)
            },
            asks: rate & WITHOUT_QUERIES == 0,
        }
    }

    /// The most calls that one may stand for, where it would be `one_in` in the long run, and
    /// whether it is timed for the sake of a path inside it.
    #[inline]
    fn largest_weight(
        &self,
        one_in: u32,
        history: &CallHistory,
        allowance: impl FnOnce(SessionStart) -> Allowance,
    ) -> (u32, bool) {
        let share = |calls: u64, samples: u64| {
            let most = u32::try_from(calls / samples).unwrap_or(u32::MAX);
            most.max(1)
        };
        let of_first = share(history.calls, FIRST_SAMPLES_PER_PATH);
        let of_window = share(history.calls_of_window, SAMPLES_PER_PATH);
        let is_enough = of_window >= one_in && !history.is_wanted;
        if self.is_over_budget.load(Relaxed) {
            return (share(history.calls, LEAST_SAMPLES_PER_PATH), false);
        }
        if is_enough || allowance(self.start()).is_used_up() {
            return (of_first, false);
        }
        if history.is_wanted {
            (1, true)
        } else {
            (of_window.min(of_first), false)
        }
    }

    /// The share of time that pairs may take in a session; `None` if sampling is not automatic.
    #[inline]
    pub(crate) fn budget(&self) -> Option<(f64, SessionStart)> {
        let is_automatic = self.session.load(Relaxed) == 0;
        is_automatic.then(|| (self.share_of_pairs(), self.start()))
    }

    fn start(&self) -> SessionStart {
        SessionStart {
            first_epoch: self.first_epoch.load(Relaxed),
            ns: self.began_ns.load(Relaxed),
        }
    }

    fn share_of_pairs(&self) -> f64 {
        f64::from(self.budget_ppm.load(Relaxed)) * 1e-6 * PAIRS_SHARE
    }

    /// Halves the rates of functions of which no call was timed lately, at `now_ns` of the clock of
    /// [`note`](Self::note): their calls may have become longer.
    pub(crate) fn relax(&self, now_ns: u64) {
        if self.session.load(Relaxed) != 0 {
            return;
        }
        let mut seen = self.seen.lock();
        if now_ns.saturating_sub(seen.relaxed_at_ns) < UNSEEN_NS / 4 {
            return;
        }
        seen.relaxed_at_ns = now_ns;
        let share = self.share_of_pairs();
        seen.costs.pass(now_ns);
        let is_over = seen.costs.excess(share) > 1.0;
        self.is_over_budget.store(is_over, Relaxed);
        let seen = &mut *seen;
        for (site, function) in &mut seen.functions {
            let Some(rate) = self.by_site.get(*site as usize) else {
                continue;
            };
            let known = rate.load(Relaxed);
            let one_in = known & !WITHOUT_QUERIES;
            if one_in > 1 && now_ns.saturating_sub(function.noted_at_ns) > UNSEEN_NS {
                function.noted_at_ns = now_ns;
                let without_queries = if one_in > 2 {
                    known & WITHOUT_QUERIES
                } else {
                    0
                };
                rate.store((one_in / 2) | without_queries, Relaxed);
            }
        }
    }

    /// Takes note of a timed call in a session of automatic sampling, at `now_ns` of some clock.
    pub(crate) fn observe(&self, call: &ObservedCall, now_ns: u64) {
        let Some(rate) = self.by_site.get(call.site as usize) else {
            return;
        };
        if self.session.load(Relaxed) != 0 {
            return;
        }
        // Under the lock, so that the session is that of the rates.
        let mut seen = self.seen.lock();
        if self
            .first_epoch
            .load(Relaxed)
            .wrapping_sub(call.epoch)
            .cast_signed()
            > 0
        {
            return;
        }
        let share = self.share_of_pairs();
        let Seen {
            functions,
            costs,
            timed_ns,
            ..
        } = &mut *seen;
        let function = functions.entry(call.site).or_default();
        function.add(call);
        function.noted_at_ns = now_ns;
        if call.costs.timed_ns > 0 {
            *timed_ns = f64::from(call.costs.timed_ns);
        }
        let gpu_cost_ns = OVERHEADS_PER_PAIR * (call.event_overhead_ns * call.pairs as u64) as f64;
        let cpu_cost_ns = *timed_ns;
        let lasting = share * LASTING_SHARE;
        let wanted = gpu_cost_ns.max(cpu_cost_ns) / (lasting * function.mean_ns.max(1.0));
        // What it would cost without regard to other functions.
        let unlimited = (f64::from(call.weight) / wanted.max(1.0)).max(1.0);
        costs.pass(now_ns);
        costs.add(Payer::Device(call.device), gpu_cost_ns * unlimited);
        costs.add(Payer::Thread(call.thread), cpu_cost_ns * unlimited);
        let excess = costs.excess(share);
        self.is_over_budget.store(excess > 1.0, Relaxed);
        let one_in = ((wanted * excess).ceil() as u32).clamp(1, MAX_ONE_IN);
        let left_out_ns = f64::from(call.costs.left_out_ns).max(QUERIES_NS);
        let asks = one_in == 1
            || left_out_ns <= QUERIES_SHARE * share * function.mean_cpu_ns
            || self.always_asks.load(Relaxed);
        let without_queries = if asks { 0 } else { WITHOUT_QUERIES };
        rate.store(one_in | without_queries, Relaxed);
    }
}

impl SeenFunction {
    fn add(&mut self, call: &ObservedCall) {
        self.calls += 1;
        let share = 1.0 / self.calls.min(RECENT) as f64;
        self.mean_ns += (call.gpu_ns.max(call.cpu_ns) as f64 - self.mean_ns) * share;
        self.mean_cpu_ns += (call.cpu_ns as f64 - self.mean_cpu_ns) * share;
    }
}

#[cfg(test)]
mod tests;
