//! CUDA calls as they are made: CUPTI calls back when one begins and when it returns, on the thread that makes it, and here the call of
//! a profiled function that the thread is in is noted with it.
//!
//! Not by CUPTI's own records of calls (the kinds DRIVER, RUNTIME and EXTERNAL_CORRELATION): while these are enabled every call of the
//! driver takes 0.1 to 0.2 µs longer, whether it is recorded or not, and telling CUPTI of a span takes 0.25 µs (H200, CUDA 13.0). A
//! callback takes its time from the calls that are recorded alone.
//!
//! What runs here runs inside the program's own CUDA calls. So it never waits, never panics, and calls nothing of CUDA's, and of CUPTI's
//! the clock alone. Must not import collector, span or report.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crossbeam_queue::SegQueue;

use super::calls;
use super::record::{Api, Function};
use super::running;
use super::sys::{CallbackData, DOMAIN_RUNTIME, SITE_ENTER};

/// Calls that wait for the reader: what a process in which it does not come round keeps is bounded. Past it they are lost and
/// counted; from half of it on each wakes the reader.
const MOST_WAITING: usize = 1 << 18;

/// One CUDA call, and the call of a profiled function that it was made in; 0 for none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) api: Api,
    pub(super) call: u64,
}

static SEEN: SegQueue<Seen> = SegQueue::new();
static LOST: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The CUDA call that the thread is in.
    static UNDER_WAY: Cell<UnderWay> = const { Cell::new(UnderWay::NONE) };
}

/// A call that has begun and is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UnderWay {
    correlation: u32,
    runtime: bool,
    start: u64,
}

impl UnderWay {
    const NONE: Self = Self {
        correlation: 0,
        runtime: false,
        start: 0,
    };
}

/// Hands over what was seen up to now.
pub(super) fn take(mut each: impl FnMut(Seen)) {
    // No more than there are now: others go on.
    for _ in 0..SEEN.len() {
        let Some(seen) = SEEN.pop() else { return };
        each(seen);
    }
}

/// Calls that found no room since this was last asked.
pub(super) fn take_lost() -> u64 {
    LOST.swap(0, Relaxed)
}

/// `CUpti_CallbackFunc`.
///
/// # Safety
/// For CUPTI alone, which hands over its data of a call of the driver or the runtime.
pub(super) unsafe extern "C" fn called(
    _user: *mut c_void,
    domain: u32,
    cbid: u32,
    about: *const c_void,
) {
    // SAFETY: only calls of these two domains are asked for, and for them CUPTI passes this, which lives until the return.
    let Some(about) = (unsafe { about.cast::<CallbackData>().as_ref() }) else {
        return;
    };
    let runtime = domain == DOMAIN_RUNTIME;
    // The thread may be ending.
    let _ = UNDER_WAY.try_with(|under_way| match about.site {
        SITE_ENTER => enter(under_way, about.correlation, runtime),
        _ => leave(under_way, about, Function { runtime, cbid }),
    });
}

fn enter(under_way: &Cell<UnderWay>, correlation: u32, runtime: bool) {
    // A call of the runtime that calls the driver is one call, and its work has its number.
    if under_way.get().runtime && !runtime {
        return;
    }
    under_way.set(match running::now() {
        Some(start) => UnderWay {
            correlation,
            runtime,
            start,
        },
        None => UnderWay::NONE,
    });
}

fn leave(under_way: &Cell<UnderWay>, about: &CallbackData, function: Function) {
    let UnderWay {
        correlation,
        runtime,
        start,
    } = under_way.get();
    if start == 0 || runtime != function.runtime || correlation != about.correlation {
        return;
    }
    under_way.set(UnderWay::NONE);
    let Some(end) = running::now() else { return };
    // SAFETY: at the return CUPTI hands over where the call's CUresult or cudaError_t lies, or null.
    let answer = unsafe { about.answer.cast::<c_int>().as_ref() };
    let waiting = SEEN.len();
    if waiting >= MOST_WAITING / 2 {
        running::wake();
    }
    if waiting >= MOST_WAITING {
        LOST.fetch_add(1, Relaxed);
        return;
    }
    SEEN.push(Seen {
        api: Api {
            function,
            start,
            end,
            correlation,
            failed: answer.is_some_and(|answer| *answer != 0),
        },
        call: calls::innermost(),
    });
}
