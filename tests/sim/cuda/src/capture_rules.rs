//! What captures prohibit: potentially unsafe calls by mode and thread, waiting for and asking
//! about what is captured (API reference, cuThreadExchangeStreamCaptureMode; programming guide,
//! Prohibited and Unhandled Operations). A prohibited call answers an error and spoils the capture.
//! Must never change a graph.

use std::cell::Cell;

use crate::abi::{Answer, Handle};
use crate::capture::{GLOBAL, RELAXED};
use crate::codes::Code;
use crate::event::Mark;
use crate::state::State;
use crate::stream::thread;

thread_local! {
    static MODE: Cell<i32> = const { Cell::new(GLOBAL) };
}

/// Puts the calling thread in capture interaction `mode` and gives the former one.
pub(crate) fn exchange_mode(mode: i32) -> Answer<i32> {
    if (GLOBAL..=RELAXED).contains(&mode) {
        Ok(MODE.replace(mode))
    } else {
        Err(Code::INVALID_VALUE)
    }
}

impl State {
    /// The rule for potentially unsafe calls (API reference, cuThreadExchangeStreamCaptureMode):
    /// while a capture that the thread's mode must respect is going on, the call answers
    /// STREAM_CAPTURE_UNSUPPORTED and spoils it.
    pub(crate) fn unsafe_call(&mut self) -> Answer {
        let (mode, here) = (MODE.get(), thread());
        let mut prohibited = false;
        for capture in self.captures.values_mut() {
            let own = capture.thread == here && capture.mode != RELAXED;
            let others = mode == GLOBAL && capture.thread != here && capture.mode == GLOBAL;
            if mode != RELAXED && (own || others) {
                capture.invalidated = true;
                prohibited = true;
            }
        }
        if prohibited {
            Err(Code::STREAM_CAPTURE_UNSUPPORTED)
        } else {
            Ok(())
        }
    }

    /// Refuses to wait for or ask about a capturing `stream`, which spoils the capture.
    pub(crate) fn not_capturing(&mut self, stream: Handle) -> Answer {
        match self.capture_of(stream)? {
            Some(id) => {
                self.invalidate(id);
                Err(Code::STREAM_CAPTURE_UNSUPPORTED)
            }
            None => Ok(()),
        }
    }

    /// Refuses to wait for all of `context` while one of its streams captures, which spoils those
    /// captures.
    pub(crate) fn none_capturing(&mut self, context: Handle) -> Answer {
        let mut refused = Ok(());
        for capture in self.captures.values_mut() {
            if capture.context == context {
                capture.invalidated = true;
                refused = Err(Code::STREAM_CAPTURE_UNSUPPORTED);
            }
        }
        refused
    }

    /// Refuses to wait for or ask about a captured `event`, which spoils a capture that still goes
    /// on.
    pub(crate) fn not_captured(&mut self, event: Handle) -> Answer {
        match self.events.get(event)?.mark {
            Mark::Captured(id, _) => {
                self.invalidate(id);
                Err(self.captured_event(id))
            }
            _ => Ok(()),
        }
    }
}
