//! How the processes of a merged profile differ.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

/// The spread over the processes that were merged into a profile: the ranks of a job, or runs.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(default))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Ranks {
    /// Profiles that were merged.
    pub profiles: u32,
    /// Hosts that they are of.
    pub hosts: u32,
    /// The rank of each of these profiles, ascending; empty, and omitted in JSON, if some have none
    /// or the number of ranks is not known.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub numbers: Vec<u32>,
    /// The functions that ran, in the order of `functions`.
    pub functions: Vec<FunctionRanks>,
}

/// One function over the merged processes.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(default))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FunctionRanks {
    /// Index into `functions`.
    pub function: u32,
    /// Processes in which it ran.
    pub profiles: u32,
    /// Its `cpu.total_ns`.
    pub cpu: RankSpread,
    /// Its `gpu.total_ns`; `None` if no call was timed.
    pub gpu: Option<RankSpread>,
    /// Its `busy_ns`; `None` without CUPTI.
    pub busy: Option<RankSpread>,
}

/// A time over the merged processes. A process in which the function did not run, or that lacks
/// the figure, counts with 0.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(default))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RankSpread {
    /// Minimum, ns.
    pub min_ns: u64,
    /// Mean, ns.
    pub mean_ns: u64,
    /// Maximum, ns.
    pub max_ns: u64,
    /// Maximum over mean, from 1: how much longer the slowest process takes than it would if the
    /// work were spread evenly. `None` if the mean is 0.
    #[cfg_attr(test, schemars(range(min = 0)))]
    pub imbalance: Option<f64>,
    /// Rank of the process with the maximum; `None` if it has none.
    pub slowest_rank: Option<u32>,
    /// Its host.
    pub slowest_host: String,
    /// Its process id.
    pub slowest_pid: u32,
}
