//! The atomics of what gpuprof itself shares between threads without a lock: std's, or in a test built with `--cfg loom`
//! those of loom, which tries every order that the memory model allows.
//!
//! Only for code with a loom test; statics cannot be made of these. Must not import anything of gpuprof's.

#[cfg(all(test, loom))]
pub(crate) use loom::{
    hint,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence},
};
#[cfg(not(all(test, loom)))]
pub(crate) use std::{
    hint,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence},
};
