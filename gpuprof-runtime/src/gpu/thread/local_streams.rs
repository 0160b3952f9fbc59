//! The streams that one thread has used, with event pairs for its next spans.
//!
//! A span finds its stream here without a lock.

use std::sync::Arc;

use crate::gpu::events::pair_stock::PairStock;
use crate::gpu::events::span::{SpanEnd, SpanKey, SpanStart, SpanStep};
use crate::gpu::events::thread_stream::{RingMessage, ThreadStream};
use crate::gpu::stream::hold::Hold;
use crate::gpu::thread::open_gpu_span::OpenGpuSpan;
use crate::gpu::thread::span_streams::SpanStream;

/// Streams that a thread keeps; past these, those without an open span go.
const KEPT: usize = 64;

/// Entries for calls that a thread keeps for each stream.
const SPARE_KEPT: usize = 16;

/// Messages that a ring has room for at first, and at most. It is looked at every few milliseconds.
const FIRST_RING: usize = 128;
const LARGEST_RING: usize = 16_384;
/// The most that it grows to because the resolver is late, and not because many spans are open.
const LARGEST_UNREAD: usize = 8_192;

/// What a thread has of one stream.
#[derive(Debug)]
pub(in crate::gpu) struct LocalStream {
    pub(in crate::gpu) shared: Arc<ThreadStream>,
    ring: rtrb::Producer<RingMessage>,
    /// Spans so far, and those of them that have ended here.
    started: u32,
    ended: u32,
    pub(in crate::gpu) stock: PairStock,
    /// Entries for calls to come: used again, so that a call neither allocates nor counts a
    /// reference to the stream. What is moved is the box.
    #[allow(clippy::vec_box)]
    spare: Vec<Box<OpenGpuSpan>>,
}

impl Drop for LocalStream {
    fn drop(&mut self) {
        let pairs = self.stock.drain().chain(self.shared.returned.close());
        pairs.for_each(|pair| self.shared.context.return_pair(pair));
    }
}

impl LocalStream {
    /// A stream, with the resolver's end of its ring.
    pub(in crate::gpu) fn new(shared: ThreadStream) -> (Self, rtrb::Consumer<RingMessage>) {
        let (ring, consumer) = rtrb::RingBuffer::new(FIRST_RING);
        let local = Self {
            shared: Arc::new(shared),
            ring,
            started: 0,
            ended: 0,
            stock: PairStock::default(),
            spare: Vec::new(),
        };
        (local, consumer)
    }

    /// An entry for a call on this stream alone.
    #[inline]
    pub(in crate::gpu) fn blank(&mut self, hold: Hold) -> Box<OpenGpuSpan> {
        if let Some(mut open) = self.spare.pop()
            && let [stream] = &mut *open.streams
        {
            stream.hold = hold;
            return open;
        }
        let mut open = OpenGpuSpan::boxed();
        open.streams
            .push(SpanStream::new(Arc::clone(&self.shared), hold));
        open
    }

    /// Takes an entry back that has this stream alone.
    #[inline]
    pub(in crate::gpu) fn keep(&mut self, mut open: Box<OpenGpuSpan>) {
        if self.spare.len() < SPARE_KEPT
            && let [stream] = &mut *open.streams
        {
            if stream.hold.is_owned() {
                stream.hold = Hold::Nothing;
            }
            stream.timed = None;
            self.spare.push(open);
        }
    }

    /// Whether another span may start: there is room for its two messages, and for those that
    /// are to come of open spans.
    #[inline]
    pub(in crate::gpu) fn has_room(&mut self) -> bool {
        let open = self.started.wrapping_sub(self.ended);
        // One slot is reserved for the `LargerRing` message. While the cached count of free slots
        // suffices, no memory is read that another thread writes.
        self.ring.cached_slots() > open as usize + 2 || self.make_room(open)
    }

    #[inline(never)]
    fn make_room(&mut self, open: u32) -> bool {
        let elsewhere = self.shared.progress_elsewhere.submitted() as u32;
        let needed = open.wrapping_sub(elsewhere) as usize + 2;
        self.ring.slots() > needed || self.enlarge_ring(needed)
    }

