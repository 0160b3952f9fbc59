//! Two threads that go through a test in step.

use std::sync::Barrier;
use std::thread;

/// Runs `here`, and `there` on another thread. Both are given a function that waits for the other
/// to call it as often.
pub fn on_two_threads(here: impl FnOnce(&dyn Fn()), there: impl FnOnce(&dyn Fn()) + Send) {
    let barrier = Barrier::new(2);
    let meet = || {
        barrier.wait();
    };
    thread::scope(|scope| {
        scope.spawn(|| there(&meet));
        here(&meet);
    });
}
