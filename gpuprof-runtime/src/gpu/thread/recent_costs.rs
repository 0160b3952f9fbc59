//! What gpuprof's driver calls around a call have cost a thread lately.

use crate::clock;
use crate::stats::adaptive_sampling::CallCosts;

/// A cost is a mean over about so many calls.
const RECENT: u32 = 8;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct RecentCosts {
    costs: CallCosts,
    /// What has been done since the cost was last counted.
    pub(super) doing: Doing,
}

/// What a thread does about one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Doing {
    #[default]
    Other,
    /// Records an event of a timed call, of which there are two.
    Recording,
    /// Asks the driver about a call that is left out.
    LeavingOut,
}

impl RecentCosts {
    /// What was done took so many clock ticks; not if it `is_unusual`, as set-up is.
    #[inline]
    pub(crate) fn count(&mut self, ticks: u64, is_unusual: bool) {
        let doing = std::mem::take(&mut self.doing);
        if doing == Doing::Other || is_unusual {
            return;
        }
        let ns = clock::rough_ns(ticks) as u32;
        match doing {
            Doing::Recording => approach(&mut self.costs.timed_ns, ns.saturating_mul(2)),
            Doing::LeavingOut => approach(&mut self.costs.left_out_ns, ns),
            Doing::Other => {}
        }
    }

    pub(super) fn get(&self) -> CallCosts {
        self.costs
    }
}

/// Moves a mean towards its next value; the first is taken as it is.
#[inline]
fn approach(mean: &mut u32, next: u32) {
    *mean = match *mean {
        0 => next,
        mean => mean - mean / RECENT + next / RECENT,
    };
}
