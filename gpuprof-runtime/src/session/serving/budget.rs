//! How often a server may make an answer: its share of one processor.

use std::time::{Duration, Instant};

use crate::os;

/// Runs `make`, and returns its result and the CPU time of the calling thread.
pub(in crate::session) fn cpu_time_of<T>(make: impl FnOnce() -> T) -> (T, Duration) {
    let before = os::thread_cpu_ns();
    let made = make();
    let spent = os::thread_cpu_ns().saturating_sub(before);
    (made, Duration::from_nanos(spent))
}

/// When the next answer may be made.
pub(in crate::session) struct Budget {
    /// After an answer, so many times its CPU time pass before the next one is made.
    pause: u32,
    /// The longest of these pauses.
    max_pause: Duration,
    /// `None`: now.
    next: Option<Instant>,
}

impl Budget {
    pub(in crate::session) const fn new(pause: u32, max_pause: Duration) -> Self {
        Self {
            pause,
            max_pause,
            next: None,
        }
    }

    /// How long the next answer has to wait. `None`: it may be made now.
    pub(in crate::session) fn wait(&self) -> Option<Duration> {
        let wait = self.next?.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then_some(wait)
    }

    /// Counts the CPU time of an answer. Returns how long the next one has to wait.
    pub(in crate::session) fn spend(&mut self, cpu: Duration) -> Duration {
        let pause = cpu.saturating_mul(self.pause);
        let wait = self
            .wait()
            .unwrap_or_default()
            .saturating_add(pause)
            .min(self.max_pause);
        self.next = Instant::now().checked_add(wait);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_wait_so_many_times_their_cost() {
        let second = Duration::from_secs(1);
        let mut budget = Budget::new(100, 250 * second);
        assert_eq!(budget.wait(), None);
        assert_eq!(budget.spend(second), 100 * second);
        let both = budget.spend(second);
        assert!(both > 199 * second && both <= 200 * second, "{both:?}");
        assert_eq!(budget.spend(second), 250 * second);
        assert!(budget.wait().is_some_and(|wait| wait > 249 * second));
    }
}
