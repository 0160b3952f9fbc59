//! Totals by measuring window: a result counts in the window that its call began in, if that is
//! the current one.
//!
//! With the feature `metrics`, which counts from the start of the process on, the windows before
//! it have a sum, in which their results count however late they come. So have those of a look that
//! is not over. Others are dropped.

use super::window_epoch;

/// Totals that can be added up over windows.
pub(crate) trait WindowSum: Clone + Default {
    /// Their window has ended: what is added from now on came late.
    fn end(&mut self) {}

    /// Adds the totals of another window. What comes late of one that has ended is late of the sum.
    fn merge(&mut self, other: &Self);
}

/// Of which windows a sum is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// The current one alone.
    Window,
    /// Without the feature `metrics` the same as `Window`.
    Process,
    /// Those of a look.
    Look(LookWindows),
}

/// The windows of a look: of one that goes on, all from the first on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LookWindows {
    pub(crate) first: u32,
    /// The one that began when the look ended.
    pub(crate) end: Option<u32>,
}

impl LookWindows {
    fn contains(self, window: u32) -> bool {
        !window_epoch::is_before(window, self.first) && self.is_before_end(window)
    }

    fn is_before_end(self, window: u32) -> bool {
        self.end
            .is_none_or(|end| window_epoch::is_before(window, end))
    }

    /// Whether what was measured in these two windows, the one before the other, is to be told
    /// apart.
    fn divides(self, before: u32, after: u32) -> bool {
        let begins_between = |boundary: u32| {
            window_epoch::is_before(before, boundary) && !window_epoch::is_before(after, boundary)
        };
        begins_between(self.first) || self.end.is_some_and(begins_between)
    }
}

/// Totals by window. A window is identified by its [number](window_epoch).
#[derive(Clone, Debug)]
pub(crate) struct ByWindow<T> {
    current: u32,
    /// Sums of windows that count, each with the first of them, in order: of the current one, and
    /// of those before it as few as looks allow; without a look, one.
    sums: Vec<(u32, T)>,
    /// In a copy for a look: the windows that results are accepted of.
    copied: Option<LookWindows>,
}

impl<T: WindowSum> Default for ByWindow<T> {
    fn default() -> Self {
        Self {
            current: 0,
            sums: vec![(0, T::default())],
            copied: None,
        }
    }
}

impl<T: WindowSum> ByWindow<T> {
    /// The totals that a result of this window belongs to. `None`: it is discarded.
    pub(crate) fn get_mut(&mut self, window: u32) -> Option<&mut T> {
        if !window_epoch::counts(window) || self.copied.is_some_and(|of| !of.contains(window)) {
            return None;
        }
        let mut sums = self.sums.iter_mut().rev();
        let found = sums.find(|(first, _)| !window_epoch::is_before(window, *first));
        found.map(|(_, totals)| totals)
    }

    /// Those of the current window. `None`: it does not count.
    pub(crate) fn current_mut(&mut self) -> Option<&mut T> {
        let current = self.current;
        let last = self.sums.last_mut().filter(|(first, _)| *first == current);
        last.map(|(_, totals)| totals)
    }

    /// Whether results of the current window count once the next has begun.
    pub(crate) fn keeps_current(&self) -> bool {
        cfg!(feature = "metrics") && window_epoch::counts(self.current)
    }

    /// Whether the current window is one of a look: what comes late of it is as exact as before.
    pub(crate) fn is_looked_at(&self, looks: &[LookWindows]) -> bool {
        looks.iter().any(|look| look.contains(self.current))
    }

    /// Begins a window, and keeps what `looks` are of.
    pub(crate) fn begin(&mut self, window: u32, looks: &[LookWindows]) {
        for (first, mut totals) in std::mem::take(&mut self.sums) {
            let is_one_with = |before: u32| !looks.iter().any(|look| look.divides(before, first));
            match self.sums.last_mut() {
                Some((before, sum)) if is_one_with(*before) => {
                    // Much of what a look is of has not come yet.
                    if !looks.iter().any(|look| look.contains(*before)) {
                        sum.end();
                        totals.end();
                    }
                    sum.merge(&totals);
                }
                _ if cfg!(feature = "metrics") || looks.iter().any(|look| look.contains(first)) => {
                    self.sums.push((first, totals));
                }
                _ => {}
            }
        }
        self.current = window;
        if window_epoch::counts(window) {
            self.sums.push((window, T::default()));
        }
    }

    /// A copy with what counts in a sum.
    pub(crate) fn copy(&self, since: Since) -> Self {
        let counts = |first: u32| match since {
            Since::Look(look) => look.contains(first),
            since => since == Since::Process || first == self.current,
        };
        let sums = self.sums.iter().filter(|(first, _)| counts(*first));
        Self {
            current: self.current,
            sums: sums.cloned().collect(),
            copied: match since {
                Since::Look(look) => Some(look),
                Since::Window | Since::Process => None,
            },
        }
    }

