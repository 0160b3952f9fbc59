//! One CUDA call, and what it had the GPU run, as far as its records have come.
//!
//! Plain data. Must not import anything that calls CUPTI.

use smallvec::SmallVec;

use super::tables::KernelKey;
use crate::cupti::collect::callback_ids::Purpose;
use crate::cupti::collect::record::{Api, Copy, Kernel, Ran};

/// Something that ran on the GPU.
#[derive(Clone, Debug)]
pub(crate) enum Activity {
    Kernel(Kernel),
    Copy(Copy),
}

impl Activity {
    pub(crate) fn ran(&self) -> &Ran {
        match self {
            Self::Kernel(kernel) => &kernel.ran,
            Self::Copy(copy) => &copy.ran,
        }
    }
}

/// What is known of one CUDA call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Made {
    pub(crate) api: Option<Api>,
    /// The call of a profiled function around it; 0 for none, and until `api` is known.
    pub(crate) call: u64,
    /// What it ran, until `api` is known.
    pub(crate) waiting: SmallVec<[Activity; 1]>,
    /// How much that was, so far.
    pub(crate) ran: u32,
    /// Of a graph's nodes the earliest so far, and if that is a kernel, which.
    pub(crate) first: Option<(u64, Option<KernelKey>)>,
    /// The latency of `first` is in a table.
    pub(crate) is_first_booked: bool,
    /// A window was handed over in which it stands as unfinished.
    pub(crate) is_told_unfinished: bool,
    /// Its time on the CPU is in a table.
    pub(crate) is_booked: bool,
    /// Rounds in which its first and its latest record came.
    pub(crate) born: u32,
    pub(crate) touched: u32,
}

impl Made {
    pub(crate) fn purpose(&self) -> Option<Purpose> {
        self.api?.function.purpose()
    }

    /// Whether it has something run, if it was not captured.
    pub(crate) fn runs(&self) -> bool {
        let purpose = self.purpose();
        self.api.is_some_and(|api| !api.failed)
            && matches!(
                purpose,
                Some(Purpose::Launch | Purpose::Graph | Purpose::Copy | Purpose::Memset)
            )
    }

    /// When the call was made that ran this; as near as it is known.
    pub(crate) fn launched(&self, activity: &Activity) -> u64 {
        self.api.map_or(activity.ran().start, |api| api.start)
    }

    pub(crate) fn is_whole(&self) -> bool {
        let is_graph = self.purpose() == Some(Purpose::Graph);
        self.api.is_some() && (!self.runs() || (self.ran > 0 && !is_graph))
    }
}
