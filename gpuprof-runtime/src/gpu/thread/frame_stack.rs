//! A thread's stack of open frames: what a span needs to know of the spans around it.

use std::num::NonZeroU64;

use crate::site::Site;
use crate::stats::profiled_call::{self, ProfiledCall, ReservedIds};

/// Identifies a frame on the thread that pushed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameToken(NonZeroU64);

/// An open span, one poll of a future, or a `with_stream`.
#[derive(Debug)]
pub(crate) struct SpanFrame<G> {
    /// `None`: it has no stream.
    pub(crate) gpu: Option<G>,
    /// The call that CUPTI's records are attributed to. `None`: CUPTI is off.
    pub(crate) call: Option<ProfiledCall>,
}

/// The frames of one thread, the innermost last.
#[derive(Debug)]
pub(crate) struct FrameStack<G> {
    frames: Vec<(FrameToken, SpanFrame<G>)>,
    next: NonZeroU64,
    /// Frames that have a GPU part.
    on_gpu: usize,
}

impl<G> FrameStack<G> {
    pub(super) fn new() -> Self {
        Self {
            frames: Vec::new(),
            next: NonZeroU64::MIN,
            on_gpu: 0,
        }
    }

    /// Whether any frame has a GPU part.
    #[inline]
    pub(super) fn is_on_gpu(&self) -> bool {
        self.on_gpu > 0
    }

    /// The GPU parts of all frames with their positions, the outermost first.
    #[inline]
    pub(super) fn gpu(&self) -> impl DoubleEndedIterator<Item = (usize, &G)> + Clone {
        let frames = self.frames.iter().enumerate();
        frames.filter_map(|(position, (_, frame))| Some((position, frame.gpu.as_ref()?)))
    }

    /// The token of the frame at a position of [`gpu`](Self::gpu).
    pub(super) fn token(&self, position: usize) -> Option<FrameToken> {
        self.frames.get(position).map(|(token, _)| *token)
    }

    /// Whether the frame has not been removed.
    pub(super) fn is_open(&self, token: FrameToken) -> bool {
        let mut tokens = self.frames.iter().rev().map(|(known, _)| *known);
        tokens.any(|known| known == token)
    }

    /// The open calls that CUPTI's records are attributed to, the innermost first.
    fn calls(&self) -> impl Iterator<Item = ProfiledCall> + '_ {
        self.frames.iter().rev().filter_map(|(_, frame)| frame.call)
    }

    /// A call of `site` on `path` that begins inside the open ones. `None`: its records are not
    /// attributed.
    pub(super) fn begin_call(
        &self,
        site: &Site,
        path: u32,
        ids: &mut ReservedIds,
    ) -> Option<ProfiledCall> {
        ProfiledCall::begin(site, path, ids, self.calls())
    }

    #[inline]
    pub(super) fn push(&mut self, frame: SpanFrame<G>) -> FrameToken {
        let token = FrameToken(self.next);
        self.next = self.next.saturating_add(1);
        self.on_gpu += usize::from(frame.gpu.is_some());
        if let Some(call) = frame.call {
            profiled_call::set_innermost(Some(call));
        }
        self.frames.push((token, frame));
        token
    }

    /// Removes a frame, wherever it is: spans may end out of order.
    #[inline]
    pub(super) fn take(&mut self, token: FrameToken) -> Option<SpanFrame<G>> {
        // Almost always the innermost.
        let frame = match self.frames.pop_if(|(known, _)| *known == token) {
            Some((_, frame)) => frame,
            None => self.take_from_below(token)?,
        };
        self.on_gpu = self.on_gpu.saturating_sub(usize::from(frame.gpu.is_some()));
        if frame.call.is_some() {
            profiled_call::set_innermost(self.calls().next());
        }
        Some(frame)
    }

    #[cold]
    fn take_from_below(&mut self, token: FrameToken) -> Option<SpanFrame<G>> {
        let position = self.frames.iter().position(|(known, _)| *known == token)?;
        let (_, frame) = self.frames.remove(position);
        if frame.call.is_some() {
            // A call inside that is still open is closed with it: the parent of its records is
            // gone.
            for (_, inner) in self.frames.iter_mut().skip(position) {
                inner.call = None;
            }
            self.frames
                .retain(|(_, frame)| frame.gpu.is_some() || frame.call.is_some());
        }
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::{FrameStack, SpanFrame};
    use crate::stats::profiled_call::{ProfiledCall, innermost};

    fn frame(gpu: Option<u32>) -> SpanFrame<u32> {
        SpanFrame { gpu, call: None }
    }

    #[test]
    fn frames_are_taken_in_any_order_and_once() {
        let mut stack = FrameStack::new();
        let tokens = [1, 2, 3].map(|gpu| stack.push(frame(Some(gpu))));
        let taken = [1, 0, 1, 2].map(|index| stack.take(tokens[index]).and_then(|frame| frame.gpu));
        assert_eq!(taken, [Some(2), Some(1), None, Some(3)]);
        assert!(!stack.is_on_gpu());
    }

    #[test]
    fn a_frame_without_a_stream_gives_none_to_inherit() {
        let mut stack = FrameStack::new();
        let outer = stack.push(frame(None));
        assert!(!stack.is_on_gpu());
        let inner = stack.push(frame(Some(7)));
        assert_eq!(stack.gpu().collect::<Vec<_>>(), [(1, &7)]);
        assert!(stack.take(outer).is_some() && stack.is_on_gpu());
        assert!(stack.take(inner).is_some() && !stack.is_on_gpu());
    }

    #[test]
    fn a_call_that_ends_before_the_calls_in_it_closes_them() {
        let call = |id| SpanFrame {
            gpu: None,
            call: Some(ProfiledCall::with_id(id)),
        };
        let mut stack: FrameStack<u32> = FrameStack::new();
        let [outer, middle, inner] = [1, 2, 3].map(|id| stack.push(call(id)));
        assert_eq!(innermost().id, 3);
        assert!(stack.take(middle).is_some());
        assert_eq!(innermost().id, 1);
        // Its call was closed with the one around it.
        assert!(stack.take(inner).is_none());
        assert!(stack.take(outer).is_some());
        assert_eq!(innermost().id, 0);
    }
}
