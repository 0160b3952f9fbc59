//! Where in the code of kernels the warps were, and for what they waited, with `GPUPROF_STALLS=on`.

use std::cmp::Reverse;

use crate::figures::{Sum, figures};
use crate::sorting::sort_by;

/// Samples below which nothing is said of a kernel.
pub const MIN_STALL_SAMPLES: u64 = 100;

figures! {
    /// Samples of the program counters of the devices' warps.
    ///
    /// Each multiprocessor looks at one of its warps at a fixed interval: where it is, and for what
    /// it waits. Samples are of kernels, not of launches or functions.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Stalls {
        /// Cycles of a multiprocessor between two samples, the most if the interval changed.
        pub period_cycles: u64 = max;
        /// Time in which samples were taken, ns.
        pub sampled_ns: u64 = sum;
        /// Time that the start of sampling took, ns.
        pub start_ns: u64 = max;
        /// Samples in the program's kernels.
        pub samples: u64 = sum;
        /// Samples in code of which CUPTI tells no program counters: its own that records
        /// kernels, the driver's, and that of kernels which it has forgotten after a look.
        pub other_samples: u64 = sum;
        /// Samples that the device had no room for.
        pub dropped_samples: u64 = sum;
        /// The sampled kernels, the one with the most samples first.
        pub kernels: Vec<KernelStalls> = special;
    }
}

figures! {
    /// The samples in one kernel.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct KernelStalls {
        /// Its name, as [`KernelStats`](super::KernelStats) has it.
        pub name: String = special;
        /// Samples in it.
        pub samples: u64 = sum;
        /// Of `samples`, those of which no source line is known.
        pub samples_without_line: u64 = sum;
        /// For what the warps waited, the most frequent reason first.
        pub reasons: Vec<StallReasonSamples> = special;
        /// The lines of its source with the most samples, at most [`MAX_STALL_LINES`].
        pub lines: Vec<StallLine> = special;
        /// The instructions with the most samples, at most [`MAX_STALL_LINES`]; empty if all have
        /// lines. JSON omits them then.
        pub instructions: Vec<StallInstruction> = special, unless default;
    }
}

/// Lines and instructions of a kernel that are listed at most.
pub const MAX_STALL_LINES: usize = 16;

figures! {
    /// How often warps waited for one reason.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct StallReasonSamples {
        /// CUPTI's name without `smsp__pcsamp_warps_issue_stalled_`, such as `long_scoreboard`.
        /// `selected`: it did not wait.
        pub reason: String = special;
        /// Samples with it.
        pub samples: u64 = sum;
    }
}

figures! {
    /// A source line of a kernel.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct StallLine {
        /// The source file as the compiler was given it.
        pub file: String = special;
        /// Its line, from 1 on.
        pub line: u32 = special;
        /// Samples in its instructions.
        pub samples: u64 = sum;
        /// For what the warps waited there.
        pub reasons: Vec<StallReasonSamples> = special;
    }
}

figures! {
    /// An instruction of a kernel.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct StallInstruction {
        /// Bytes from the start of the kernel's code.
        pub offset: u64 = special;
        /// Samples at it.
        pub samples: u64 = sum;
        /// For what the warps waited there.
        pub reasons: Vec<StallReasonSamples> = special;
    }
}

impl KernelStalls {
    /// The share of the samples with a reason, 0 to 1.
    #[must_use]
    pub fn share(&self, reason: &str) -> f64 {
        let samples = self.reasons.iter().find(|of| of.reason == reason);
        samples.map_or(0.0, |of| of.samples as f64 / self.samples.max(1) as f64)
    }
}

/// Adds counts of reasons to those that are known. The most frequent one comes first.
pub fn add_reasons(sum: &mut Vec<StallReasonSamples>, more: &[StallReasonSamples]) {
    for more in more {
        match sum.iter_mut().find(|known| known.reason == more.reason) {
            Some(known) => known.add(more),
            None => sum.push(more.clone()),
        }
    }
    sort_by(sum, |a, b| {
        Reverse(a.samples)
            .cmp(&Reverse(b.samples))
            .then_with(|| a.reason.cmp(&b.reason))
    });
}

figures! {
    /// A source line of a kernel whose code has instructions of double precision.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct DoubleLine {
        /// The kernel's name, as [`KernelStats`](super::KernelStats) has it.
        pub kernel: String;
        /// The source file as the compiler was given it.
        pub file: String;
        /// Its line, from 1 on.
        pub line: u32;
        /// Such instructions in its code.
        pub instructions: u32;
        /// Their names, such as `DFMA` and `F2F.F64.F32`, the most frequent one first.
        pub names: Vec<String>;
    }
}
