//! Profiles with CUPTI's records and profiles without: two sums, of which one is the result.

use std::fmt;

use super::MergedProfiles;
use super::diagnostics::add_note;
use super::spread;
use crate::profile::Profile;

/// Profiles that the note names.
const LISTED: usize = 8;

/// Adds profiles, one at a time.
///
/// Times of kernels must not be divided by calls whose kernels are unknown. If some profiles have
/// CUPTI's records and others do not, the result is of the more numerous; if they are equally many,
/// of those with records. A note in its diagnostics counts and names those that are left out. A
/// profile without records in which no function ran is added in any case.
///
/// ```
/// use gpuprof_report::merge::Merger;
/// use gpuprof_report::profile::Profile;
///
/// let mut ranks = [Profile::default(), Profile::default()];
/// ranks[0].diagnostics.calls = 3;
/// ranks[1].diagnostics.calls = 4;
///
/// let mut merger = Merger::default();
/// ranks.iter().for_each(|rank| merger.add(rank));
/// let job = merger.finish();
/// assert_eq!(job.diagnostics.calls, 7);
/// assert_eq!(job.ranks.unwrap().profiles, 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Merger {
    added: usize,
    with_records: Part,
    without_records: Part,
}

/// Profiles that [`Merger::finish`] leaves out; displayed, how many, which and why, as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// How many profiles were added before the first of them.
    pub first: usize,
    line: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// The profiles with records, or those without.
#[derive(Clone, Debug, Default)]
struct Part {
    merged: MergedProfiles,
    /// Processes that are in this part alone.
    processes: u32,
    /// How many profiles were added before the first of these.
    first: Option<usize>,
    /// The first of these profiles.
    listed: Vec<String>,
    /// The others, as a list ends.
    more: &'static str,
}

impl Merger {
    /// Adds a profile.
    pub fn add(&mut self, profile: &Profile) {
        let mut functions = profile.functions.iter();
        // No rank of the job is missing because it is left out.
        if profile.cupti.is_some() {
            self.with_records.add(profile, self.added);
            self.without_records.merged.ranks.add_profile(profile);
        } else if functions.any(|function| function.has_run()) {
            self.without_records.add(profile, self.added);
            self.with_records.merged.ranks.add_profile(profile);
        } else {
            self.with_records.merged.add(profile);
            self.without_records.merged.add(profile);
        }
        self.added += 1;
    }

    /// The profiles that [`finish`](Self::finish) leaves out; `None` if it leaves out none.
    #[must_use]
    pub fn left_out(&self) -> Option<LeftOut> {
        let (with, without) = (&self.with_records, &self.without_records);
        let (left, kept, what) = if self.keeps_records() {
            (without, with, ["lacks", "lack"])
        } else {
            (with, without, ["has", "have"])
        };
        let first = left.first?;
        let [what, are] = match left.processes {
            1 => [what[0], "is"],
            _ => [what[1], "are"],
        };
        let line = format!(
            "{} of {} profiles {what} CUPTI's records, unlike the others, and {are} left out: \
             {}{}; set GPUPROF_CUPTI to the same value in all",
            left.processes,
            left.processes.saturating_add(kept.processes),
            left.listed.join(", "),
            left.more
        );
        Some(LeftOut { first, line })
    }

    fn keeps_records(&self) -> bool {
        self.with_records.processes >= self.without_records.processes
    }

    /// The sum of the profiles that were added.
    #[must_use]
    pub fn finish(self) -> Profile {
        let left_out = self.left_out();
        let kept = if self.keeps_records() {
            self.with_records
        } else {
            self.without_records
        };
        let mut merged = kept.merged.finish();
        if let Some(left_out) = left_out {
            add_note(&mut merged.diagnostics.notes, &left_out.line);
        }
        merged
    }
}

impl Part {
    /// Adds a profile after `before` others of either part.
    fn add(&mut self, profile: &Profile, before: usize) {
        self.first.get_or_insert(before);
        self.merged.add(profile);
        self.processes = self.processes.saturating_add(spread::processes(profile));
        if self.listed.len() < LISTED {
            self.listed.push(spread::name(profile));
        } else {
            self.more = ", …";
        }
    }
}
