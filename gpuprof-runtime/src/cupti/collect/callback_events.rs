//! What the callbacks report to the reader.

use super::callback_clock::{CallbackClock, Stamp};
use super::record::{ApiEvent, ApiFunction, ApiRecord, CallPosition, CapturedCall, NodeEvent};

/// What is reported on the program's threads, in the order in which it happened there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallbackEvent {
    Call(ReturnedCall),
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
    /// The innermost profiled call on the thread.
    pub(crate) call: CallPosition,
}

impl ReturnedCall {
    pub(crate) fn event(self, clock: &CallbackClock) -> ApiEvent {
        let api = ApiRecord {
            function: self.function,
            start: clock.ns(self.start),
            end: clock.ns(self.end),
            correlation: self.correlation,
            failed: self.failed,
        };
        ApiEvent {
            api,
            call: self.call,
        }
    }
}
