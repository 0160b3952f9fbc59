//! Default streams that were set while nothing was measured, the innermost last. A program that is
//! not measured makes no driver call for them: they are set when the thread's first GPU span
//! begins, which is inside of them.

use crate::collector::collector;
use crate::gpu::frame_stack::FrameToken;
use crate::gpu::{GpuThread, StreamRef};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct DeferredStreams {
    list: Vec<DeferredStream>,
    next: u64,
    /// Those at the end of the list that are not set yet.
    waiting: usize,
}

#[derive(Debug)]
struct DeferredStream {
    number: u64,
    stream: StreamRef<'static>,
    /// `None`: it is not set yet, or cannot be used.
    frame: Option<FrameToken>,
}

impl DeferredStreams {
    pub(super) fn push(&mut self, stream: &StreamRef<'_>) -> u64 {
        self.next += 1;
        self.waiting += 1;
        self.list.push(DeferredStream {
            number: self.next,
            stream: stream.detached(),
            frame: None,
        });
        self.next
    }

    /// Whether one is not set yet.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Sets those that are not set yet, if GPU times are measured now.
    #[cold]
    pub(super) fn set(&mut self, gpu: &mut GpuThread) {
        if !collector().times_gpu() {
            return;
        }
        let set = self.list.len().saturating_sub(self.waiting);
        for deferred in self.list.iter_mut().skip(set) {
            deferred.frame = push(gpu, &deferred.stream);
        }
        self.waiting = 0;
    }

    /// Removes one and returns its frame.
    pub(super) fn take(&mut self, number: u64) -> Option<FrameToken> {
        let position = self.list.iter().rposition(|one| one.number == number)?;
        let set = self.list.len().saturating_sub(self.waiting);
        self.waiting -= usize::from(position >= set);
        self.list.remove(position).frame
    }
}

/// Sets a default stream. `None`: it cannot be used.
pub(super) fn push(gpu: &mut GpuThread, stream: &StreamRef<'_>) -> Option<FrameToken> {
    let open = collector().gpu.default_stream(gpu, stream)?;
    Some(gpu.push(Some(open), None))
}