    #[cold]
    fn enlarge_ring(&mut self, needed: usize) -> bool {
        let size = self.ring.buffer().capacity();
        let for_open = (2 * needed).next_power_of_two().min(LARGEST_RING);
        let larger = (2 * size).min(LARGEST_UNREAD).max(for_open);
        if larger <= size || needed >= larger {
            return false;
        }
        let (ring, consumer) = rtrb::RingBuffer::new(larger);
        self.send(RingMessage::LargerRing(consumer));
        self.ring = ring;
        true
    }

    /// The name of the next span.
    #[inline]
    pub(in crate::gpu) fn next_key(&self) -> SpanKey {
        SpanKey {
            thread_stream: self.shared.id,
            number: self.started,
        }
    }

    /// Tells the resolver that a span has started, for which there is [`room`](Self::has_room).
    #[inline]
    pub(in crate::gpu) fn send_start(&mut self, start: SpanStart) {
        self.started = self.started.wrapping_add(1);
        self.send(RingMessage::Step(SpanStep::Start(start)));
    }

    /// Tells the resolver that a span has ended.
    #[inline]
    pub(in crate::gpu) fn send_end(&mut self, end: SpanEnd) {
        self.ended = self.ended.wrapping_add(1);
        self.shared.progress.submit();
        self.send(RingMessage::Step(SpanStep::End(end)));
    }

    /// Tells the resolver that a span will have no end event.
    pub(in crate::gpu) fn send_cancel(&mut self, key: SpanKey) {
        self.ended = self.ended.wrapping_add(1);
        self.send(RingMessage::Step(SpanStep::Cancel(key)));
    }

    #[inline]
    fn send(&mut self, message: RingMessage) {
        // There is room.
        let _ = self.ring.push(message);
    }
}

/// The streams that one thread has used.
#[derive(Debug, Default)]
pub(in crate::gpu) struct LocalStreams {
    all: Vec<LocalStream>,
    /// The position of the one that was found last, which is most likely the next one too.
    last: usize,
}

impl LocalStreams {
    #[inline]
    fn position(&mut self, is_wanted: impl Fn(&ThreadStream) -> bool) -> Option<usize> {
        let last = self.all.get(self.last);
        if last.is_none_or(|local| !is_wanted(&local.shared)) {
            let mut all = self.all.iter();
            self.last = all.position(|local| is_wanted(&local.shared))?;
        }
        Some(self.last)
    }

    /// The one that was found last.
    pub(in crate::gpu) fn last_used(&self) -> Option<&ThreadStream> {
        self.all.get(self.last).map(|local| &*local.shared)
    }

    /// A stream for which `is_wanted` holds.
    #[inline]
    pub(in crate::gpu) fn find_mut(
        &mut self,
        is_wanted: impl Fn(&ThreadStream) -> bool,
    ) -> Option<&mut LocalStream> {
        let position = self.position(is_wanted)?;
        self.all.get_mut(position)
    }

    /// The part of such a stream that is shared with the resolver.
    pub(in crate::gpu) fn find(
        &mut self,
        is_wanted: impl Fn(&ThreadStream) -> bool,
    ) -> Option<&Arc<ThreadStream>> {
        self.find_mut(is_wanted).map(|local| &local.shared)
    }

    /// What the thread has of this stream. `None`: it is another thread's, or is no longer kept.
    #[inline]
    pub(in crate::gpu) fn get_mut(&mut self, shared: &ThreadStream) -> Option<&mut LocalStream> {
        self.find_mut(|known| std::ptr::eq(known, shared))
    }

    /// Keeps a stream that is used for the first time.
    pub(in crate::gpu) fn insert(&mut self, local: LocalStream) {
        self.all.retain(|known| !known.shared.is_over());
        if self.all.len() >= KEPT {
            self.all.iter_mut().for_each(|known| known.spare.clear());
            // An open span has a reference of its own beside this one and the resolver's.
            self.all
                .retain(|known| Arc::strong_count(&known.shared) > 2);
        }
        self.all.push(local);
    }
}
