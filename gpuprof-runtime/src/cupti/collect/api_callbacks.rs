//! CUDA calls of the program, by CUPTI's callbacks at their beginning and end.
//!
//! The callbacks run on the calling thread, so the profiled call that the CUDA call belongs to is
//! the innermost one of that thread.
//!
//! CUPTI's own records of calls (the kinds `DRIVER`, `RUNTIME` and `EXTERNAL_CORRELATION`) are not
//! enabled: they would make every driver call 0.1 to 0.2 µs slower, recorded or not, and announcing
//! a span to CUPTI takes 0.25 µs (H200, CUDA 13.0). A callback slows only the recorded calls.
//!
//! This code runs inside the program's CUDA calls: it never waits for the GPU, only for locks that
//! other threads hold for as long as they add an entry; it never panics, and calls nothing of CUDA,
//! and of CUPTI at most the clock.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};

use super::bindings::{API_ENTER, CallbackData, DOMAIN_RUNTIME, LinearParameters};
use super::bounded_queue::CALLBACK_EVENTS;
use super::callback_clock::Stamp;
use super::callback_events::{CallbackEvent, ReturnedCall};
use super::callback_ids::CallPurpose;
use super::launch_stacks;
use super::record::ApiFunction;
use super::stack_table::StackId;
use super::{cuda_call_rings, lifecycle};
use crate::os;
use crate::stats::profiled_call;

thread_local! {
    /// Without a destructor, so that calls made while the thread ends are recorded too.
    static OPEN_API_CALLS: RefCell<ApiCallStack> = const { RefCell::new(ApiCallStack::EMPTY) };
}

/// The recorded CUDA calls that a thread is in, the innermost last.
#[derive(Debug)]
struct ApiCallStack {
    calls: [OpenApiCall; MAX_NESTED_API_CALLS],
    depth: usize,
    /// The start of CUPTI that they were seen after: the return of a call that outlasts it is not.
    seen_after: u32,
}

/// A driver call inside a runtime call is the deepest nesting observed.
const MAX_NESTED_API_CALLS: usize = 4;

/// A CUDA call that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OpenApiCall {
    function: ApiFunction,
    correlation: u32,
    start: Stamp,
    stack: Option<StackId>,
}

impl ApiCallStack {
    const EMPTY: Self = Self {
        calls: [OpenApiCall {
            function: ApiFunction {
                is_runtime: false,
                cbid: 0,
            },
            correlation: 0,
            start: Stamp::START,
            stack: None,
        }; MAX_NESTED_API_CALLS],
        depth: 0,
        seen_after: 0,
    };

    /// Forgets the calls that were seen after an earlier start of CUPTI than this one.
    fn forget_outdated(&mut self, start: u32) {
        if self.seen_after != start {
            (self.depth, self.seen_after) = (0, start);
        }
    }

    /// Whether a call is part of an outer one.
    fn is_part(&self, function: ApiFunction) -> bool {
        let open = self.calls.get(..self.depth).unwrap_or_default();
        // The runtime launches through the driver: that is one launch, under the correlation id of
        // one of the two calls. Other driver calls inside it, such as loading a module, are calls
        // of their own.
        let contains = |outer: &OpenApiCall| {
            outer.function.is_runtime
                && !function.is_runtime
                && outer.function.purpose() == function.purpose()
        };
        open.iter().any(contains)
    }

    /// Pushes a call. Returns false if the stack is full.
    fn enter(&mut self, call: OpenApiCall) -> bool {
        let Some(free) = self.calls.get_mut(self.depth) else {
            return false;
        };
        *free = call;
        self.depth += 1;
        true
    }

    /// Pops the call that returns, if it was pushed. Calls above it never returned, so they are
    /// popped with it.
    fn leave(&mut self, function: ApiFunction, correlation: u32) -> Option<OpenApiCall> {
        let open = self.calls.get(..self.depth)?;
        let returns =
            |call: &OpenApiCall| call.function == function && call.correlation == correlation;
        let index = open.iter().rposition(returns)?;
        self.depth = index;
        self.calls.get(index).copied()
    }
}

