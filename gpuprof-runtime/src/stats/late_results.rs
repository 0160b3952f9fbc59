//! Totals of the current measuring window and of one earlier window whose late results still count.

/// What happens to results that arrive after their window has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LatePolicy {
    /// Late results of every window so far are discarded.
    Discard,
    /// Late results of the window that ends now are discarded; those of the window kept before
    /// still count.
    KeepPrevious,
    /// Late results of the window that ends now still count, and no others.
    KeepCurrent,
}

/// Totals by window. A window is identified by its [epoch](super::window_epoch).
#[derive(Clone, Debug, Default)]
pub(crate) struct Windowed<T> {
    epoch: u32,
    current: T,
    /// The kept window's epoch, and what has arrived for it since it ended.
    late: Option<(u32, T)>,
}

impl<T: Default> Windowed<T> {
    pub(crate) fn new(epoch: u32) -> Self {
        Self {
            epoch,
            current: T::default(),
            late: None,
        }
    }

    pub(crate) fn current_mut(&mut self) -> &mut T {
        &mut self.current
    }

    /// The totals that a result of the window `epoch` belongs to. `None`: it is discarded.
    pub(crate) fn get_mut(&mut self, epoch: u32) -> Option<&mut T> {
        if epoch == self.epoch {
            return Some(&mut self.current);
        }
        let late = self.late.as_mut().filter(|(kept, _)| *kept == epoch);
        late.map(|(_, totals)| totals)
    }

    /// Begins the window `epoch`. Returns the totals of the window that ends, and what has arrived
    /// for the window kept before it.
    pub(crate) fn next_window(&mut self, epoch: u32, policy: LatePolicy) -> (T, T) {
        let ended = std::mem::replace(&mut self.epoch, epoch);
        let current = std::mem::take(&mut self.current);
        let late = match policy {
            LatePolicy::Discard => self.late.take(),
            LatePolicy::KeepPrevious => None,
            LatePolicy::KeepCurrent => self.late.replace((ended, T::default())),
        };
        (current, late.map(|(_, totals)| totals).unwrap_or_default())
    }

    /// The totals of the current window, and what has arrived for the kept one.
    pub(crate) fn into_totals(self) -> (T, T) {
        let late = self.late.map(|(_, totals)| totals);
        (self.current, late.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::{LatePolicy, Windowed};

    fn add(windowed: &mut Windowed<u32>, epoch: u32) {
        if let Some(total) = windowed.get_mut(epoch) {
            *total += 1;
        }
    }

    #[test]
    fn a_late_result_counts_only_while_its_window_is_kept() {
        let mut windowed = Windowed::new(1);
        add(&mut windowed, 1);
        assert_eq!(windowed.next_window(2, LatePolicy::KeepCurrent), (1, 0));
        add(&mut windowed, 1);
        add(&mut windowed, 2);
        // The warm-up ends: its own late results are discarded, those of window 1 still count.
        assert_eq!(windowed.next_window(3, LatePolicy::KeepPrevious), (1, 0));
        add(&mut windowed, 1);
        add(&mut windowed, 2);
        assert_eq!(windowed.clone().into_totals(), (0, 2));
        assert_eq!(windowed.next_window(4, LatePolicy::Discard), (0, 2));
        add(&mut windowed, 1);
        assert_eq!(windowed.into_totals(), (0, 0));
    }
}
