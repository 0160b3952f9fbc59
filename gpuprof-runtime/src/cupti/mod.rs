//! The kernel tier: what CUPTI records of kernels, copies and CUDA calls, attributed to the profiled functions.
//!
//! Two halves. From CUPTI to records: `places` and `library` (find and open libcupti), `sys` and `cbids` (its numbers), `running`
//! (start, and what the rest of the runtime calls), `buffers`, `reader`, `parse`, `names`, `record`, `refusal`. From records to a
//! profile: `calls` (which call a thread is in), `join`, `busy`, `tables`, `occupancy`. Must not import span or report.

#[cfg(not(feature = "cupti"))]
mod absent;
#[cfg(feature = "cupti")]
mod buffers;
#[cfg(feature = "cupti")]
mod cbids;
#[cfg(feature = "cupti")]
mod library;
#[cfg(feature = "cupti")]
mod names;
#[cfg(feature = "cupti")]
mod parse;
#[cfg(feature = "cupti")]
mod places;
#[cfg(feature = "cupti")]
mod reader;
#[cfg(feature = "cupti")]
mod record;
#[cfg(feature = "cupti")]
mod refusal;
#[cfg(feature = "cupti")]
mod running;
#[cfg(feature = "cupti")]
mod sys;

#[cfg(not(feature = "cupti"))]
pub(crate) use absent::{counts, drain, drain_last, notes, start};
#[cfg(feature = "cupti")]
pub(crate) use running::{counts, drain, drain_last, notes};

use crate::profile::Cupti;

/// How records came, since the process began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// `cuptiGetVersion`.
    pub(crate) version: u32,
    /// Name or path of libcupti.
    pub(crate) library: String,
    /// Records read.
    pub(crate) records: u64,
    /// Records that CUPTI had no buffer for.
    pub(crate) dropped: u64,
    /// Records without a time that could be true.
    pub(crate) invalid: u64,
}

impl Counts {
    /// What came after `earlier`.
    pub(crate) fn since(self, earlier: &Self) -> Cupti {
        Cupti {
            version: self.version,
            library: self.library,
            records: self.records.saturating_sub(earlier.records),
            dropped: self.dropped.saturating_sub(earlier.dropped),
            invalid: self.invalid.saturating_sub(earlier.invalid),
            ..Cupti::default()
        }
    }
}

/// Starts it, once a process. Where it cannot be had, [`notes`] says why and everything else goes on as without.
#[cfg(feature = "cupti")]
pub(crate) fn start() {
    running::start(Box::new(Counted));
}

/// Records that are counted and not kept.
#[cfg(feature = "cupti")]
struct Counted;

#[cfg(feature = "cupti")]
impl reader::Sink for Counted {
    fn take(&mut self, _record: record::Record) {}
    fn flushed(&mut self) {}
}
