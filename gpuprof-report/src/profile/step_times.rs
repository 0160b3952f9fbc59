//! How long the program's steps took.

use crate::figures::figures;

/// Step times that a profile lists at most, the newest.
pub const MAX_STEP_SERIES: usize = 1_000;
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
