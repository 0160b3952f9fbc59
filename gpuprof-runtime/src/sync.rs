//! The atomics of what gpuprof itself shares between threads without a lock: std's, or in a test built with `--cfg loom`
//! those of loom, which tries every order that the memory model allows.
//!
//! Only for code with a loom test; statics cannot be made of these. Must not import anything of gpuprof's.

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

/// Runs a test in every order of its threads, and requires that there is more than one: loom 0.7.2 finds no other where a
/// spawned thread stores what it has loaded before, so the reader must be the spawned one (its issue 392).
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
    assert!(runs > 1, "nothing was tried");
    println!("{runs} orders");
}
