//! When what was measured counted, in CUPTI's time: to which window something belongs by when it was launched.
//!
//! Must not import anything that calls CUPTI.

use std::collections::VecDeque;

/// Changes that are kept; what was launched before the oldest belongs to no window.
const MOST: usize = 4_096;

/// From when on which window counted.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    /// In order of time; `None`: nothing counted from then on.
    changes: VecDeque<(u64, Option<u32>)>,
}

impl Windows {
    /// From `now` on this window counts, or none.
    pub(crate) fn change(&mut self, now: u64, epoch: Option<u32>) {
        if self
            .changes
            .back()
            .map_or(epoch.is_none(), |last| last.1 == epoch)
        {
            return;
        }
        if self.changes.len() == MOST {
            self.changes.pop_front();
        }
        self.changes.push_back((now, epoch));
    }

    /// The window that counted at `time`.
    pub(crate) fn at(&self, time: u64) -> Option<u32> {
        let mut changes = self.changes.iter().rev();
        changes.find(|(since, _)| *since <= time)?.1
    }
}

#[cfg(test)]
mod tests {
    use super::Windows;

    #[test]
    fn a_launch_belongs_to_the_window_it_was_made_in() {
        let mut windows = Windows::default();
        windows.change(5, None);
        windows.change(10, Some(1));
        windows.change(20, Some(2));
        windows.change(25, Some(2));
        windows.change(30, None);
        windows.change(40, Some(3));
        let found = [9, 10, 19, 20, 29, 30, 39, 40, 99].map(|time| windows.at(time));
        let (one, two, three) = (Some(1), Some(2), Some(3));
        assert_eq!(found, [None, one, one, two, two, None, None, three, three]);
    }

    #[test]
    fn changes_are_forgotten_from_the_oldest_on() {
        let mut windows = Windows::default();
        for at in 0..10_000 {
            windows.change(at * 10, Some(at as u32));
        }
        assert_eq!(windows.at(99_990), Some(9_999));
        assert_eq!(windows.at(15), None);
        assert_eq!(windows.changes.len(), super::MOST);
    }
}
