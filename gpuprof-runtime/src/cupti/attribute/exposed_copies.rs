//! Copies that no kernel hides: for how long one ran on a device while no kernel did.
//!
//! Records come in any order, so copies wait until their window is looked at, or until there are too many. Must not import
//! anything that calls CUPTI.

use super::interval_union::Union;
use crate::cupti::collect::record::CopyKind;

/// Copies that wait, and stretches of kernels that are kept for them; past either all copies so far are settled.
const MOST: usize = 1 << 16;

/// Of one device in one window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alone {
    kernels: Union,
    waiting: Vec<Waiting>,
    /// A copy came for a time whose kernels were not kept.
    is_lost: bool,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    site: u32,
    kind: CopyKind,
    start: u64,
    end: u64,
}

/// Site and direction of a copy, and how long it ran alone.
pub(crate) type Settled = (u32, CopyKind, u64);

impl Alone {
    /// Adds a kernel; returns what has to be settled for want of room.
    #[must_use]
    pub(crate) fn add_kernel(&mut self, start: u64, end: u64) -> Vec<Settled> {
        let settled = match self.kernels.len() >= MOST {
            true => {
                let settled = self.settle();
                self.kernels.sum_up();
                settled
            }
            false => Vec::new(),
        };
        // Where it is before what is kept, copies of that time were settled without it.
        self.is_lost |= !self.kernels.add(start, end);
        settled
    }

    /// Adds a copy or memset; returns what has to be settled for want of room.
    #[must_use]
    pub(crate) fn add_copy(
        &mut self,
        site: u32,
        kind: CopyKind,
        start: u64,
        end: u64,
    ) -> Vec<Settled> {
        self.is_lost |= start < self.kernels.floor();
        self.waiting.push(Waiting {
            site,
            kind,
            start,
            end,
        });
        match self.waiting.len() > MOST {
            true => self.settle(),
            false => Vec::new(),
        }
    }

    /// Settles every copy so far by the kernels so far.
    #[must_use]
    pub(crate) fn settle(&mut self) -> Vec<Settled> {
        let kernels = &self.kernels;
        let settled = self.waiting.drain(..).map(|copy| {
            let hidden = kernels.within(copy.start, copy.end);
            let alone = (copy.end - copy.start).saturating_sub(hidden);
            (copy.site, copy.kind, alone)
        });
        settled.collect()
    }

    /// Whether any time could not be worked out.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Passes on that another window of the same device has lost something.
    pub(crate) fn note_lost(&mut self, lost: bool) {
        self.is_lost |= lost;
    }
}

#[cfg(test)]
mod tests {
    use super::{Alone, CopyKind, MOST};

    #[test]
    fn a_copy_is_alone_where_no_kernel_runs_in_whatever_order_they_come() {
        let mut alone = Alone::default();
        assert!(alone.add_copy(1, CopyKind::HtoD, 100, 200).is_empty());
        assert!(alone.add_copy(2, CopyKind::DtoH, 500, 600).is_empty());
        for (start, end) in [(180, 220), (50, 110), (105, 120), (300, 400)] {
            assert!(alone.add_kernel(start, end).is_empty());
        }
        let settled = alone.settle();
        assert_eq!(settled, [(1, CopyKind::HtoD, 60), (2, CopyKind::DtoH, 100)]);
        assert!(alone.settle().is_empty() && !alone.is_lost());
    }

    #[test]
    fn where_there_are_too_many_it_is_right_for_what_comes_in_order_and_says_so_where_not() {
        let mut alone = Alone::default();
        let mut sum = 0;
        for at in 0..3 * MOST as u64 {
            let settled = [
                alone.add_kernel(at * 100, at * 100 + 40),
                alone.add_copy(1, CopyKind::HtoD, at * 100 + 30, at * 100 + 60),
            ];
            sum += settled.iter().flatten().map(|copy| copy.2).sum::<u64>();
        }
        sum += alone.settle().iter().map(|copy| copy.2).sum::<u64>();
        assert_eq!((sum, alone.is_lost()), (20 * 3 * MOST as u64, false));
        let _ = alone.add_copy(1, CopyKind::HtoD, 5, 6);
        assert!(alone.is_lost());
    }
}
