//! Means of times whose calls are not kept.

/// The mean so far of the calls that timed ones represent, and their number: so that paths of
/// different durations can be added.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MeanTime {
    pub(super) ns: f64,
    pub(super) calls: f64,
}

impl MeanTime {
    /// The difference of a call that represents `others` from the mean before it, as large as one
    /// from the final mean is (Welford).
    pub(super) fn beyond(&mut self, ns: f64, others: f64) -> f64 {
        let difference = ns - self.ns;
        let calls = self.calls + others;
        let before = self.calls / calls;
        self.ns += difference * (1.0 - before);
        self.calls = calls;
        difference * before.sqrt()
    }

    /// The call before, which represented `others`, took `ns` more, on another device.
    pub(super) fn add_time_on_another_device(&mut self, ns: f64, others: f64) -> f64 {
        if self.calls > 0.0 {
            self.ns += ns * others / self.calls;
        }
        ns
    }

    pub(super) fn merge(&mut self, other: Self) {
        let calls = self.calls + other.calls;
        if calls > 0.0 {
            self.ns += (other.ns - self.ns) * other.calls / calls;
        }
        self.calls = calls;
    }
}
