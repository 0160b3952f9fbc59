//! The depth of a stream's queue. If it is full, a launch, record, copy or memset blocks its caller
//! until the device has finished an operation. The virtual clock jumps to that time.

use std::collections::VecDeque;
use std::sync::MutexGuard;

use crate::abi::Handle;
use crate::clock;
use crate::result_codes::Answer;
use crate::state::{self, State};
use crate::stream_gate;

/// The default depth under the host's clock: the operations behind the running one. An H200 with
/// driver 580.159 queues 1,021 launches or records. The virtual clock must not move by itself, so
/// its default has no limit.
const HOST_DEPTH: u32 = 1_021;

/// The locked state, once `stream`, the caller's handle, has room for an operation. A capturing
/// stream has room for all, and the caller reports an invalid handle.
pub(crate) fn lock_with_room(stream: Handle) -> Answer<MutexGuard<'static, State>> {
    lock_with_room_for(stream, |_| 1)
}

/// The same, with room for `operations`. The state is not locked during the wait.
pub(crate) fn lock_with_room_for(
    stream: Handle,
    operations: impl Fn(&State) -> usize,
) -> Answer<MutexGuard<'static, State>> {
    loop {
        let mut state = state::lock_initialized()?;
        let operations = operations(&state);
        match state.full_until(stream, operations) {
            None => return Ok(state),
            Some(end) => {
                drop(state);
                stream_gate::wait_until(end);
            }
        }
    }
}

/// When there is room for `operations`, given the ends of the unfinished ones; `None` if there is
/// room now. Operations that never fit start once the queue is empty.
fn full_until(
    unfinished: &mut VecDeque<u64>,
    operations: usize,
    depth: u32,
    now: u64,
) -> Option<u64> {
    while unfinished.front().is_some_and(|end| *end <= now) {
        unfinished.pop_front();
    }
    let last = (unfinished.len() + operations).checked_sub(depth as usize + 2)?;
    let last = last.min(unfinished.len().checked_sub(1)?);
    unfinished.get(last).copied()
}

impl State {
    /// Counts the work that was just appended to the resolved `stream` as one operation. Without a
    /// limit nothing is counted, because the count of a slow device would grow without bound.
    pub(crate) fn count_operation(&mut self, stream: Handle) -> Answer {
        if self.stream_depth() == u32::MAX {
            return Ok(());
        }
        let stream = self.streams.get_mut(stream)?;
        stream.unfinished.push_back(stream.tail);
        Ok(())
    }

    fn stream_depth(&self) -> u32 {
        let default = if clock::is_virtual() {
            u32::MAX
        } else {
            HOST_DEPTH
        };
        self.stream_depth.unwrap_or(default)
    }

    fn full_until(&mut self, stream: Handle, operations: usize) -> Option<u64> {
        let depth = self.stream_depth();
        let stream = self.resolve_stream(stream).ok()?;
        let stream = self.streams.get_mut(stream).ok()?;
        match stream.capture {
            Some(_) => None,
            None => full_until(&mut stream.unfinished, operations, depth, clock::now()),
        }
    }
}
