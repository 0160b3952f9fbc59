//! Atomics for data that threads share without a lock: those of std, or those of loom in a test
//! built with `--cfg loom`, which tries every order that the memory model allows.
//!
//! Only for code with a loom test. Loom's atomics cannot be used in statics.

#[cfg(all(test, loom))]
pub(crate) use loom::{
    hint,
    sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, fence},
};
#[cfg(not(all(test, loom)))]
pub(crate) use std::{
    hint,
    sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, fence},
};

/// Runs a test in every order of its threads, and requires that there is more than one. Loom 0.7.2
/// finds only one if the spawned thread stores a value that it has loaded (its issue 392), so the
/// reader must be the spawned thread.
#[cfg(all(test, loom))]
pub(crate) fn in_every_order(test: impl Fn() + Sync + Send + 'static) {
    use std::sync::{Arc, atomic};
    let runs = Arc::new(atomic::AtomicU64::new(0));
    let counted = Arc::clone(&runs);
    loom::model(move || {
        counted.fetch_add(1, atomic::Ordering::Relaxed);
        test();
    });
    let runs = runs.load(atomic::Ordering::Relaxed);
    assert!(runs > 1, "only one order was tried");
    println!("{runs} orders");
}
