//! Totals by measuring window: a result counts in the window that its call began in, however late
//! it comes.
//!
//! A session is a sum of windows, as the cycles of its schedule are windows of their own. With the
//! feature `metrics`, which counts from the start of the process on, the windows before the session
//! have a sum too.

use super::window_epoch;

/// Totals that can be added up over windows.
pub(crate) trait WindowSum: Clone + Default {
    /// Their window has ended: what is added from now on came late.
    fn end(&mut self) {}

    /// Adds the totals of another window; both have ended.
    fn merge(&mut self, other: &Self);
}

/// What begins with a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    /// A session, or a reset: everything counts from zero.
    Session,
    /// Another part of the session.
    Part,
}

/// Of which windows a sum is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    Session,
    /// Without the feature `metrics` the same as `Session`.
    Process,
}

/// Totals by window. A window is identified by its [number](window_epoch).
#[derive(Clone, Debug)]
pub(crate) struct ByWindow<T> {
    current: u32,
    /// The first window of the session.
    session: u32,
    /// Sums of windows that count, each with the first of them, in order: at most one of the
    /// windows before the session, one of the session's earlier ones, and one of the current.
    sums: Vec<(u32, T)>,
}

impl<T: WindowSum> Default for ByWindow<T> {
    fn default() -> Self {
        Self {
            current: 0,
            session: 0,
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

    /// Whether results of the current window count once `begins` has begun.
    pub(crate) fn keeps_current(&self, begins: Begins) -> bool {
        let is_kept = begins == Begins::Part || cfg!(feature = "metrics");
        is_kept && window_epoch::counts(self.current)
    }

    /// Begins a window. Returns a copy of the totals of the one that ends, if it is a part of the
    /// session that goes on and counts.
    pub(crate) fn begin(&mut self, window: u32, begins: Begins) -> Option<T> {
        if let Some(totals) = self.current_mut() {
            totals.end();
        }
        let ended = match begins {
            Begins::Part => self.end_part(),
            Begins::Session => {
                self.end_session();
                self.session = window;
                None
            }
        };
        self.current = window;
        if window_epoch::counts(window) {
            self.sums.push((window, T::default()));
        }
        ended
    }

    fn end_part(&mut self) -> Option<T> {
        let (current, session) = (self.current, self.session);
        let (first, ended) = self.sums.pop_if(|(first, _)| *first == current)?;
        let earlier = self.sums.last_mut();
        match earlier.filter(|(first, _)| !window_epoch::is_before(*first, session)) {
            Some((_, sum)) => sum.merge(&ended),
            None => self.sums.push((first, ended.clone())),
        }
        Some(ended)
    }

    fn end_session(&mut self) {
        let mut sums = std::mem::take(&mut self.sums).into_iter();
        if cfg!(feature = "metrics")
            && let Some((first, mut sum)) = sums.next()
        {
            sums.for_each(|(_, more)| sum.merge(&more));
            self.sums.push((first, sum));
        }
    }

    /// A copy with what counts in a sum.
    pub(crate) fn copy(&self, since: Since) -> Self {
        let sums = self.sums.iter().filter(|(first, _)| {
            since == Since::Process || !window_epoch::is_before(*first, self.session)
        });
        Self {
            current: self.current,
            session: self.session,
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
    use super::{Begins, ByWindow, Since, WindowSum};

    impl WindowSum for u32 {
        fn merge(&mut self, other: &Self) {
            *self += other;
        }
    }

    fn add(totals: &mut ByWindow<u32>, window: u32) {
        if let Some(total) = totals.get_mut(window) {
            *total += 1;
        }
    }

    fn sum(totals: &ByWindow<u32>, since: Since) -> u32 {
        totals.copy(since).into_sum()
    }

    #[test]
    fn a_late_result_counts_in_its_own_window() {
        let mut totals = ByWindow::default();
        assert_eq!(totals.begin(2, Begins::Session), None);
        add(&mut totals, 2);
        // A warm-up, which is discarded, and a second cycle.
        assert_eq!(totals.begin(3, Begins::Part), Some(1));
        assert!(totals.current_mut().is_none());
        add(&mut totals, 3);
        assert_eq!(totals.begin(4, Begins::Part), None);
        for window in [4, 3, 2, 2] {
            add(&mut totals, window);
        }
        assert_eq!(totals.current_mut(), Some(&mut 1));
        assert_eq!(sum(&totals, Since::Session), 4);
        // A third one: what comes late for the first two is in the session, and not in this one.
        assert_eq!(totals.begin(6, Begins::Part), Some(1));
        for window in [2, 4, 6] {
            add(&mut totals, window);
        }
        assert_eq!(totals.begin(7, Begins::Part), Some(1));
        assert_eq!(sum(&totals, Since::Session), 7);
        assert!(totals.sums.len() <= 2, "sums do not grow in number");
    }

    #[test]
    fn a_session_begins_at_zero_and_the_process_goes_on() {
        let mut totals = ByWindow::default();
        totals.begin(2, Begins::Session);
        add(&mut totals, 2);
        totals.begin(4, Begins::Part);
        add(&mut totals, 4);
        totals.begin(6, Begins::Session);
        for window in [2, 3, 4, 6] {
            add(&mut totals, window);
        }
        assert_eq!(sum(&totals, Since::Session), 1);
        let of_process = if cfg!(feature = "metrics") { 5 } else { 1 };
        assert_eq!(sum(&totals, Since::Process), of_process);
        totals.begin(7, Begins::Session);
        assert_eq!(sum(&totals, Since::Session), 0);
    }
}
