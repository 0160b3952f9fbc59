//! How much a stream takes before the next call waits. A real stream's queue is so deep, and a
//! launch, record, copy or memset that finds it full blocks its caller until the device has come
//! further: modelled time, which the virtual clock jumps. Must never wait while the state is
//! locked; what is computed when is none of its business, that is `queue`'s.

use std::collections::VecDeque;
use std::sync::MutexGuard;

use crate::abi::{Answer, Handle};
use crate::clock;
use crate::state::{self, State};

/// Operations that a stream takes under the host's clock behind the one that runs, unless something
/// else was set: 1,021 launches or records on an H200 with driver 580.159. Under the virtual clock,
/// which must not move by itself, there is no end unless one was set.
const HOST_DEPTH: u32 = 1_021;

/// When each unfinished operation of a stream ends, in ns of the simulator's clock; the first one
/// runs.
#[derive(Default)]
pub(crate) struct Unfinished(VecDeque<u64>);

impl Unfinished {
    /// Takes in an operation that ends at `end`, which is not before what was taken in earlier
    /// ends.
    fn add(&mut self, end: u64) {
        self.0.push_back(end);
    }

    /// When there is room for so many more operations, if `depth` fit behind the one that runs;
    /// none where there is now. More than ever fit begin once nothing else is there.
    fn full_until(&mut self, operations: usize, depth: u32, now: u64) -> Option<u64> {
        while self.0.front().is_some_and(|end| *end <= now) {
            self.0.pop_front();
        }
        let last = (self.0.len() + operations).checked_sub(depth as usize + 2)?;
        let last = last.min(self.0.len().checked_sub(1)?);
        self.0.get(last).copied()
    }
}

/// The state, locked, with room on the stream that a caller's handle means: waits for it. A
/// capturing stream takes all, and a handle that is none is the caller's to refuse.
pub(crate) fn ready(stream: Handle) -> Answer<MutexGuard<'static, State>> {
    ready_for(stream, |_| 1)
}

/// The same with room for as many operations as `operations` says.
pub(crate) fn ready_for(
    stream: Handle,
    operations: impl Fn(&State) -> usize,
) -> Answer<MutexGuard<'static, State>> {
    loop {
        let mut state = state::ready()?;
        let operations = operations(&state);
        match state.full_until(stream, operations) {
            None => return Ok(state),
            Some(end) => {
                drop(state);
                clock::wait_until(end);
            }
        }
    }
}

impl State {
    /// Counts what was just put on the resolved `stream` as one operation. In a queue without end
    /// nothing is counted: it would grow with every operation of a device that is behind.
    pub(crate) fn takes_room(&mut self, stream: Handle) -> Answer {
        if self.queue_depth() == u32::MAX {
            return Ok(());
        }
        let stream = self.streams.get_mut(stream)?;
        stream.unfinished.add(stream.tail);
        Ok(())
    }

    fn queue_depth(&self) -> u32 {
        let unset = if clock::is_virtual() {
            u32::MAX
        } else {
            HOST_DEPTH
        };
        self.depth.unwrap_or(unset)
    }

    fn full_until(&mut self, stream: Handle, operations: usize) -> Option<u64> {
        let depth = self.queue_depth();
        let stream = self.stream(stream).ok()?;
        let stream = self.streams.get_mut(stream).ok()?;
        match stream.capture {
            Some(_) => None,
            None => stream
                .unfinished
                .full_until(operations, depth, clock::now()),
        }
    }
}
