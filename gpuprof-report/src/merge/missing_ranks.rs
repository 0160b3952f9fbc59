//! Which ranks of a job have no profile among those that were merged.

use std::collections::BTreeSet;

use crate::profile::Profile;

/// Missing ranks that are listed.
const LISTED: usize = 8;

/// The ranks that were merged.
#[derive(Clone, Debug, Default)]
pub(super) struct MergedRanks {
    found: BTreeSet<u32>,
    /// That of all profiles so far.
    world_size: Option<u32>,
    /// Some are of unknown ranks, or of jobs of different sizes.
    is_unknown: bool,
}

impl MergedRanks {
    pub(super) fn add(&mut self, profile: &Profile) {
        match (profile.rank, profile.world_size) {
            (Some(rank), Some(world_size)) if profile.ranks.is_none() => {
                self.is_unknown |= *self.world_size.get_or_insert(world_size) != world_size;
                self.found.insert(rank);
            }
            _ => self.is_unknown = true,
        }
    }

    /// The ranks of the job; `None` if they are not known.
    pub(super) fn world_size(&self) -> Option<u32> {
        self.world_size.filter(|_| !self.is_unknown)
    }

    /// Says which ranks are missing.
    pub(super) fn note(&self) -> Option<String> {
        let world_size = self.world_size()?;
        let found = u32::try_from(self.found.len()).unwrap_or(u32::MAX);
        let missing = world_size
            .checked_sub(found)
            .filter(|missing| *missing > 0)?;
        let listed = (0..world_size).filter(|rank| !self.found.contains(rank));
        let listed: Vec<String> = listed.take(LISTED).map(|rank| rank.to_string()).collect();
        let more = if missing as usize > LISTED {
            ", …"
        } else {
            ""
        };
        let listed = listed.join(", ");
        Some(format!(
            "{missing} of {world_size} ranks have no profile here: {listed}{more}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{MergedRanks, Profile};

    fn profile(rank: Option<u32>, world_size: Option<u32>) -> Profile {
        Profile {
            rank,
            world_size,
            ..Profile::default()
        }
    }

    fn merged(ranks: impl IntoIterator<Item = u32>, world_size: u32) -> MergedRanks {
        let mut merged = MergedRanks::default();
        for rank in ranks {
            merged.add(&profile(Some(rank), Some(world_size)));
        }
        merged
    }

    #[test]
    fn missing_ranks_are_listed() {
        assert_eq!(merged(0..4, 4).note(), None);
        let note = merged([0, 3, 3, 1], 5).note().unwrap();
        assert_eq!(note, "2 of 5 ranks have no profile here: 2, 4");
        let note = merged([0], 1_000_000).note().unwrap();
        let expected = "999999 of 1000000 ranks have no profile here: 1, 2, 3, 4, 5, 6, 7, 8, …";
        assert_eq!(note, expected);
    }

    #[test]
    fn nothing_is_said_of_ranks_that_are_not_known() {
        for other in [
            profile(None, Some(4)),
            profile(Some(1), None),
            profile(Some(1), Some(8)),
        ] {
            let mut merged = merged([0], 4);
            assert_eq!(merged.world_size(), Some(4));
            merged.add(&other);
            assert_eq!((merged.world_size(), merged.note()), (None, None));
        }
        assert_eq!(MergedRanks::default().note(), None);
    }
}
