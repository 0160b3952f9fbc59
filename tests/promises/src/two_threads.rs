//! Two threads that go through a test in step.

use std::sync::Barrier;
use std::thread;

/// Runs `here`, and `there` on another thread. Both are given a function that waits for the other
/// to call it as often.
pub fn on_two_threads<H, T: Send>(
    here: impl FnOnce(&dyn Fn()) -> H,
    there: impl FnOnce(&dyn Fn()) -> T + Send,
) -> (H, T) {
    let barrier = Barrier::new(2);
    let meet = || {
        barrier.wait();
    };
    thread::scope(|scope| {
        let there = scope.spawn(|| there(&meet));
        let here = here(&meet);
        (here, there.join().expect("it does not panic"))
    })
}
