//! What a thread may still spend on event pairs beyond what its functions need in the long run:
//! after a time t since the session began, pairs may have cost B·(t + 0.2 s), where B is their
//! share of time. Of what was not spent, that of one second is kept.

use super::event_pair_costs::GRANT_NS;

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

/// What a thread has spent in a session: everything until a time, ns of the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    until: u64,
    /// The session's first window.
    first_epoch: u32,
}

impl Spent {
    pub(crate) const NOTHING: Self = Self {
        until: 0,
        first_epoch: 0,
    };
}

/// A thread's allowance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    spent_until: u64,
    session: SessionStart,
    now: u64,
}

impl Allowance {
    /// That of a thread at `now`, ns of the clock.
    #[inline]
    pub(crate) fn new(spent: Spent, session: SessionStart, now: u64) -> Self {
        let is_of_session = spent.first_epoch == session.first_epoch;
        Self {
            spent_until: if is_of_session { spent.until } else { 0 },
            session,
            now,
        }
    }

    #[inline]
    pub(crate) fn is_used_up(self) -> bool {
        self.spent_until > self.now
    }

    /// What is spent after a pair that costs `cost_ns`, 0 if that is not measured, where pairs may
    /// take `share` of the time.
    #[inline]
    pub(crate) fn spend(self, cost_ns: f64, share: f64) -> Spent {
        let cost_ns = if cost_ns > 0.0 {
            cost_ns
        } else {
            UNMEASURED_NS
        };
        let first = self.session.ns.saturating_sub(GRANT_NS as u64);
        let kept = self.now.saturating_sub(KEPT_NS);
        let from = self.spent_until.max(first).max(kept);
        Spent {
            until: from.saturating_add((cost_ns / share) as u64),
            first_epoch: self.session.first_epoch,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Allowance, SessionStart, Spent};

    const SHARE: f64 = 0.005;
    const BEGAN: u64 = 50_000_000_000;
    const SESSION: SessionStart = SessionStart {
        first_epoch: 1,
        ns: BEGAN,
    };

    /// How many pairs of 4 µs are within the allowance, if one is wanted each `every_ns`, until
    /// `until_ns` after the session began.
    fn pairs(every_ns: u64, until_ns: u64) -> u64 {
        let (mut spent, mut pairs) = (Spent::NOTHING, 0);
        for now in (0..until_ns).step_by(every_ns as usize) {
            let allowance = Allowance::new(spent, SESSION, BEGAN + now);
            if !allowance.is_used_up() {
                pairs += 1;
                spent = allowance.spend(4_000.0, SHARE);
            }
        }
        pairs
    }

    #[test]
    fn pairs_cost_their_share_of_the_time_and_of_a_fifth_of_a_second() {
        // 1 ms at once, and 5 ms a second; the last pair may exceed it.
        assert_eq!(pairs(1_000, 1_000_000), 252);
        assert_eq!(pairs(1_000, 1_000_000_000), 1_500);
    }

    #[test]
    fn what_was_not_spent_long_ago_is_forgotten() {
        // After an hour, as many as possible.
        let late = BEGAN + 3_600_000_000_000;
        let (mut spent, mut pairs) = (Spent::NOTHING, 0);
        while !Allowance::new(spent, SESSION, late).is_used_up() {
            spent = Allowance::new(spent, SESSION, late).spend(0.0, SHARE);
            pairs += 1;
        }
        assert_eq!(pairs, 1_251);
        let session = SessionStart {
            first_epoch: 2,
            ..SESSION
        };
        let next = Allowance::new(spent, session, late);
        assert!(!next.is_used_up(), "a session has an allowance of its own");
    }
}
