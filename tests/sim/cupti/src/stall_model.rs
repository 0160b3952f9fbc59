//! The stall reasons of the simulated device, and how many samples a launch adds. The amounts are
//! set by tests.

use std::collections::BTreeMap;

use crate::result_codes::{Answer, Code};

/// Why warps wait, in the order of the indices. Each reason `x` has two indices: twice its own for
/// all samples of it, and the next one for those in which the scheduler issued nothing.
const REASONS: [&str; 20] = [
    "selected",
    "not_selected",
    "wait",
    "long_scoreboard",
    "short_scoreboard",
    "math_pipe_throttle",
    "mio_throttle",
    "lg_throttle",
    "tex_throttle",
    "barrier",
    "membar",
    "branch_resolve",
    "dispatch_stall",
    "drain",
    "gmma",
    "warpgroup_arrive",
    "imc_miss",
    "no_instructions",
    "sleeping",
    "misc",
];

/// How many indices there are.
pub(crate) const COUNT: usize = 2 * REASONS.len();

/// The name of an index.
pub(crate) fn name(index: usize) -> String {
    let suffix = if index.is_multiple_of(2) {
        ""
    } else {
        "_not_issued"
    };
    format!(
        "smsp__pcsamp_warps_issue_stalled_{}{suffix}",
        REASONS[index / 2]
    )
}

/// Samples that each launch of a kernel adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallModel<'a> {
    /// The instruction's offset in the kernel, in bytes.
    pub offset: u64,
    /// The stall reason, such as `long_scoreboard`.
    pub reason: &'a str,
    /// How many samples.
    pub samples: u32,
    /// Whether they count for the reason's `_not_issued` too.
    pub not_issued: bool,
}

/// The same as a C type.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Stall {
    pub(crate) offset: u64,
    reason: usize,
    pub(crate) samples: u32,
    not_issued: bool,
}

impl Stall {
    /// `None` if the device has no such reason.
    pub(crate) fn new(model: &StallModel<'_>) -> Option<Stall> {
        let reason = REASONS.iter().position(|known| *known == model.reason)?;
        Some(Stall {
            offset: model.offset,
            reason,
            samples: model.samples,
            not_issued: model.not_issued,
        })
    }

    /// The indices that its samples count for.
    pub(crate) fn indices(&self) -> impl Iterator<Item = u32> {
        let plain = 2 * self.reason as u32;
        let not_issued = self.not_issued.then_some(plain + 1);
        [plain].into_iter().chain(not_issued)
    }
}

/// What each kernel's launches add.
pub(crate) struct StallModels {
    kernels: BTreeMap<String, Vec<Stall>>,
}

impl StallModels {
    pub(crate) const fn new() -> StallModels {
        StallModels {
            kernels: BTreeMap::new(),
        }
    }

    pub(crate) fn set(&mut self, kernel: &str, stalls: &[Stall]) {
        self.kernels.insert(kernel.to_owned(), stalls.to_vec());
    }

    /// What a launch of `kernel` adds; empty if no test has set it.
    pub(crate) fn of(&self, kernel: &str) -> &[Stall] {
        self.kernels.get(kernel).map_or(&[], Vec::as_slice)
    }
}

/// Checks the indices that a client wants to collect; INVALID_OPERATION for none, and for one that
/// the device lacks.
pub(crate) fn checked(indices: &[u32]) -> Answer<Vec<u32>> {
    let is_known = |index: &u32| (*index as usize) < COUNT;
    if indices.is_empty() || !indices.iter().all(is_known) {
        return Err(Code::INVALID_OPERATION);
    }
    Ok(indices.to_vec())
}
