//! The kernel tier: what CUPTI records of kernels, copies and CUDA calls, attributed to the profiled functions.
//!
//! Two halves. From CUPTI to records: `places` and `library` (find and open libcupti), `sys` and `cbids` (its numbers), `running`
//! (start, and what the rest of the runtime calls), `callbacks` (CUDA calls), `waiting` (for the reader), `buffers`, `reader`, `parse`, `names`, `record`
//! (what ran on the GPU), `refusal`. From records to a
//! profile: `calls` (which call a thread is in), `join` and `made` (records that belong together), `captures` (when nothing ran), `windows` and `booked` (when they count), `busy` and
//! `folding` (what a call and those inside it kept busy), `alone` (copies that no kernel hides), `tables` and `sums`, `told` (as the profile has them), `demangle`, `occupancy`, `work`
//! (all of it, as the collector has it). Must not import span or report.

#[cfg(not(feature = "cupti"))]
mod absent;
#[cfg(feature = "cupti")]
mod alone;
#[cfg(feature = "cupti")]
mod booked;
#[cfg(feature = "cupti")]
mod buffers;
#[cfg(feature = "cupti")]
mod busy;
#[cfg(feature = "cupti")]
mod callbacks;
#[cfg(feature = "cupti")]
pub(crate) mod calls;
#[cfg(feature = "cupti")]
mod captures;
#[cfg(feature = "cupti")]
mod cbids;
#[cfg(feature = "cupti")]
mod folding;
#[cfg(feature = "cupti")]
mod join;
#[cfg(feature = "cupti")]
mod library;
#[cfg(feature = "cupti")]
mod made;
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
mod sums;
#[cfg(feature = "cupti")]
mod sys;
#[cfg(feature = "cupti")]
mod tables;
#[cfg(feature = "cupti")]
mod told;
#[cfg(feature = "cupti")]
mod waiting;
#[cfg(feature = "cupti")]
mod windows;
#[cfg(feature = "cupti")]
mod work;

#[cfg(not(feature = "cupti"))]
pub(crate) use absent::{
    Symbols, Tables, Work, by_site, calls, counts, drain, drain_last, is_running, notes, start,
    tell,
};
#[cfg(feature = "cupti")]
pub(crate) use {
    booked::Symbols,
    running::{counts, drain, drain_last, is_running, notes},
    tables::Tables,
    told::{by_site, tell},
    work::Work,
};

use gpuprof_report::profile::Cupti;

/// How records came, since the process began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// `cuptiGetVersion`.
    pub(crate) version: u32,
    /// Name or path of libcupti.
    pub(crate) library: String,
    /// Records read.
    pub(crate) records: u64,
    /// Records that CUPTI had no buffer for, and CUDA calls that found no room.
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

/// Starts it, once a process: `work` gets what it records, and `look` is called now and then on the thread that reads. Where it cannot be had, [`notes`] says why and everything else goes on as
/// without.
#[cfg(feature = "cupti")]
pub(crate) fn start(work: &'static Work, look: fn()) {
    running::start(Box::new(work), look);
}
