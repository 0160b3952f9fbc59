//! For how long samples were taken that count.

use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(super) struct SamplingClock {
    since: Option<Instant>,
    before: Duration,
}

impl SamplingClock {
    /// Starts it, or stops it.
    pub(super) fn set_running(&mut self, runs: bool) {
        if runs {
            self.since.get_or_insert_with(Instant::now);
        } else {
            self.before = self.total();
            self.since = None;
        }
    }

    /// Begins at zero.
    pub(super) fn reset(&mut self) {
        self.before = Duration::ZERO;
        self.since = self.since.map(|_| Instant::now());
    }

    pub(super) fn total(&self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, SamplingClock};

    #[test]
    fn time_passes_while_it_runs() {
        let mut clock = SamplingClock::default();
        assert_eq!(clock.total(), Duration::ZERO);
        clock.set_running(true);
        std::thread::sleep(Duration::from_millis(2));
        clock.set_running(true);
        assert!(clock.total() >= Duration::from_millis(2));
        clock.set_running(false);
        let total = clock.total();
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(clock.total(), total);
        clock.reset();
        assert_eq!(clock.total(), Duration::ZERO);
    }
}
