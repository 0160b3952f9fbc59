//! Ranges that are started, and ended on any thread and in any order: calls with a wall time, which
//! own no kernels.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::names::RangeSite;
use crate::os::own_work::{self, OwnWork};
use crate::site::labels::LabelNumber;
use crate::span::future::AsyncSpan;

/// Ranges that are open at once; those started beyond are counted as skipped.
const MAX_STARTED_RANGES: usize = 65_536;

/// By number, of all threads.
static STARTED: Mutex<Option<FxHashMap<u64, AsyncSpan>>> = Mutex::new(None);
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Starts a range. Gives its number; 0 if it is not measured.
#[must_use]
pub fn start(site: RangeSite) -> u64 {
    let site = site.0;
    let is_full = |open: &FxHashMap<u64, AsyncSpan>| open.len() >= MAX_STARTED_RANGES;
    if !site.active() {
        return 0;
    }
    if STARTED.lock().as_ref().is_some_and(is_full) {
        own_work::count_skipped();
        return 0;
    }
    let call = AsyncSpan::begun(site, || LabelNumber::NONE);
    let number = NEXT.fetch_add(1, Relaxed);
    // The list grows: an allocator of the program's must not come back to it.
    let _own = OwnWork::begin();
    STARTED.lock().get_or_insert_default().insert(number, call);
    number
}

/// Ends the range of this number, if there is one.
pub fn end(number: u64) {
    let call = STARTED
        .lock()
        .as_mut()
        .and_then(|open| open.remove(&number));
    // Its call ends outside the lock.
    drop(call);
}
