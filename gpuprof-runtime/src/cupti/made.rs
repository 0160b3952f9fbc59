//! One CUDA call, and what it had the GPU run, as far as its records have come.
//!
//! Plain data. Must not import anything that calls CUPTI.

use smallvec::SmallVec;

use super::cbids::Purpose;
use super::record::{Api, Copy, Kernel, Ran};
use super::tables::KernelKey;

/// Something that ran on the GPU.
#[derive(Clone, Debug)]
pub(super) enum Activity {
    Kernel(Kernel),
    Copy(Copy),
}

impl Activity {
    pub(super) fn ran(&self) -> &Ran {
        match self {
            Self::Kernel(kernel) => &kernel.ran,
            Self::Copy(copy) => &copy.ran,
        }
    }
}

/// What is known of one CUDA call.
#[derive(Clone, Debug, Default)]
pub(super) struct Made {
    pub(super) api: Option<Api>,
    /// The call of a profiled function around it; 0 for none, and until `api` is known.
    pub(super) call: u64,
    /// What it ran, until `api` is known.
    pub(super) waiting: SmallVec<[Activity; 1]>,
    /// How much that was, so far.
    pub(super) ran: u32,
    /// Of a graph's nodes the earliest so far, and if that is a kernel, which.
    pub(super) first: Option<(u64, Option<KernelKey>)>,
    /// The latency of `first` is in a table.
    pub(super) is_first_booked: bool,
    /// A window was handed over in which it stands as unfinished.
    pub(super) is_told_unfinished: bool,
    /// Its time on the CPU is in a table.
    pub(super) is_booked: bool,
    /// Rounds in which its first and its latest record came.
    pub(super) born: u32,
    pub(super) touched: u32,
}

impl Made {
    pub(super) fn purpose(&self) -> Option<Purpose> {
        self.api?.function.purpose()
    }

    /// Whether it has something run, if it was not captured.
    pub(super) fn runs(&self) -> bool {
        let purpose = self.purpose();
        self.api.is_some_and(|api| !api.failed)
            && matches!(
                purpose,
                Some(Purpose::Launch | Purpose::Graph | Purpose::Copy | Purpose::Memset)
            )
    }

    /// When the call was made that ran this; as near as it is known.
    pub(super) fn launched(&self, activity: &Activity) -> u64 {
        self.api.map_or(activity.ran().start, |api| api.start)
    }

    pub(super) fn is_whole(&self) -> bool {
        let is_graph = self.purpose() == Some(Purpose::Graph);
        self.api.is_some() && (!self.runs() || (self.ran > 0 && !is_graph))
    }
}
