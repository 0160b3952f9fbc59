//! What a thread may still spend on event pairs beyond what its functions need in the long run:
//! after a time t since the session began, pairs may have cost B·(t + 0.2 s), where B is their
//! share of time. Of what was not spent, that of one second is kept. A thread that begins later has
//! its own 0.2 s from then on, unless it follows another one in its counters: then it goes on with
//! what that one left, so that many short threads spend no more than one long one.

use std::sync::atomic::Ordering::Relaxed;

use super::event_pair_costs::GRANT_NS;
use crate::sync::{AtomicU32, AtomicU64};

/// What is kept of what was not spent, as time, ns.
const KEPT_NS: u64 = 1_000_000_000;
/// What a pair costs, ns, until it is measured.
const UNMEASURED_NS: f64 = 4_000.0;

/// A session, by its first window, and when it began, ns of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionStart {
    pub(crate) first_epoch: u32,
    pub(crate) ns: u64,
}

/// What the threads that have had some counters have spent in a session: everything until a time,
/// ns of the clock. Only the counters' owner asks and writes.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    until: AtomicU64,
    /// The session's first window.
    first_epoch: AtomicU32,
    /// When the first of the threads began.
    began: AtomicU64,
}

impl Spent {
    /// A thread begins at `now`.
    pub(crate) fn begin_thread(&self, now: u64) {
        if self.began.load(Relaxed) == 0 {
            self.began.store(now, Relaxed);
        }
    }

    /// What may be spent at `now`.
    #[inline]
    pub(crate) fn allowance(&self, session: SessionStart, now: u64) -> Allowance {
        let is_of_session = self.first_epoch.load(Relaxed) == session.first_epoch;
        let spent_until = if is_of_session {
            self.until.load(Relaxed)
        } else {
            session
                .ns
                .max(self.began.load(Relaxed))
                .saturating_sub(GRANT_NS as u64)
        };
        Allowance { spent_until, now }
    }

    /// A pair costs `cost_ns`, 0 if that is not measured, where pairs may take `share` of the time.
    #[inline]
    pub(crate) fn spend(&self, session: SessionStart, now: u64, cost_ns: f64, share: f64) {
        let cost_ns = if cost_ns > 0.0 {
            cost_ns
        } else {
            UNMEASURED_NS
        };
        let kept = now.saturating_sub(KEPT_NS);
        let from = self.allowance(session, now).spent_until.max(kept);
        let until = from.saturating_add((cost_ns / share) as u64);
        self.until.store(until, Relaxed);
        self.first_epoch.store(session.first_epoch, Relaxed);
    }
}

/// A thread's allowance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    spent_until: u64,
    now: u64,
}

impl Allowance {
    /// Of a thread that is not known: there is none.
    pub(crate) const NONE: Self = Self {
        spent_until: u64::MAX,
        now: 0,
    };

    #[inline]
    pub(crate) fn is_used_up(self) -> bool {
        self.spent_until > self.now
    }
}

#[cfg(test)]
mod tests {
    use super::{SessionStart, Spent};

    const SHARE: f64 = 0.005;
    const BEGAN: u64 = 50_000_000_000;
    const SESSION: SessionStart = SessionStart {
        first_epoch: 1,
        ns: BEGAN,
    };

    /// How many pairs of 4 µs are within the allowance, if one is wanted each `every_ns`, from one
    /// time to another, ns after the session began.
    fn pairs(spent: &Spent, every_ns: usize, [from, until]: [u64; 2]) -> u64 {
        let mut pairs = 0;
        for now in (BEGAN + from..BEGAN + until).step_by(every_ns) {
            if !spent.allowance(SESSION, now).is_used_up() {
                pairs += 1;
                spent.spend(SESSION, now, 4_000.0, SHARE);
            }
        }
        pairs
    }

    #[test]
    fn pairs_cost_their_share_of_the_time_and_of_a_fifth_of_a_second() {
        // 1 ms at once, and 5 ms a second; the last pair may exceed it.
        assert_eq!(pairs(&Spent::default(), 1_000, [0, 1_000_000]), 252);
        assert_eq!(pairs(&Spent::default(), 1_000, [0, 1_000_000_000]), 1_500);
    }

    #[test]
    fn what_was_not_spent_long_ago_is_forgotten() {
        // After an hour, as many as possible.
        let late = BEGAN + 3_600_000_000_000;
        let (spent, mut pairs) = (Spent::default(), 0);
        while !spent.allowance(SESSION, late).is_used_up() {
            spent.spend(SESSION, late, 0.0, SHARE);
            pairs += 1;
        }
        assert_eq!(pairs, 1_251);
        let session = SessionStart {
            first_epoch: 2,
            ..SESSION
        };
        let next = spent.allowance(session, late);
        assert!(!next.is_used_up(), "a session has an allowance of its own");
    }

    #[test]
    fn threads_that_follow_each_other_spend_no_more_than_one() {
        let of_one = pairs(&Spent::default(), 1_000, [0, 10_000_000_000]);
        // 1,000 threads of 10 ms.
        let spent = Spent::default();
        let thread = |number: u64| {
            let from = number * 10_000_000;
            spent.begin_thread(BEGAN + from);
            pairs(&spent, 1_000, [from, from + 10_000_000])
        };
        assert_eq!((0..1_000).map(thread).sum::<u64>(), of_one);
        // One that begins late beside others has what one has at first.
        let late = Spent::default();
        let from = 9_000_000_000;
        late.begin_thread(BEGAN + from);
        assert_eq!(pairs(&late, 1_000, [from, from + 1_000_000]), 252);
    }
}
