//! How the processes of a merged profile differ.

use super::late_steps::{LateSteps, RankStepWindow};
use super::rank_process::RankProcess;
use crate::figures::figures;

figures! {
    /// The spread over the processes that were merged into a profile: the ranks of a job, or runs.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Ranks {
        /// Profiles that were merged.
        pub profiles: u32;
        /// Hosts that they are of.
        pub hosts: u32;
        /// The rank of each of these profiles, ascending; empty, and omitted in JSON, if some have
        /// none or the number of ranks is not known.
        pub numbers: Vec<u32>, unless default;
        /// The collectives of the program; `None` without CUPTI or without a collective of NCCL.
        /// JSON omits it then.
        pub collectives: Option<CollectiveRanks>, unless default;
        /// Each process that ran a collective, in the order of the files; at most 65,536. JSON
        /// omits it if there is none.
        pub collective_processes: Vec<CollectiveProcess>, unless default;
        /// The windows of steps that all of these have, as wide as the widest of any; at most 64.
        /// JSON omits it if there is none.
        pub step_windows: Vec<RankStepWindow>, unless default;
        /// The processes that were late in a part of the run, each with these steps, the costliest
        /// first; at most 100. JSON omits it if there is none.
        pub late_steps: Vec<LateSteps>, unless default;
        /// The functions that ran, in the order of `functions`.
        pub functions: Vec<FunctionRanks>;
    }
}

figures! {
    /// One function over the merged processes.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct FunctionRanks {
        /// Index into `functions`.
        pub function: u32;
        /// Processes in which it ran.
        pub profiles: u32;
        /// Its `cpu.total_ns`.
        pub cpu: RankSpread;
        /// Its `gpu.total_ns`; `None` if no call was timed.
        pub gpu: Option<RankSpread>;
        /// Its `busy_ns`; `None` without CUPTI.
        pub busy: Option<RankSpread>;
        /// The collectives of its calls and their nested spans; `None` without CUPTI or without a
        /// collective of NCCL. JSON omits it then.
        pub collectives: Option<Box<CollectiveRanks>>, unless default;
    }
}

figures! {
    /// A time over the merged processes. A process in which the function did not run, or that lacks
    /// the figure, counts with 0.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct RankSpread {
        /// Minimum, ns.
        pub min_ns: u64;
        /// Mean, ns.
        pub mean_ns: u64;
        /// Maximum, ns.
        pub max_ns: u64;
        /// Maximum over mean, from 1: how much longer the slowest process takes than it would if
        /// the work were spread evenly. `None` if the mean is 0.
        #[cfg_attr(test, schemars(range(min = 0)))]
        pub imbalance: Option<f64>;
        /// Rank of the process with the maximum; `None` if it has none.
        pub slowest_rank: Option<u32>;
        /// Its host.
        pub slowest_host: String;
        /// Its process id.
        pub slowest_pid: u32;
    }
}

figures! {
    /// The collectives of NCCL over the merged processes that ran any.
    ///
    /// The times are of those that end when the last rank has come: AllReduce, AllGather and
    /// ReduceScatter. Each rank waits in them for the last one, which therefore has the least time.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct CollectiveRanks {
        /// Processes that ran a kernel of NCCL.
        pub profiles: u32;
        /// Calls of each of them; `None` if their numbers differ.
        pub calls: Option<u64>;
        /// Minimum of their times, ns.
        pub min_ns: u64;
        /// Mean, ns.
        pub mean_ns: u64;
        /// Maximum, ns.
        pub max_ns: u64;
        /// The process with the minimum.
        pub least: RankProcess;
        /// Time of its other work, ns: all kernels, copies and memsets that are not NCCL's.
        pub least_other_ns: u64;
        /// The process with the maximum.
        pub most: RankProcess;
        /// The time of the other work.
        pub other: RankSpread;
        /// Mean time of NCCL's other kernels, ns: in a broadcast, a reduction to one rank or a
        /// transfer between two, only some ranks wait for others.
        pub one_sided_mean_ns: u64;
    }
}

figures! {
    /// One process that ran collectives of NCCL.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct CollectiveProcess {
        /// Which one.
        pub process: RankProcess;
        /// Its measured time, ns.
        pub wall_ns: u64;
        /// Its time in the collectives that end when the last rank has come, ns.
        pub collective_ns: u64;
        /// Time of its other work, ns: all kernels, copies and memsets that are not NCCL's.
        pub other_ns: u64;
        /// Its time in the same collectives that each of `step_windows` launched, ns. JSON omits it
        /// if there is none.
        pub window_ns: Vec<u64>, unless default;
    }
}

impl CollectiveRanks {
    /// The rank that the others wait for: the one with the least time. `None` if the ranks did not
    /// run the same number of collectives, or if they all took the same time.
    #[must_use]
    pub fn late(&self) -> Option<&RankProcess> {
        let is_known = self.profiles > 1 && self.calls.is_some() && self.max_ns > self.min_ns;
        is_known.then_some(&self.least)
    }
}

impl Ranks {
    /// The processes that the others wait for, and by how much they are late, ns; the latest first.
    ///
    /// A process is late by what the median of all has more time in collectives. `share` is the
    /// part of its wall time from which it counts as late. Empty if the ranks did not run the same
    /// number of collectives, or if not all of them are listed.
    #[must_use]
    pub fn late_processes(&self, share: f64) -> Vec<(&CollectiveProcess, u64)> {
        let listed = &self.collective_processes;
        let collectives = self.collectives.as_ref();
        let is_known = collectives.is_some_and(|collectives| {
            collectives.late().is_some() && collectives.profiles as usize == listed.len()
        });
        if !is_known {
            return Vec::new();
        }
        let mut times: Vec<u64> = listed.iter().map(|of| of.collective_ns).collect();
        let middle = times.len() / 2;
        let (_, median_ns, _) = times.select_nth_unstable(middle);
        let late = listed.iter().filter_map(|of| {
            let late_ns = median_ns.saturating_sub(of.collective_ns);
            let is_late = late_ns > 0 && late_ns as f64 >= share * of.wall_ns as f64;
            is_late.then_some((of, late_ns))
        });
        let mut late: Vec<_> = late.collect();
        late.sort_by_key(|(_, late_ns)| std::cmp::Reverse(*late_ns));
        late
    }
}
