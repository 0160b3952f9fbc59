//! When profiles were taken: how long at least one process was measured, and whether two were at
//! the same time.

use crate::profile::Profile;
use crate::wall_clock::unix_ns;

/// From start to end, ns since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WallClockRange {
    start: u64,
    end: u64,
}

impl WallClockRange {
    /// A profile without a start, or with one that cannot be read, starts in 1970.
    pub(super) fn of(profile: &Profile) -> Self {
        let start = unix_ns(&profile.started_at).unwrap_or(0);
        Self {
            start,
            end: start.saturating_add(profile.wall_ns),
        }
    }
}

/// The time that the windows cover, ns, and whether any two overlap.
pub(super) fn covered(mut windows: Vec<WallClockRange>) -> (u64, bool) {
    windows.sort_unstable();
    let (mut covered, mut end, mut overlap) = (0_u64, 0_u64, false);
    for window in windows {
        overlap |= window.start < end;
        let new = window.end.saturating_sub(window.start.max(end));
        covered = covered.saturating_add(new);
        end = end.max(window.end);
    }
    (covered, overlap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_once_however_many_processes_were_measured() {
        let window = |start, end| WallClockRange { start, end };
        assert_eq!(covered(vec![]), (0, false));
        assert_eq!(covered(vec![window(5, 9), window(0, 4)]), (8, false));
        let overlapping = vec![window(0, 4), window(2, 9), window(3, 5), window(20, 21)];
        assert_eq!(covered(overlapping), (10, true));
    }
}
