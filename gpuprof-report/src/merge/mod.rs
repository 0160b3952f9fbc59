//! Several profiles as one: the ranks of a job, or several runs.
//!
//! The merge is exact. Counts and times are added, minima and maxima are those of all, and
//! percentiles are computed from the sum of the histograms: eight ranks give what one process that
//! did all their work would have reported. Two figures are not exact:
//!
//! - standard deviations, which are within 1 ns, because each profile rounds its own;
//! - the busy time of a device that several processes used at once, which is marked as an upper
//!   bound.
//!
//! What is added to what: functions by module, name, file and line; nodes of the call tree by path
//! and label; kernels by symbol and model of the device; copies by direction and model; API calls
//! by name; steps without their series, of which the slowest of all are listed. Windows of steps
//! are lined up by the number of the step, as wide as the widest of any process.
//!
//! A device is known by its UUID, and has a new ordinal, in the order in which the profiles list
//! them: eight ranks with one GPU each have the GPUs 0 to 7, with a busy time each. Runs on one GPU
//! share it. Kernels, copies and GPU spans are summed over the devices of one model, and bear the
//! ordinal of the first of them. The wall time is the time in which at least one process was
//! measured.
//!
//! Allocations and live memory are summed; a peak is that of the process with the most. Samples of
//! program counters are added by kernel, source line and instruction; a line has the samples of
//! those profiles that list it, and lines with double precision are those of any profile.
//!
//! Profiles with CUPTI's records and profiles without are not added to each other: see [`Merger`].
//!
//! Findings and suggested commands are about one process and are left out, except the finding about
//! a late rank, which only a merged profile shows.
//!
//! The memory is bounded whatever the profiles hold: a table has at most 65,536 rows, and what is
//! beyond them is counted as dropped.

mod activities;
mod collectives;
mod counters;
mod devices;
mod diagnostics;
mod function_spreads;
mod functions;
mod labels;
mod launch_stacks;
mod memory;
mod merger;
mod missing_ranks;
mod repeats;
mod rows;
mod spread;
mod stalls;
mod step_windows;
mod steps;
#[cfg(test)]
pub(crate) mod tests;
mod totals;
mod tree;
mod windows;

use std::collections::HashMap;
use std::collections::HashSet;

use crate::figures::Sum;
use crate::findings::{findings, late_steps};
use crate::profile::{CollectiveProcess, FunctionRanks, Profile, Ranks, SCHEMA};
use activities::Activities;
use collectives::{CollectiveTotals, CollectiveWork};
use devices::{Devices, Ordinals};
use diagnostics::{add_cupti, add_diagnostics, add_note};
use functions::FunctionTotals;
pub use merger::{LeftOut, Merger};
pub use missing_ranks::JobRanks;
use repeats::Repeats;
use rows::{MAX_ROWS, RowsByName};
use stalls::MergedStalls;
use step_windows::MergedStepWindows;
use tree::MergedTree;
use windows::WallClockRange;

/// Functions of one name and place in a profile that are told apart.
const MAX_NAMESAKES: u32 = 64;

/// The sum of profiles of which all have records, or none.
#[derive(Clone, Debug, Default)]
struct MergedProfiles {
    /// Profiles that were added.
    added: u64,
    /// What is only counted, and what all profiles agree on.
    sums: Profile,
    processes: u32,
    hosts: HashSet<String>,
    ranks: JobRanks,
    repeats: Repeats,
    windows: Vec<WallClockRange>,
    devices: Devices,
    functions: RowsByName<FunctionTotals>,
    tree: MergedTree,
    activities: Activities,
    collectives: CollectiveTotals,
    collective_processes: Vec<CollectiveProcess>,
    step_windows: MergedStepWindows,
    stalls: MergedStalls,
    /// The key of the function that is looked up.
    key: String,
}

impl MergedProfiles {
    /// Adds a profile.
    fn add(&mut self, profile: &Profile) {
        self.added += 1;
        self.processes = self.processes.saturating_add(spread::processes(profile));
        if self.hosts.len() < MAX_ROWS {
            self.hosts.insert(profile.host.clone());
        }
        if !self.repeats.add(profile) {
            self.ranks.add_profile(profile);
        }
        self.add_collectives(profile);
        self.windows.push(WallClockRange::of(profile));
        self.add_facts(profile);
        let ordinals = self.devices.add(profile);
        launch_stacks::add_stacks(&mut self.sums.stacks, &profile.stacks);
        self.stalls.add(profile);
        memory::add_memory(&mut self.sums.memory, &profile.memory, |device| {
            ordinals.own(device)
        });
        let places = self.add_functions(profile, &ordinals);
        let activities =
            self.activities
                .add(&profile.kernels, &profile.copies, &profile.api, |ordinal| {
                    ordinals.of_model(ordinal)
                });
        let dropped = self.tree.add(&profile.tree, &places, &activities);
        self.sums.diagnostics.dropped.add(&dropped);
    }

