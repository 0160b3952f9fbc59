//! How a function's times differ between the merged processes.

use super::collectives::{CollectiveTotals, CollectiveWork};
use super::spread::ProcessSpread;
use crate::profile::{Function, FunctionRanks, Profile};

/// The spreads of one function.
#[derive(Clone, Debug, Default)]
pub(super) struct SpreadTotals {
    /// Processes in which it ran.
    ran: u32,
    cpu: ProcessSpread,
    gpu: Option<ProcessSpread>,
    busy: Option<ProcessSpread>,
    collectives: CollectiveTotals,
}

impl SpreadTotals {
    /// Adds a function of the profile of one process, with the work of its calls.
    pub(super) fn add(
        &mut self,
        profile: &Profile,
        function: &Function,
        work: Option<&CollectiveWork>,
    ) {
        self.ran = self.ran.saturating_add(1);
        self.cpu.add(profile, function.cpu.total_ns);
        if let Some(gpu) = &function.gpu {
            let spread = self.gpu.get_or_insert_default();
            spread.add(profile, gpu.times.total_ns);
        }
        if let Some(busy_ns) = function.activity.busy_ns {
            self.busy.get_or_insert_default().add(profile, busy_ns);
        }
        if let Some(work) = work {
            self.collectives.add(profile, work);
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
        if let Some(collectives) = &ranks.collectives {
            self.collectives.add_merged(collectives);
        }
    }

    /// Over `processes` processes. `None` if the function ran in none.
    pub(super) fn finish(&self, function: u32, processes: u32) -> Option<FunctionRanks> {
        let finish = |spread: &ProcessSpread| spread.finish(processes);
        (self.ran > 0).then(|| FunctionRanks {
            function,
            profiles: self.ran,
            cpu: self.cpu.finish(processes),
            gpu: self.gpu.as_ref().map(finish),
            busy: self.busy.as_ref().map(finish),
            collectives: self.collectives.finish().map(Box::new),
        })
    }
}
