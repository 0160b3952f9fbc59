//! What the callbacks report to the reader.

use super::callback_clock::{CallbackClock, Stamp};
use super::record::{ApiEvent, ApiFunction, ApiRecord, CapturedCall, NodeEvent};
use super::stack_table::StackId;
use crate::stats::profiled_call::CallPosition;

/// What is reported on the program's threads, in the order in which it happened there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallbackEvent {
    /// With the system's number of the thread.
    Call(ReturnedCall, u32),
    Node(NodeEvent),
    Captured(CapturedCall),
}

/// A CUDA call, as it leaves its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReturnedCall {
    pub(crate) function: ApiFunction,
    pub(crate) start: Stamp,
    pub(crate) end: Stamp,
    pub(crate) correlation: u32,
    /// The call returned an error.
    pub(crate) failed: bool,
    /// The call copies or sets no bytes.
    pub(crate) moves_nothing: bool,
    /// The innermost profiled call on the thread.
    pub(crate) call: CallPosition,
    /// Where it was made, if that was looked at.
    pub(crate) stack: Option<StackId>,
}

impl ReturnedCall {
    pub(crate) fn event(self, thread: u32, clock: &CallbackClock) -> ApiEvent {
        let start = clock.ns(self.start);
        let api = ApiRecord {
            function: self.function,
            start,
            // The counters of two processors may differ, and the system's clock may be set back.
            end: clock.ns(self.end).max(start),
            correlation: self.correlation,
            failed: self.failed,
            moves_nothing: self.moves_nothing,
        };
        ApiEvent {
            api,
            call: self.call,
            stack: self.stack,
            thread,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiFunction, CallPosition, CallbackClock, ReturnedCall, Stamp};

    #[test]
    fn a_call_ends_no_earlier_than_it_begins() {
        let times = |start, end| {
            let call = ReturnedCall {
                function: ApiFunction {
                    is_runtime: false,
                    cbid: 1,
                },
                start: Stamp::from_ns(start),
                end: Stamp::from_ns(end),
                correlation: 1,
                failed: false,
                moves_nothing: false,
                call: CallPosition::default(),
                stack: None,
            };
            let event = call.event(1, &CallbackClock::nanosecond_clock());
            assert!(event.api.is_plausible());
            (event.api.start, event.api.end)
        };
        assert_eq!([times(5, 9), times(5, 3)], [(5, 9), (5, 5)]);
    }
}