    /// The sum of the profiles that were added.
    fn finish(mut self) -> Profile {
        self.add_dropped_note();
        let mut merged = self.sums;
        merged.world_size = self.ranks.world_size();
        self.ranks.note(&mut merged.diagnostics.notes);
        self.repeats.note(&mut merged.diagnostics.notes);
        merged.wall_ns = windows::covered(self.windows).0;
        merged.devices = self.devices.devices();
        merged.gpu_busy = self.devices.busy();
        merged.throttled = self.devices.throttled();
        merged.counters = self.devices.counters();
        let (functions, places) = self.functions.sorted_by_key(FunctionTotals::order);
        let spreads = functions
            .iter()
            .enumerate()
            .filter_map(|(at, of)| of.spread.finish(at as u32, self.processes));
        let mut processes = self.collective_processes;
        let step_windows = self.step_windows.finish(&mut processes);
        let mut ranks = Ranks {
            profiles: self.processes,
            hosts: u32::try_from(self.hosts.len()).unwrap_or(u32::MAX),
            numbers: self.ranks.numbers(),
            collectives: self.collectives.finish(),
            collective_processes: processes,
            step_windows,
            late_steps: Vec::new(),
            functions: spreads.collect(),
        };
        ranks.late_steps = late_steps(&ranks);
        merged.ranks = Some(ranks);
        merged.functions = functions.into_iter().map(FunctionTotals::finish).collect();
        let tables = self.activities.finish();
        let (kernels, copies) = (&tables.kernel_places, &tables.copy_places);
        merged.tree = self.tree.finish(&places, kernels, copies);
        (merged.kernels, merged.copies, merged.api) = (tables.kernels, tables.copies, tables.api);
        (merged.stalls, merged.double_lines) = self.stalls.finish();
        merged.findings = findings(&merged);
        merged
    }

    /// What a profile says once.
    fn add_facts(&mut self, profile: &Profile) {
        let sums = &mut self.sums;
        add_cupti(&mut sums.cupti, &profile.cupti);
        steps::add(&mut sums.steps, profile);
        if self.added == 1 {
            sums.schema = SCHEMA.to_owned();
            sums.program.clone_from(&profile.program);
            sums.host.clone_from(&profile.host);
            sums.started_at.clone_from(&profile.started_at);
            (sums.pid, sums.rank) = (profile.pid, profile.rank);
            sums.at_exit = profile.at_exit;
            sums.meta.clone_from(&profile.meta);
            sums.diagnostics = profile.diagnostics.clone();
            return;
        }
        (sums.pid, sums.rank) = (0, None);
        sums.at_exit &= profile.at_exit;
        if !profile.started_at.is_empty() && profile.started_at < sums.started_at {
            sums.started_at.clone_from(&profile.started_at);
        }
        let notes = &mut sums.diagnostics.notes;
        let differs = [
            (profile.program != sums.program, "programs"),
            (
                profile.diagnostics.sampling != sums.diagnostics.sampling,
                "sampling settings",
            ),
            (profile.meta != sums.meta, "facts (GPUPROF_META)"),
        ];
        for (_, what) in differs.into_iter().filter(|(differs, _)| *differs) {
            add_note(
                notes,
                &format!("the merged profiles are of different {what}"),
            );
        }
        sums.meta.retain(|pair| profile.meta.contains(pair));
        add_diagnostics(&mut sums.diagnostics, &profile.diagnostics);
    }

    /// Adds the collectives of the whole program.
    fn add_collectives(&mut self, profile: &Profile) {
        let mut processes: Vec<_> = match &profile.ranks {
            Some(merged) => {
                let collectives = merged.collectives.iter();
                collectives.for_each(|ranks| self.collectives.add_merged(ranks));
                merged.collective_processes.clone()
            }
            None => {
                let work = CollectiveWork::of_program(profile);
                work.iter()
                    .for_each(|work| self.collectives.add(profile, work));
                work.iter().map(|work| work.process(profile)).collect()
            }
        };
        let known = &mut self.collective_processes;
        processes.truncate(MAX_ROWS.saturating_sub(known.len()));
        self.step_windows.add(profile, &mut processes, known);
        known.extend(processes);
    }

    /// Adds the functions of a profile and returns where each now is.
    fn add_functions(&mut self, profile: &Profile, ordinals: &Ordinals) -> Vec<Option<u32>> {
        let processes = spread::processes(profile);
        let ranks = profile.ranks.iter().flat_map(|ranks| &ranks.functions);
        let ranks: HashMap<u32, &FunctionRanks> =
            ranks.map(|ranks| (ranks.function, ranks)).collect();
        let works = match profile.ranks {
            Some(_) => HashMap::new(),
            None => CollectiveWork::of_functions(profile),
        };
        let functions = profile.functions.iter().enumerate();
        let places = functions.map(|(index, function)| {
            use std::fmt::Write as _;
            self.key.clear();
            // Writing to a String cannot fail.
            let _ = write!(
                self.key,
                "{}\n{}\n{}\n{}",
                function.module, function.name, function.file, function.line
            );
            let at = self.find_or_add_function()?;
            let totals = self.functions.get_mut(at)?;
            totals.last_profile = self.added;
            let ranks = ranks.get(&(index as u32)).map(|ranks| (processes, *ranks));
            let work = works.get(&(index as u32));
            totals.add(profile, function, ranks, work, ordinals);
            Some(at)
        });
        places.collect()
    }

    /// Where a function is that has `self.key`: two of one profile have two places.
    fn find_or_add_function(&mut self) -> Option<u32> {
        let mut namesake = 0;
        loop {
            let at = (self.functions).position(&self.key, namesake, FunctionTotals::new)?;
            let is_taken = self.functions.get(at)?.last_profile == self.added;
            if !is_taken || namesake + 1 >= MAX_NAMESAKES {
                return Some(at);
            }
            namesake += 1;
        }
    }

    /// Says what there was no room for.
    fn add_dropped_note(&mut self) {
        let functions = self.functions.iter().map(|of| of.activities.dropped());
        let dropped = functions.fold(self.functions.dropped, u64::saturating_add);
        let tables = [
            self.devices.dropped(),
            self.activities.dropped(),
            self.stalls.dropped(),
        ];
        let dropped = tables.into_iter().fold(dropped, u64::saturating_add);
        if dropped > 0 {
            add_note(
                &mut self.sums.diagnostics.notes,
                &format!("{dropped} rows are left out: a table has at most {MAX_ROWS}"),
            );
        }
    }
}
