//! Samples the stack of a CUDA call, for `GPUPROF_STACKS=on`: only the return addresses, which
//! are looked up when a report is made, and the lines of Python.
//!
//! This code runs inside the program's CUDA calls, on their thread. It allocates for a stack that
//! is new, and for a thread's first call in a window; both are bounded. It holds no lock while it
//! unwinds, and waits only while another thread adds a stack to the table or copies one from it.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use smallvec::SmallVec;

use super::callback_ids::CallPurpose;
use super::python;
use super::record::ApiFunction;
use super::stack_sampling::{SampledCall, StackSampling};
use super::stack_table::{MAX_FRAMES, STACKS, StackId};
use crate::clock;
use crate::os::random;
use crate::stats::profiled_call;
use crate::stats::window_epoch;

/// Whether the open window asks for stacks.
static IS_ON: AtomicBool = AtomicBool::new(false);

thread_local! {
    static SAMPLING: RefCell<Option<Box<StackSampling>>> = const { RefCell::new(None) };
}

/// From now on samples stacks, or no longer.
pub(crate) fn set_on(is_on: bool) {
    let is_on = is_on && cfg!(feature = "cupti");
    // A program with gpuprof has the lines of its own functions.
    if is_on && cfg!(feature = "inject") {
        python::find();
    }
    IS_ON.store(is_on, Relaxed);
}

/// The stack of a CUDA call that begins, if it causes GPU work and is sampled.
/// `symbol_name`: CUPTI's, which only a launch has.
#[inline]
pub(super) fn sample(function: ApiFunction, symbol_name: *const c_void) -> Option<StackId> {
    if !IS_ON.load(Relaxed) {
        return None;
    }
    let symbol = match function.purpose()? {
        CallPurpose::Launch => symbol_name as usize,
        CallPurpose::Graph | CallPurpose::Copy | CallPurpose::Memset => 0,
        _ => return None,
    };
    let call = SampledCall {
        symbol,
        path: profiled_call::innermost().path,
        cbid: function.cbid,
    };
    // Fails if the thread is ending.
    let stack = SAMPLING.try_with(|sampling| {
        let mut sampling = sampling.try_borrow_mut().ok()?;
        let (start, window) = (clock::now(), window_epoch::current());
        let sampling = match &mut *sampling {
            Some(sampling) if sampling.window == window => sampling,
            other => other.insert(Box::new(begin_window(window, start))),
        };
        let sample = sampling.wants(call, start)?;
        let stack = unwind();
        sampling.charge(sample, clock::now().saturating_sub(start));
        stack
    });
    stack.ok().flatten()
}

/// Each window has first calls of its own, and a budget for its own time.
#[cold]
fn begin_window(window: u32, now: u64) -> StackSampling {
    const TICKS: u64 = 1 << 20;
    let ms = clock::rough_ns(TICKS).max(1) as f64 / 1e6;
    StackSampling::new(window, now, TICKS as f64 / ms, random::generator())
}

/// The stack of this thread; `None` if it cannot be unwound.
#[inline(never)]
fn unwind() -> Option<StackId> {
    let python = python::frames().0;
    let mut frames: SmallVec<[usize; 2 * MAX_FRAMES]> = SmallVec::new();
    for_each_frame(|address| {
        // The calls of Python's functions are in the place of the interpreter's.
        if !python.is_empty() && python::is_interpreter(address) {
            return false;
        }
        frames.push(address);
        frames.len() < MAX_FRAMES
    });
    frames.extend_from_slice(&python);
    (!frames.is_empty()).then(|| STACKS.insert(&frames))
}

/// Passes the return addresses of this thread, the innermost first, while `wants_more` is true.
#[cfg(feature = "cupti")]
fn for_each_frame(mut wants_more: impl FnMut(usize) -> bool) {
    let on_frame = |frame: &backtrace::Frame| wants_more(frame.ip() as usize);
    // SAFETY: on Linux this calls `_Unwind_Backtrace`, which several threads may do at once; what
    // must not run at once on other systems is the look-up of symbols.
    unsafe { backtrace::trace_unsynchronized(on_frame) };
}

#[cfg(not(feature = "cupti"))]
fn for_each_frame(_: impl FnMut(usize) -> bool) {}
