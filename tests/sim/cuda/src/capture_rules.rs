//! What captures prohibit: potentially unsafe calls by mode and thread, and waits for and queries
//! of what is captured (API reference, cuThreadExchangeStreamCaptureMode; programming guide,
//! Prohibited and Unhandled Operations). A prohibited call returns an error and invalidates the
//! capture.

use crate::abi::Handle;
use crate::objects::LastRecord;
use crate::result_codes::{Answer, Code};
use crate::state::State;
use crate::thread::{self, GLOBAL, RELAXED};

impl State {
    /// The rule for potentially unsafe calls (API reference, cuThreadExchangeStreamCaptureMode): if
    /// a capture that the thread's mode must respect is in progress, the call returns
    /// STREAM_CAPTURE_UNSUPPORTED and invalidates it.
    pub(crate) fn check_unsafe_call(&mut self) -> Answer {
        let (mode, here) = (thread::capture_mode(), thread::number());
        let mut is_prohibited = false;
        for capture in self.captures.values_mut() {
            let own = capture.thread == here && capture.mode != RELAXED;
            let others = mode == GLOBAL && capture.thread != here && capture.mode == GLOBAL;
            if mode != RELAXED && (own || others) {
                capture.is_invalidated = true;
                is_prohibited = true;
            }
        }
        if is_prohibited {
            Err(Code::STREAM_CAPTURE_UNSUPPORTED)
        } else {
            Ok(())
        }
    }

    /// Prohibits a wait for or query of a capturing `stream`.
    pub(crate) fn check_stream_not_capturing(&mut self, stream: Handle) -> Answer {
        match self.use_for_capture(stream)? {
            Some(id) => {
                self.invalidate(id);
                Err(Code::STREAM_CAPTURE_UNSUPPORTED)
            }
            None => Ok(()),
        }
    }

    /// Prohibits a wait for all of `context` while streams of it capture.
    pub(crate) fn check_context_not_capturing(&mut self, context: Handle) -> Answer {
        let mut result = Ok(());
        for capture in self.captures.values_mut() {
            if capture.context == context {
                capture.is_invalidated = true;
                result = Err(Code::STREAM_CAPTURE_UNSUPPORTED);
            }
        }
        result
    }

    /// Prohibits a wait for or query of a captured `event`. Its capture is invalidated if it is
    /// still in progress.
    pub(crate) fn check_event_not_captured(&mut self, event: Handle) -> Answer {
        match self.events.get(event)?.last_record {
            LastRecord::Captured(id, _) => {
                self.invalidate(id);
                Err(self.captured_event(id))
            }
            _ => Ok(()),
        }
    }
}
