//! Exposed copy time: for how long a copy ran on a device while no kernel did.
//!
//! Records arrive in any order, so copies wait until their window ends or there are too many.

use super::activity_path::ActivityPath;
use super::interval_union::IntervalUnion;
use crate::cupti::collect::record::CopyKind;

/// Limit of pending copies, and of kernel intervals. At either, all copies so far are finished.
const MAX_PENDING: usize = 1 << 16;

/// Copies and kernels of one device in one window.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExposedCopies {
    kernels: IntervalUnion,
    pending: Vec<PendingCopy>,
    /// A record arrived for a time whose kernels are forgotten.
    is_incomplete: bool,
}

#[derive(Clone, Copy, Debug)]
struct PendingCopy {
    path: ActivityPath,
    kind: CopyKind,
    start: u64,
    end: u64,
}

/// A finished copy or memset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExposedCopy {
    pub(crate) path: ActivityPath,
    pub(crate) kind: CopyKind,
    pub(crate) exposed_ns: u64,
}

impl ExposedCopies {
    /// Adds a kernel; returns the copies that had to be finished to make room.
    #[must_use]
    pub(crate) fn add_kernel(&mut self, start: u64, end: u64) -> Vec<ExposedCopy> {
        let finished = match self.kernels.len() >= MAX_PENDING {
            true => {
                let finished = self.finish();
                self.kernels.compact();
                finished
            }
            false => Vec::new(),
        };
        // If the kernel ran in the forgotten time, copies of that time were finished without it.
        self.is_incomplete |= !self.kernels.add(start, end);
        finished
    }

    /// Adds a copy or memset; returns the copies that had to be finished to make room.
    #[must_use]
    pub(crate) fn add_copy(
        &mut self,
        path: ActivityPath,
        kind: CopyKind,
        start: u64,
        end: u64,
    ) -> Vec<ExposedCopy> {
        self.is_incomplete |= start < self.kernels.compacted_until();
        self.pending.push(PendingCopy {
            path,
            kind,
            start,
            end,
        });
        match self.pending.len() > MAX_PENDING {
            true => self.finish(),
            false => Vec::new(),
        }
    }

    /// Finishes all pending copies with the kernels so far.
    #[must_use]
    pub(crate) fn finish(&mut self) -> Vec<ExposedCopy> {
        let kernels = &self.kernels;
        let finished = self.pending.drain(..).map(|copy| {
            let hidden = kernels.overlap_ns(copy.start, copy.end);
            ExposedCopy {
                path: copy.path,
                kind: copy.kind,
                exposed_ns: (copy.end - copy.start).saturating_sub(hidden),
            }
        });
        finished.collect()
    }

    /// Whether some exposed time could not be computed.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    pub(crate) fn mark_incomplete(&mut self) {
        self.is_incomplete = true;
    }
}

#[cfg(test)]
mod tests {
    use super::{ActivityPath, CopyKind, ExposedCopies, ExposedCopy, MAX_PENDING};

    fn exposed(path: u32, kind: CopyKind, exposed_ns: u64) -> ExposedCopy {
        ExposedCopy {
            path: ActivityPath::Called(path),
            kind,
            exposed_ns,
        }
    }

    #[test]
    fn a_copy_is_exposed_while_no_kernel_runs_in_whatever_order_they_arrive() {
        let mut copies = ExposedCopies::default();
        let (in_, out) = (CopyKind::HtoD, CopyKind::DtoH);
        assert!(
            copies
                .add_copy(ActivityPath::Called(1), in_, 100, 200)
                .is_empty()
        );
        assert!(
            copies
                .add_copy(ActivityPath::Called(2), out, 500, 600)
                .is_empty()
        );
        for (start, end) in [(180, 220), (50, 110), (105, 120), (300, 400)] {
            assert!(copies.add_kernel(start, end).is_empty());
        }
        let finished = copies.finish();
        assert_eq!(finished, [exposed(1, in_, 60), exposed(2, out, 100)]);
        assert!(copies.finish().is_empty() && !copies.is_incomplete());
    }

    #[test]
    fn beyond_the_limits_it_is_exact_in_order_and_incomplete_otherwise() {
        let mut copies = ExposedCopies::default();
        let mut sum = 0;
        for index in 0..3 * MAX_PENDING as u64 {
            let at = index * 100;
            let finished = [
                copies.add_kernel(at, at + 40),
                copies.add_copy(ActivityPath::Called(1), CopyKind::HtoD, at + 30, at + 60),
            ];
            let times = finished.iter().flatten().map(|copy| copy.exposed_ns);
            sum += times.sum::<u64>();
        }
        let rest = copies.finish();
        sum += rest.iter().map(|copy| copy.exposed_ns).sum::<u64>();
        assert_eq!(
            (sum, copies.is_incomplete()),
            (20 * 3 * MAX_PENDING as u64, false)
        );
        let _ = copies.add_copy(ActivityPath::Called(1), CopyKind::HtoD, 5, 6);
        assert!(copies.is_incomplete());
    }
}
