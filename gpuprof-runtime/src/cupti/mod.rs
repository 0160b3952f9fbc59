//! The kernel tier: what CUPTI records of kernels, copies and CUDA calls, attributed to the profiled functions.
//!
//! `collect`: from CUPTI to records. `attribute`: from records to a profile.

mod attribute;
pub(crate) mod call_stack;
mod collect;

pub(crate) use {
    attribute::recorded::Symbols,
    attribute::state::Work,
    attribute::tables::Tables,
    attribute::to_profile::{by_site, tell},
    collect::subscriber::{counts, drain, drain_last, is_running, notes},
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
            dropped_records: self.dropped.saturating_sub(earlier.dropped),
            invalid_records: self.invalid.saturating_sub(earlier.invalid),
            ..Cupti::default()
        }
    }
}

/// Starts CUPTI, once per process, and returns whether this call did. `work` receives its records, and
/// `look` is called now and then on the thread that reads them. If it fails, [`notes`] says why.
pub(crate) fn start(work: &'static Work, look: fn()) -> bool {
    collect::subscriber::start(Box::new(work), look)
}
