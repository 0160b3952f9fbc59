//! Which ranks of a job have no profile among those that were merged, and which have several.

use std::collections::{BTreeMap, BTreeSet};

use super::rows::MAX_ROWS;
use crate::profile::Profile;

/// Ranks, or sizes of jobs, that a note lists.
const LISTED: usize = 8;

/// Ends of notes: a merged profile that is merged again has those of its part of the ranks.
const NOTES: [&str; 3] = [
    "have no profile here",
    "have several profiles, which are all added",
    "merged profiles are of jobs of different numbers of ranks",
];

/// The ranks of a job that have a profile.
#[derive(Clone, Debug, Default)]
pub struct JobRanks {
    /// How many profiles are of each.
    found: BTreeMap<u32, u32>,
    profiles: usize,
    world_sizes: BTreeSet<u32>,
    /// Some are of unknown ranks.
    is_unknown: bool,
}

impl JobRanks {
    pub(super) fn add_profile(&mut self, profile: &Profile) {
        let ranks = match &profile.ranks {
            Some(merged) => merged.numbers.as_slice(),
            None => profile.rank.as_slice(),
        };
        self.add(ranks, profile.world_size);
    }

    /// Adds a profile of each of these ranks, of a job of `world_size` ranks. If either is unknown,
    /// nothing is said of any rank.
    pub fn add(&mut self, ranks: &[u32], world_size: Option<u32>) {
        self.profiles = self.profiles.saturating_add(ranks.len());
        match world_size {
            Some(world_size) if !ranks.is_empty() && self.profiles <= MAX_ROWS => {
                self.world_sizes.insert(world_size);
                for rank in ranks {
                    let profiles = self.found.entry(*rank).or_default();
                    *profiles = profiles.saturating_add(1);
                }
            }
            _ => self.is_unknown = true,
        }
    }

    /// The ranks of the job; `None` if they are not known.
    pub(super) fn world_size(&self) -> Option<u32> {
        let mut sizes = self.world_sizes.iter().filter(|_| !self.is_unknown);
        sizes.next().copied().filter(|_| sizes.next().is_none())
    }

    /// The rank of each profile, ascending; empty if some are not known.
    pub(super) fn numbers(&self) -> Vec<u32> {
        let found = self.found.iter().filter(|_| !self.is_unknown);
        let numbers = found.flat_map(|(rank, times)| (0..*times).map(move |_| *rank));
        numbers.collect()
    }

    /// Says in the notes which ranks are missing, or there more than once, instead of what the
    /// merged profiles say of their parts.
    pub fn note(&self, notes: &mut Vec<String>) {
        if self.is_unknown {
            return;
        }
        notes.retain(|note| !NOTES.iter().any(|known| note.contains(known)));
        let [missing, several, sizes] = NOTES;
        if let Some(world_size) = self.world_size() {
            let found = u32::try_from(self.found.len()).unwrap_or(u32::MAX);
            let count = world_size.saturating_sub(found);
            let ranks = (0..world_size).filter(|rank| !self.found.contains_key(rank));
            if count > 0 {
                let listed = listed(ranks, count as usize);
                notes.push(format!("{count} of {world_size} ranks {missing}: {listed}"));
            }
        } else if !self.world_sizes.is_empty() {
            let listed = listed(self.world_sizes.iter().copied(), self.world_sizes.len());
            notes.push(format!("the {sizes}: {listed}"));
        }
        let twice: Vec<u32> = self
            .found
            .iter()
            .filter(|(_, times)| **times > 1)
            .map(|(rank, _)| *rank)
            .collect();
        if !twice.is_empty() {
            let listed = listed(twice.iter().copied(), twice.len());
            notes.push(format!("ranks that {several}: {listed}"));
        }
    }
}

fn listed(numbers: impl Iterator<Item = u32>, count: usize) -> String {
    let shown: Vec<String> = numbers
        .take(LISTED)
        .map(|number| number.to_string())
        .collect();
    let more = if count > LISTED { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{JobRanks, Profile};

    fn profile(rank: Option<u32>, world_size: Option<u32>) -> Profile {
        Profile {
            rank,
            world_size,
            ..Profile::default()
        }
    }

    fn merged(ranks: impl IntoIterator<Item = u32>, world_size: u32) -> JobRanks {
        let mut merged = JobRanks::default();
        for rank in ranks {
            merged.add_profile(&profile(Some(rank), Some(world_size)));
        }
        merged
    }

    fn notes(merged: &JobRanks) -> Vec<String> {
        let mut notes = Vec::new();
        merged.note(&mut notes);
        notes
    }

    #[test]
    fn missing_ranks_are_listed() {
        assert_eq!(notes(&merged(0..4, 4)), [""; 0]);
        assert_eq!(
            notes(&merged([0, 3, 1], 5)),
            ["2 of 5 ranks have no profile here: 2, 4"]
        );
        assert_eq!(
            notes(&merged([0], 1_000_000)),
            ["999999 of 1000000 ranks have no profile here: 1, 2, 3, 4, 5, 6, 7, 8, …"]
        );
    }

    #[test]
    fn ranks_that_were_restarted_and_other_jobs_are_named() {
        assert_eq!(
            notes(&merged([0, 1, 1, 1, 2, 2], 3)),
            ["ranks that have several profiles, which are all added: 1, 2"]
        );
        // Files of an earlier run with more ranks.
        let mut jobs = merged(0..4, 4);
        (4..8).for_each(|rank| jobs.add_profile(&profile(Some(rank), Some(8))));
        assert_eq!(
            notes(&jobs),
            ["the merged profiles are of jobs of different numbers of ranks: 4, 8"]
        );
        assert_eq!(jobs.world_size(), None);
    }

    #[test]
    fn nothing_is_said_of_ranks_that_are_not_known() {
        for other in [profile(None, Some(4)), profile(Some(1), None)] {
            let mut merged = merged([0], 4);
            assert_eq!(merged.world_size(), Some(4));
            merged.add_profile(&other);
            assert_eq!((merged.world_size(), notes(&merged)), (None, Vec::new()));
            assert_eq!(merged.numbers(), [0; 0]);
        }
        assert_eq!(notes(&JobRanks::default()), [""; 0]);
    }
}
