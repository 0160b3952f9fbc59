//! How the processes of a merged profile differ from step to step.

use super::rank_process::RankProcess;
use crate::figures::figures;

/// Parts of the run in which a process was late that a merged profile lists at most.
pub const MAX_LATE_STEPS: usize = 100;

figures! {
    /// Consecutive steps of all merged processes; see [`StepWindow`](super::StepWindow).
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct RankStepWindow {
        /// Number of the first step, from 1.
        pub first_step: u64;
        /// Steps, of each process.
        pub steps: u64;
        /// Their wall time in the process in which they took longest, ns.
        pub wall_ns: u64;
        /// Collectives of each process; `None` if their numbers differ.
        pub collectives: Option<u64>;
    }
}

figures! {
    /// A process that was late in a part of the run: the others waited for it in collectives.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct LateSteps {
        /// Which one.
        pub process: RankProcess;
        /// The first of these steps.
        pub first_step: u64;
        /// Steps.
        pub steps: u64;
        /// By what the median of all processes has more time in the collectives of these steps, ns.
        pub late_ns: u64;
    }
}

impl LateSteps {
    /// The number of the last of these steps.
    #[must_use]
    pub fn last_step(&self) -> u64 {
        let after = self.first_step.saturating_add(self.steps);
        after.saturating_sub(1)
    }

    /// How late it was in a step, in the mean, ns.
    #[must_use]
    pub fn ns_per_step(&self) -> u64 {
        self.late_ns / self.steps.max(1)
    }
}
