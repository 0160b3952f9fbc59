//! How long the program's steps took.

use crate::figures::figures;

/// Step times that a profile lists at most, the newest.
pub const MAX_STEP_SERIES: usize = 1_000;
/// Windows of steps that a profile lists at most.
pub const MAX_STEP_WINDOWS: usize = 64;
/// Slow steps that a profile lists at most.
pub const MAX_SLOWEST_STEPS: usize = 10;

figures! {
    /// Wall times of the program's steps, from one call of `gpuprof::step()` to the next. Step 1
    /// began when measuring began.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct StepTimes {
        /// Steps that ended.
        pub count: u64 = sum;
        /// Time of all of them, ns.
        pub total_ns: u64 = sum;
        /// Mean, ns.
        pub mean_ns: u64 = special;
        /// Shortest step, ns.
        pub min_ns: u64 = special;
        /// Longest step, ns.
        pub max_ns: u64 = max;
        /// The longest steps, longest first; at most 10.
        pub slowest: Vec<SlowStep> = special;
        /// Times of the last steps, ns: the last one is step `count`. At most 1,000, and none in a
        /// merged profile.
        pub series_ns: Vec<u64> = special;
        /// Windows of consecutive steps from the first to the last, with the collectives that they
        /// launched; at most 64. All have the steps of the first one, a power of two, and the last
        /// may have fewer. JSON omits it without CUPTI, without collectives, in a look and in a
        /// merged profile.
        pub windows: Vec<StepWindow> = special, unless default;
        /// Collectives of the kind of `windows` that were launched after the last step ended. JSON
        /// omits it if there were none.
        pub open_collectives: u64 = sum, unless default;
        /// Time of these, ns.
        pub open_collective_ns: u64 = sum, unless default;
    }
}

figures! {
    /// Consecutive steps, and the collectives that they launched, whenever they ran: those of NCCL
    /// that end when the last rank has come (AllReduce, AllGather and ReduceScatter). Part of a
    /// graph, they count in the step that launched it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct StepWindow {
        /// Number of its first step; that of the program is 1.
        pub first_step: u64;
        /// Steps.
        pub steps: u64;
        /// Their wall time, ns.
        pub wall_ns: u64;
        /// Collectives.
        pub collectives: u64;
        /// Their time, ns.
        pub collective_ns: u64;
    }
}

impl StepTimes {
    /// The number of the first step of `series_ns`.
    #[must_use]
    pub fn first_of_series(&self) -> u64 {
        let before = self.count.saturating_sub(self.series_ns.len() as u64);
        before.saturating_add(1)
    }
}

figures! {
    /// One of the longest steps.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct SlowStep {
        /// Number of the step; the first one is 1.
        pub step: u64;
        /// Its wall time, ns.
        pub ns: u64;
        /// Rank of its process, in a merged profile.
        pub rank: Option<u32>, unless default;
    }
}
