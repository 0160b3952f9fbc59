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

use super::constants::{CallbackData, DOMAIN_RUNTIME, SITE_ENTER};
use super::queue::Waiting;
use super::record::{Api, Function};
use super::subscriber;
use crate::cupti::call_stack;

/// One CUDA call, and the call of a profiled function that it was made in; 0 for none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) api: Api,
    pub(crate) call: u64,
}

/// Calls that have returned.
pub(crate) static SEEN: Waiting<Seen> = Waiting::new();

thread_local! {
    /// The CUDA calls that the thread is in, the innermost last.
    static UNDER_WAY: Cell<UnderWay> = const { Cell::new(UnderWay::NONE) };
}

/// Calls of a thread that have begun and are recorded, one inside the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UnderWay {
    calls: [Begun; DEEPEST],
    depth: usize,
}

/// Most calls inside one another: the driver's inside the runtime's is all that was seen.
const DEEPEST: usize = 4;

/// A call that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Begun {
    function: Function,
    correlation: u32,
    start: u64,
}

impl UnderWay {
    const NONE: Self = Self {
        calls: [Begun {
            function: Function {
                runtime: false,
                cbid: 0,
            },
            correlation: 0,
            start: 0,
        }; DEEPEST],
        depth: 0,
    };

    /// Takes note of a call that begins. Returns whether it could; what is part of another is not.
    fn enter(&mut self, begun: Begun) -> bool {
        let inside = self.calls.get(..self.depth).unwrap_or_default();
        // The runtime launches by the driver: that is one launch, under one of the two numbers. What else it has the driver do, such as
        // loading a module, is a call of its own.
        let is_part = |outer: &Begun| {
            outer.function.runtime
                && !begun.function.runtime
                && outer.function.purpose() == begun.function.purpose()
        };
        if inside.iter().any(is_part) {
            return true;
        }
        let Some(free) = self.calls.get_mut(self.depth) else {
            return false;
        };
        *free = begun;
        self.depth += 1;
        true
    }

    /// The call that returns, if note was taken of it. Calls inside that have not returned never will.
    fn leave(&mut self, function: Function, correlation: u32) -> Option<Begun> {
        let inside = self.calls.get(..self.depth)?;
        let is_it = |begun: &Begun| begun.function == function && begun.correlation == correlation;
        let at = inside.iter().rposition(is_it)?;
        self.depth = at;
        self.calls.get(at).copied()
    }
}

/// `CUpti_CallbackFunc`.
///
/// # Safety
/// For CUPTI alone, which hands over its data of a call of the driver or the runtime.
pub(crate) unsafe extern "C" fn called(
    _user: *mut c_void,
    domain: u32,
    cbid: u32,
    about: *const c_void,
) {
    // SAFETY: only calls of these two domains are asked for, and for them CUPTI passes this, which lives until the return.
    let Some(about) = (unsafe { about.cast::<CallbackData>().as_ref() }) else {
        return;
    };
    let function = Function {
        runtime: domain == DOMAIN_RUNTIME,
        cbid,
    };
    // The thread may be ending.
    let _ = UNDER_WAY.try_with(|under_way| match about.site {
        SITE_ENTER => enter(under_way, function, about.correlation),
        _ => leave(under_way, function, about),
    });
}

fn enter(under_way: &Cell<UnderWay>, function: Function, correlation: u32) {
    // Not in a forked child, nor when the library is being left.
    let Some(start) = subscriber::now() else {
        return;
    };
    let mut calls = under_way.get();
    let begun = Begun {
        function,
        correlation,
        start,
    };
    if !calls.enter(begun) {
        SEEN.lose();
    }
    under_way.set(calls);
}

fn leave(under_way: &Cell<UnderWay>, function: Function, about: &CallbackData) {
    let mut calls = under_way.get();
    let begun = calls.leave(function, about.correlation);
    under_way.set(calls);
    let (Some(begun), Some(end)) = (begun, subscriber::now()) else {
        return;
    };
    // SAFETY: at the return CUPTI hands over where the call's CUresult or cudaError_t lies, or null.
    let answer = unsafe { about.answer.cast::<c_int>().as_ref() };
    SEEN.push(Seen {
        api: Api {
            function,
            start: begun.start,
            end,
            correlation: begun.correlation,
            failed: answer.is_some_and(|answer| *answer != 0),
        },
        call: call_stack::innermost(),
    });
}

#[cfg(test)]
mod tests {
    use super::{Begun, DEEPEST, UnderWay};
    use crate::cupti::collect::callback_ids::{DRIVER_LAUNCH, RUNTIME_LAUNCH};
    use crate::cupti::collect::record::Function;

    fn begun(runtime: bool, cbid: u32, correlation: u32) -> Begun {
        Begun {
            function: Function { runtime, cbid },
            correlation,
            start: 10 * u64::from(correlation),
        }
    }

    fn left(calls: &mut UnderWay, of: Begun) -> Option<Begun> {
        calls.leave(of.function, of.correlation)
    }

    #[test]
    fn a_launch_of_the_driver_inside_one_of_the_runtime_is_part_of_it() {
        let mut calls = UnderWay::NONE;
        let outer = begun(true, RUNTIME_LAUNCH, 1);
        let part = begun(false, DRIVER_LAUNCH, 1);
        assert!(calls.enter(outer) && calls.enter(part));
        assert_eq!(left(&mut calls, part), None);
        assert_eq!(left(&mut calls, outer), Some(outer));
        // Alone it is a call.
        assert!(calls.enter(part));
        assert_eq!(left(&mut calls, part), Some(part));
        assert_eq!(calls.depth, 0);
    }

    #[test]
    fn a_module_that_a_launch_of_the_runtime_loads_is_a_call_of_its_own() {
        let mut calls = UnderWay::NONE;
        let (outer, loads) = (begun(true, RUNTIME_LAUNCH, 1), begun(false, 678, 2));
        assert!(calls.enter(outer) && calls.enter(loads));
        assert_eq!(left(&mut calls, loads), Some(loads));
        assert_eq!(left(&mut calls, outer), Some(outer));
    }

    #[test]
    fn what_never_returns_keeps_nothing_from_returning() {
        let mut calls = UnderWay::NONE;
        let lost = begun(false, DRIVER_LAUNCH, 1);
        for correlation in 2..20 {
            let outer = begun(true, 20, correlation);
            assert!(calls.enter(outer) && calls.enter(lost));
            assert_eq!(left(&mut calls, outer), Some(outer));
        }
        // Nor what was not seen to begin.
        assert_eq!(left(&mut calls, lost), None);
        let deep: Vec<bool> = (1..=DEEPEST as u32 + 1)
            .map(|correlation| calls.enter(begun(false, 20, correlation)))
            .collect();
        assert_eq!(deep, [true, true, true, true, false]);
    }
}