    /// The sum of all windows, as if the current one ended now.
    pub(crate) fn into_sum(self) -> T {
        let mut sums = self.sums.into_iter().map(|(_, totals)| totals);
        let mut sum = sums.next().unwrap_or_default();
        sums.for_each(|more| sum.merge(&more));
        sum.end();
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::{ByWindow, LookWindows, Since, WindowSum};

    impl WindowSum for u32 {
        fn merge(&mut self, other: &Self) {
            *self += other;
        }
    }

    fn add(totals: &mut ByWindow<u32>, windows: impl IntoIterator<Item = u32>) {
        for window in windows {
            if let Some(total) = totals.get_mut(window) {
                *total += 1;
            }
        }
    }

    fn sum(totals: &ByWindow<u32>, since: Since) -> u32 {
        totals.copy(since).into_sum()
    }

    #[test]
    fn a_late_result_counts_in_its_own_window() {
        let mut totals = ByWindow::default();
        totals.begin(2, &[]);
        add(&mut totals, [2]);
        // Between two sessions.
        totals.begin(3, &[]);
        assert!(totals.current_mut().is_none());
        add(&mut totals, [3, 2]);
        assert_eq!(sum(&totals, Since::Window), 0);
        totals.begin(4, &[]);
        add(&mut totals, [4, 3, 2, 2]);
        assert_eq!(totals.current_mut(), Some(&mut 1));
        assert_eq!(sum(&totals, Since::Window), 1);
        let kept = u32::from(cfg!(feature = "metrics"));
        assert_eq!(sum(&totals, Since::Process), 1 + 4 * kept);
    }

    #[test]
    fn a_window_begins_at_zero_and_the_process_goes_on() {
        let mut totals = ByWindow::default();
        for window in [2, 4, 6] {
            totals.begin(window, &[]);
            add(&mut totals, (2..=window).step_by(2));
        }
        assert_eq!(sum(&totals, Since::Window), 1);
        let kept = u32::from(cfg!(feature = "metrics"));
        assert_eq!(sum(&totals, Since::Process), 1 + 5 * kept);
        assert!(totals.sums.len() <= 2, "sums do not grow in number");
        totals.begin(7, &[]);
        assert_eq!(sum(&totals, Since::Window), 0);
        assert_eq!(sum(&totals, Since::Process), 6 * kept);
    }

    #[test]
    fn overlapping_looks_have_what_began_in_their_time() {
        let mut totals = ByWindow::default();
        let look = |first, end| LookWindows { first, end };
        // One look has the windows 2 to 6, the other 4 to 8; after 8 there is none.
        totals.begin(2, &[look(2, None)]);
        totals.begin(4, &[look(2, None), look(4, None)]);
        totals.begin(6, &[look(2, None), look(4, None)]);
        totals.begin(8, &[look(2, Some(8)), look(4, None)]);
        let both = [look(2, Some(8)), look(4, Some(9))];
        totals.begin(9, &both);
        let (first, second) = (Since::Look(both[0]), Since::Look(both[1]));
        for (window, times) in [(2, 1), (4, 10), (6, 100), (8, 1_000), (9, 10_000)] {
            add(&mut totals, std::iter::repeat_n(window, times));
        }
        assert_eq!((sum(&totals, first), sum(&totals, second)), (111, 1_110));
        assert!(totals.sums.len() <= 4, "one for each part: {totals:?}");
        // A third look begins later, and takes nothing of theirs.
        totals.begin(10, &[both[0], both[1], look(10, None)]);
        add(&mut totals, [10, 4]);
        let third = Since::Look(look(10, None));
        assert_eq!(sum(&totals, third), 1);
        assert_eq!((sum(&totals, first), sum(&totals, second)), (112, 1_111));
        // In a copy, too, a result counts in its own look alone.
        let mut copy = totals.copy(first);
        assert!(copy.get_mut(8).is_none() && copy.get_mut(10).is_none());
        assert!(copy.get_mut(6).is_some());
        // Without looks nothing is left of them.
        totals.begin(12, &[]);
        let kept = if cfg!(feature = "metrics") { 1 } else { 0 };
        assert_eq!(totals.sums.len(), 1 + kept);
    }

    #[test]
    fn windows_within_a_long_look_are_one_sum() {
        let mut totals = ByWindow::default();
        let long = LookWindows {
            first: 2,
            end: None,
        };
        for window in (2..200).step_by(4) {
            let short = LookWindows {
                first: window,
                end: Some(window + 2),
            };
            totals.begin(window, &[long, short]);
            add(&mut totals, [window]);
            totals.begin(window + 2, &[long, short]);
            add(&mut totals, [window + 2]);
            assert!(totals.sums.len() <= 5, "{totals:?}");
        }
        assert_eq!(sum(&totals, Since::Look(long)), 100);
    }
}