/// Called at the beginning and at the end of a call.
pub(super) fn on_api_call(domain: u32, cbid: u32, data: &CallbackData) {
    let function = ApiFunction {
        is_runtime: domain == DOMAIN_RUNTIME,
        cbid,
    };
    // Fails if the thread is ending; the call is then not recorded.
    let _ = OPEN_API_CALLS.try_with(|open| {
        let Ok(mut open) = open.try_borrow_mut() else {
            return;
        };
        open.forget_outdated(lifecycle::starts());
        match data.callback_site {
            API_ENTER => enter(&mut open, function, data),
            _ => leave(&mut open, function, data),
        }
    });
}

fn enter(open: &mut ApiCallStack, function: ApiFunction, data: &CallbackData) {
    // `None` in a forked child and during shutdown.
    let Some(start) = lifecycle::stamp() else {
        return;
    };
    if open.is_part(function) {
        return;
    }
    let call = OpenApiCall {
        function,
        correlation: data.correlation,
        start,
        stack: launch_stacks::sample(function, data.symbol_name),
    };
    if !open.enter(call) {
        CALLBACK_EVENTS.count_dropped();
    }
}

fn leave(open: &mut ApiCallStack, function: ApiFunction, data: &CallbackData) {
    let call = open.leave(function, data.correlation);
    let (Some(call), Some(end)) = (call, lifecycle::stamp()) else {
        return;
    };
    // SAFETY: on exit this points to the call's CUresult or cudaError_t, or is null.
    let status = unsafe { data.return_value.cast::<c_int>().as_ref() };
    // SAFETY: CUPTI passes the arguments of this function, which live until the callback returns.
    let moves_nothing = unsafe { moves_nothing(function, data.parameters) };
    let call = ReturnedCall {
        function,
        start: call.start,
        end,
        correlation: call.correlation,
        failed: status.is_some_and(|status| *status != 0),
        moves_nothing,
        call: profiled_call::innermost(),
        stack: call.stack,
    };
    // A call inside another may have its correlation id and must come before it. What a graph
    // launch runs depends on the changes of nodes before it, and whether a launch runs at all on
    // the captures that began before it.
    let is_ordered = open.depth > 0
        || matches!(
            function.purpose(),
            Some(CallPurpose::Graph | CallPurpose::BeginCapture | CallPurpose::EndCapture)
        );
    if is_ordered {
        CALLBACK_EVENTS.push(CallbackEvent::Call(call, os::thread_id()))
    } else {
        cuda_call_rings::send(call, &CALLBACK_EVENTS)
    }
}

/// Whether a call is a one-dimensional copy or memset of no bytes. The GPU does no work for it,
/// and CUPTI makes no record (H100, driver 580, CUDA 13.0).
///
/// # Safety
/// `parameters` must be the struct of the function's arguments, or null.
unsafe fn moves_nothing(function: ApiFunction, parameters: *const c_void) -> bool {
    if !function.is_linear() {
        return false;
    }
    // SAFETY: the structs of these functions begin with this type.
    let parameters = unsafe { parameters.cast::<LinearParameters>().as_ref() };
    parameters.is_some_and(|parameters| parameters.count == 0)
}

