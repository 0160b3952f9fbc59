//! Totals by measuring window: a result counts in the window that its call began in, if that is
//! the current one.
//!
//! With the feature `metrics`, which counts from the start of the process on, the windows before
//! it have a sum, in which their results count however late they come. Else these are dropped.

use super::window_epoch;

/// Totals that can be added up over windows.
pub(crate) trait WindowSum: Clone + Default {
    /// Their window has ended: what is added from now on came late.
    fn end(&mut self) {}

    /// Adds the totals of another window; both have ended.
    fn merge(&mut self, other: &Self);
}

/// Of which windows a sum is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// The current one alone.
    Window,
    /// Without the feature `metrics` the same as `Window`.
    Process,
}

/// Totals by window. A window is identified by its [number](window_epoch).
#[derive(Clone, Debug)]
pub(crate) struct ByWindow<T> {
    current: u32,
    /// Sums of windows that count, each with the first of them, in order: at most one of the
    /// windows before the current one, and one of that.
    sums: Vec<(u32, T)>,
}

impl<T: WindowSum> Default for ByWindow<T> {
    fn default() -> Self {
        Self {
            current: 0,
            sums: vec![(0, T::default())],
        }
    }
}

impl<T: WindowSum> ByWindow<T> {
    /// The totals that a result of this window belongs to. `None`: it is discarded.
    pub(crate) fn get_mut(&mut self, window: u32) -> Option<&mut T> {
        if !window_epoch::counts(window) {
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

    /// Begins a window.
    pub(crate) fn begin(&mut self, window: u32) {
        if let Some(totals) = self.current_mut() {
            totals.end();
        }
        let mut sums = std::mem::take(&mut self.sums).into_iter();
        if cfg!(feature = "metrics")
            && let Some((first, mut sum)) = sums.next()
        {
            sums.for_each(|(_, more)| sum.merge(&more));
            self.sums.push((first, sum));
        }
        self.current = window;
        if window_epoch::counts(window) {
            self.sums.push((window, T::default()));
        }
    }

    /// A copy with what counts in a sum.
    pub(crate) fn copy(&self, since: Since) -> Self {
        let sums = self
            .sums
            .iter()
            .filter(|(first, _)| since == Since::Process || *first == self.current);
        Self {
            current: self.current,
            sums: sums.cloned().collect(),
        }
    }

    /// The sum of all windows, as if the current one ended now.
    pub(crate) fn into_sum(self) -> T {
        let mut sums = self.sums.into_iter().map(|(_, mut totals)| {
            totals.end();
            totals
        });
        let mut sum = sums.next().unwrap_or_default();
        sums.for_each(|more| sum.merge(&more));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::{ByWindow, Since, WindowSum};

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
        totals.begin(2);
        add(&mut totals, [2]);
        // Between two sessions.
        totals.begin(3);
        assert!(totals.current_mut().is_none());
        add(&mut totals, [3, 2]);
        assert_eq!(sum(&totals, Since::Window), 0);
        totals.begin(4);
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
            totals.begin(window);
            add(&mut totals, (2..=window).step_by(2));
        }
        assert_eq!(sum(&totals, Since::Window), 1);
        let kept = u32::from(cfg!(feature = "metrics"));
        assert_eq!(sum(&totals, Since::Process), 1 + 5 * kept);
        assert!(totals.sums.len() <= 2, "sums do not grow in number");
        totals.begin(7);
        assert_eq!(sum(&totals, Since::Window), 0);
        assert_eq!(sum(&totals, Since::Process), 6 * kept);
    }
}
