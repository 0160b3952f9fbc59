//! `cuStreamWaitValue32`: a stream that waits until the host has written a value.
//!
//! When it opens is not known before, so what is queued behind it has times after [`CLOSED`], which
//! move to the present once a call finds the value. No other call tells the driver of the host's
//! write; a synchronizing one looks for it.

use std::time::Duration;

use crate::abi::Handle;
use crate::clock;
use crate::memory::Memory;
use crate::objects::{Gate, LastRecord};
use crate::result_codes::{Answer, Code};
use crate::state::{self, State};

/// The time at which a closed gate seems to open, in ns: later than every other.
const CLOSED: u64 = 1 << 61;
/// How often a waiting call looks for the value.
const POLL: Duration = Duration::from_micros(20);

/// `CU_STREAM_WAIT_VALUE_GEQ` and `CU_STREAM_WAIT_VALUE_EQ`.
const GREATER_OR_EQUAL: u32 = 0;
const EQUAL: u32 = 1;

impl Gate {
    fn is_open(&self, memory: &Memory) -> Answer<bool> {
        let at = memory
            .resolve(self.address, size_of::<u32>())?
            .cast::<u32>();
        // SAFETY: `resolve` checked that the value is in an allocation; it is aligned, and the host
        // may write it at any time.
        let found = unsafe { at.read_volatile() };
        Ok(if self.is_equal {
            found == self.value
        } else {
            // As the driver states it: cyclic.
            found.wrapping_sub(self.value).cast_signed() >= 0
        })
    }
}

impl State {
    /// Has the resolved `stream` wait. NOT_SUPPORTED for other conditions than GEQ and EQ, in a
    /// capture, and while another stream waits.
    pub(crate) fn close_gate(
        &mut self,
        stream: Handle,
        address: u64,
        value: u32,
        flags: u32,
    ) -> Answer {
        let is_equal = match flags {
            GREATER_OR_EQUAL => false,
            EQUAL => true,
            _ => return Err(Code::NOT_SUPPORTED),
        };
        if !address.is_multiple_of(size_of::<u32>() as u64) {
            return Err(Code::INVALID_VALUE);
        }
        if self.use_for_capture(stream)?.is_some() || self.gate.is_some() {
            return Err(Code::NOT_SUPPORTED);
        }
        let gate = Gate {
            address,
            value,
            is_equal,
            not_before: self.append_work(stream, 0)?,
        };
        if !gate.is_open(&self.memory)? {
            self.streams.get_mut(stream)?.tail = CLOSED;
            self.gate = Some(gate);
        }
        Ok(())
    }

    /// Opens the gate if the host has written its value.
    pub(crate) fn look_at_gate(&mut self) {
        let is_open = |gate: &Gate| gate.is_open(&self.memory).unwrap_or(true);
        let Some(gate) = self.gate.take_if(|gate| is_open(gate)) else {
            return;
        };
        let opened = clock::now().max(gate.not_before);
        let moved = |time: u64| match time.checked_sub(CLOSED) {
            Some(after) => opened.saturating_add(after),
            None => time,
        };
        for stream in self.streams.values_mut() {
            stream.tail = moved(stream.tail);
            stream
                .unfinished
                .iter_mut()
                .for_each(|end| *end = moved(*end));
        }
        for event in self.events.values_mut() {
            if let LastRecord::At(time) = event.last_record {
                event.last_record = LastRecord::At(moved(time));
            }
        }
        for context in self.contexts.values_mut() {
            context.destroyed_streams_end = moved(context.destroyed_streams_end);
        }
        for graph in self.executables.values_mut() {
            graph.last_launch_end = moved(graph.last_launch_end);
        }
        for (time, _) in &mut self.pending_releases {
            *time = moved(*time);
        }
        self.gate_opened = opened;
    }
}

/// Returns when the time is `end` or later, which may be behind a gate. Without the state lock.
pub(crate) fn wait_until(end: u64) {
    let Some(after) = end.checked_sub(CLOSED) else {
        clock::wait_until(end);
        return;
    };
    loop {
        let mut state = state::lock();
        state.look_at_gate();
        if state.gate.is_none() {
            let opened = state.gate_opened;
            drop(state);
            clock::wait_until(opened.saturating_add(after));
            return;
        }
        drop(state);
        std::thread::sleep(POLL);
    }
}