/// The stack of the innermost recorded CUDA call that this thread is in.
pub(super) fn innermost_stack() -> Option<StackId> {
    let stack = OPEN_API_CALLS.try_with(|open| {
        let open = open.try_borrow().ok()?;
        open.calls.get(open.depth.checked_sub(1)?)?.stack
    });
    stack.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::{ApiCallStack, MAX_NESTED_API_CALLS, OpenApiCall};
    use crate::cupti::collect::callback_clock::Stamp;
    use crate::cupti::collect::callback_ids::{DRIVER_LAUNCH, RUNTIME_LAUNCH};
    use crate::cupti::collect::record::ApiFunction;

    fn open(is_runtime: bool, cbid: u32, correlation: u32) -> OpenApiCall {
        OpenApiCall {
            function: ApiFunction { is_runtime, cbid },
            correlation,
            start: Stamp::START,
            stack: None,
        }
    }

    fn enter(calls: &mut ApiCallStack, call: OpenApiCall) -> bool {
        calls.is_part(call.function) || calls.enter(call)
    }

    fn leave(calls: &mut ApiCallStack, call: OpenApiCall) -> Option<OpenApiCall> {
        calls.leave(call.function, call.correlation)
    }

    #[test]
    fn a_driver_launch_inside_a_runtime_launch_is_part_of_it() {
        let mut calls = ApiCallStack::EMPTY;
        let outer = open(true, RUNTIME_LAUNCH, 1);
        let part = open(false, DRIVER_LAUNCH, 1);
        assert!(enter(&mut calls, outer) && enter(&mut calls, part));
        assert_eq!(leave(&mut calls, part), None);
        assert_eq!(leave(&mut calls, outer), Some(outer));
        // Without a runtime launch around it, it is a call of its own.
        assert!(enter(&mut calls, part));
        assert_eq!(leave(&mut calls, part), Some(part));
        assert_eq!(calls.depth, 0);
    }

    #[test]
    fn a_module_load_inside_a_runtime_launch_is_a_call_of_its_own() {
        let mut calls = ApiCallStack::EMPTY;
        let (outer, load) = (open(true, RUNTIME_LAUNCH, 1), open(false, 678, 2));
        assert!(enter(&mut calls, outer) && enter(&mut calls, load));
        assert_eq!(leave(&mut calls, load), Some(load));
        assert_eq!(leave(&mut calls, outer), Some(outer));
    }

    #[test]
    fn only_linear_copies_and_memsets_of_no_bytes_move_nothing() {
        let moves_nothing = |is_runtime, cbid, parameters: &[u64; 6]| {
            let function = ApiFunction { is_runtime, cbid };
            // SAFETY: six words are more than are read of the struct.
            unsafe { super::moves_nothing(function, std::ptr::from_ref(parameters).cast()) }
        };
        let (none, one) = ([0x10, 0x20, 0, 1, 1, 1], [0, 0, 1, 0, 0, 0]);
        let linear = |is_runtime| {
            let ids = (0..1_024).filter(|cbid| moves_nothing(is_runtime, *cbid, &none));
            ids.collect::<Vec<u32>>()
        };
        let (driver, runtime) = (linear(false), linear(true));
        assert_eq!((driver.len(), runtime.len()), (28, 8));
        assert!(driver.iter().all(|cbid| !moves_nothing(false, *cbid, &one)));
        assert!(runtime.iter().all(|cbid| !moves_nothing(true, *cbid, &one)));
        // cuMemcpyHtoDAsync of 32-bit sizes, cuMemsetD2D8Async, cuMemcpyAtoH_v2, cuMemcpy2D_v2,
        // cuMemcpyPeerAsync.
        for cbid in [60, 222, 282, 287, 319] {
            assert!(!driver.contains(&cbid), "{cbid}");
        }
        // cudaMemcpy2D, cudaMemcpyToArray, cudaMemset3D, cudaMemcpyPeer.
        for cbid in [32, 33, 142, 160] {
            assert!(!runtime.contains(&cbid), "{cbid}");
        }
    }

    #[test]
    fn a_copy_without_parameters_moves_something() {
        // cuMemcpyHtoDAsync_v2.
        let copy = open(false, 277, 1).function;
        // SAFETY: null is accepted.
        assert!(!unsafe { super::moves_nothing(copy, std::ptr::null()) });
    }

    #[test]
    fn a_call_that_outlasts_cupti_is_forgotten_when_that_starts_again() {
        let mut calls = ApiCallStack::EMPTY;
        calls.forget_outdated(1);
        let waiting = open(true, RUNTIME_LAUNCH, 1);
        assert!(enter(&mut calls, waiting));
        calls.forget_outdated(1);
        assert_eq!(calls.depth, 1);
        calls.forget_outdated(2);
        // Otherwise this would be a part of it.
        let next = open(false, DRIVER_LAUNCH, 9);
        assert!(enter(&mut calls, next));
        assert_eq!(leave(&mut calls, next), Some(next));
        assert_eq!(leave(&mut calls, waiting), None);
        assert_eq!(calls.depth, 0);
    }

    #[test]
    fn a_call_that_never_returns_does_not_block_the_others() {
        let mut calls = ApiCallStack::EMPTY;
        let lost = open(false, DRIVER_LAUNCH, 1);
        for correlation in 2..20 {
            let outer = open(true, 20, correlation);
            assert!(enter(&mut calls, outer) && enter(&mut calls, lost));
            assert_eq!(leave(&mut calls, outer), Some(outer));
        }
        // A call whose beginning was not seen is ignored.
        assert_eq!(leave(&mut calls, lost), None);
        let entered: Vec<bool> = (1..=MAX_NESTED_API_CALLS as u32 + 1)
            .map(|correlation| calls.enter(open(false, 20, correlation)))
            .collect();
        assert_eq!(entered, [true, true, true, true, false]);
    }
}
