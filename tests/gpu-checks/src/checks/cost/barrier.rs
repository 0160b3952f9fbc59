//! A barrier before each block, so that all threads measure at the same time.

use std::hint;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A spinning barrier: a thread that the system has to wake starts tens of microseconds late.
pub(super) struct Gate {
    threads: usize,
    waiting: AtomicUsize,
    passed: AtomicUsize,
}

impl Gate {
    pub(super) fn new(threads: usize) -> Gate {
        Gate {
            threads,
            waiting: AtomicUsize::new(0),
            passed: AtomicUsize::new(0),
        }
    }

    /// Returns when all threads have arrived.
    pub(super) fn pass(&self) {
        // With fewer processors than threads, a waiting thread must yield.
        const AWAKE: u32 = 10_000;
        let passed = self.passed.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Relaxed);
            self.passed.store(passed + 1, Ordering::Release);
            return;
        }
        let mut rounds = 0;
        while self.passed.load(Ordering::Acquire) == passed {
            rounds += 1;
            if rounds > AWAKE {
                thread::yield_now()
            } else {
                hint::spin_loop()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_passes_before_all_are_here() {
        let (gate, arrived) = (Gate::new(3), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 1..=100 {
                        arrived.fetch_add(1, Ordering::SeqCst);
                        gate.pass();
                        assert!(arrived.load(Ordering::SeqCst) >= 3 * round);
                        gate.pass();
                    }
                });
            }
        });
        assert_eq!(arrived.into_inner(), 300);
    }
}
