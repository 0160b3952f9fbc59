//! How a function's times differ between the merged processes.

use super::totals::rounded_mean;
use crate::profile::{Function, FunctionRanks, Profile, RankSpread};

/// The spreads of one function.
#[derive(Clone, Debug, Default)]
pub(super) struct SpreadTotals {
    /// Processes in which it ran.
    ran: u32,
    cpu: Spread,
    gpu: Option<Spread>,
    busy: Option<Spread>,
}

/// One figure over the processes that have it.
#[derive(Clone, Debug, Default)]
struct Spread {
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

impl SpreadTotals {
    /// Adds a function of the profile of one process.
    pub(super) fn add(&mut self, profile: &Profile, function: &Function) {
        self.ran = self.ran.saturating_add(1);
        self.cpu.add(profile, function.cpu.total_ns);
        if let Some(gpu) = &function.gpu {
            let spread = self.gpu.get_or_insert_default();
            spread.add(profile, gpu.times.total_ns);
        }
        if let Some(busy_ns) = function.activity.busy_ns {
            self.busy.get_or_insert_default().add(profile, busy_ns);
        }
    }

    /// Adds a function of a merged profile of `processes` processes.
    pub(super) fn add_merged(&mut self, processes: u32, ranks: &FunctionRanks) {
        self.ran = self.ran.saturating_add(ranks.profiles);
        self.cpu.add_merged(processes, &ranks.cpu);
        for (sum, more) in [(&mut self.gpu, &ranks.gpu), (&mut self.busy, &ranks.busy)] {
            if let Some(more) = more {
                sum.get_or_insert_default().add_merged(processes, more);
            }
        }
    }

    /// Over `processes` processes. `None` if the function ran in none.
    pub(super) fn finish(&self, function: u32, processes: u32) -> Option<FunctionRanks> {
        let finish = |spread: &Spread| spread.finish(processes);
        (self.ran > 0).then(|| FunctionRanks {
            function,
            profiles: self.ran,
            cpu: self.cpu.finish(processes),
            gpu: self.gpu.as_ref().map(finish),
            busy: self.busy.as_ref().map(finish),
        })
    }
}

impl Spread {
    fn add(&mut self, profile: &Profile, ns: u64) {
        self.widen(1, u128::from(ns), (ns, ns), || RankSpread {
            max_ns: ns,
            slowest_rank: profile.rank,
            slowest_host: profile.host.clone(),
            slowest_pid: profile.pid,
            ..RankSpread::default()
        });
    }

    fn add_merged(&mut self, processes: u32, spread: &RankSpread) {
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

    fn finish(&self, processes: u32) -> RankSpread {
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
