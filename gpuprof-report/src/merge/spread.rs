//! How one time differs between the merged processes.

use super::totals::rounded_mean;
use crate::profile::{Profile, RankProcess, RankSpread};

/// One figure over the processes that have it.
#[derive(Clone, Debug, Default)]
pub(super) struct ProcessSpread {
    processes: u32,
    sum_ns: u128,
    /// Minimum, and the figure and process of the maximum.
    range: Option<(u64, RankSpread)>,
}

/// A profile as the processes that it is of: one, unless it is merged itself.
pub(super) fn processes(profile: &Profile) -> u32 {
    let merged = profile.ranks.as_ref().map(|ranks| ranks.profiles);
    merged.unwrap_or(1).max(1)
}

/// A profile as notes name it: its process, or of how many profiles it is merged.
pub(super) fn name(profile: &Profile) -> String {
    match &profile.ranks {
        Some(ranks) => format!("a merged profile of {}", ranks.profiles),
        None => process(profile).to_string(),
    }
}

/// The process that a profile is of.
pub(super) fn process(profile: &Profile) -> RankProcess {
    RankProcess {
        rank: profile.rank,
        host: profile.host.clone(),
        pid: profile.pid,
    }
}

impl ProcessSpread {
    pub(super) fn add(&mut self, profile: &Profile, ns: u64) {
        self.widen(1, u128::from(ns), (ns, ns), || RankSpread {
            max_ns: ns,
            slowest_rank: profile.rank,
            slowest_host: profile.host.clone(),
            slowest_pid: profile.pid,
            ..RankSpread::default()
        });
    }

    pub(super) fn add_merged(&mut self, processes: u32, spread: &RankSpread) {
        let sum = u128::from(spread.mean_ns) * u128::from(processes);
        let range = (spread.min_ns, spread.max_ns);
        self.widen(processes, sum, range, || spread.clone());
    }

    fn widen(
        &mut self,
        processes: u32,
        sum_ns: u128,
        (min, max): (u64, u64),
        slowest: impl FnOnce() -> RankSpread,
    ) {
        self.processes = self.processes.saturating_add(processes);
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
        match &mut self.range {
            Some((known_min, known)) => {
                *known_min = min.min(*known_min);
                if max > known.max_ns {
                    *known = slowest();
                }
            }
            None => self.range = Some((min, slowest())),
        }
    }

    pub(super) fn finish(&self, processes: u32) -> RankSpread {
        let Some((min_ns, slowest)) = &self.range else {
            return RankSpread::default();
        };
        let mean = self.sum_ns as f64 / f64::from(processes.max(1));
        RankSpread {
            min_ns: if self.processes < processes {
                0
            } else {
                *min_ns
            },
            mean_ns: rounded_mean(self.sum_ns, u64::from(processes)),
            imbalance: (mean > 0.0).then(|| slowest.max_ns as f64 / mean),
            ..slowest.clone()
        }
    }
}
