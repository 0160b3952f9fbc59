//! NVTX ranges of a program that does not use gpuprof, as functions of its report.
//!
//! The crate gpuprof-inject gets NVTX's calls and passes them on to here.

mod names;
mod pushed_ranges;
mod started_ranges;

pub use self::names::{Domain, RangeSite};
pub use self::pushed_ranges::{pop, push};
pub use self::started_ranges::{end, start};

use crate::os::fork;
use crate::os::own_work::{self, OwnWork};
use crate::session::elf_note;

/// Whether ranges are to be reported: the injected gpuprof measures, this is no forked child, where
/// a thread that does not exist there may hold a lock, and no allocation of gpuprof's own work.
#[must_use]
pub fn measures() -> bool {
    if !elf_note::is_started() || fork::is_child() {
        return false;
    }
    let is_here = own_work::is_here();
    if is_here {
        own_work::count_skipped();
    }
    !is_here
}

/// Runs `work`, which allocates under a lock. `None` in a forked child, and inside such work: an
/// allocator of the program's is here again.
pub fn in_own_work<T>(work: impl FnOnce() -> T) -> Option<T> {
    if fork::is_child() || own_work::is_here() {
        return None;
    }
    let _own = OwnWork::begin();
    Some(work())
}
