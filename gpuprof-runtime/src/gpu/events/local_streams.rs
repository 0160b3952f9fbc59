//! The streams that one thread has used, with event pairs for its next spans.
//!
//! A span finds its stream here without a lock.

use std::sync::Arc;

use crate::gpu::events::pool::Pair;
use crate::gpu::events::span::{SpanEnd, SpanKey, SpanStart, Step};
use crate::gpu::events::thread_stream::{Message, ThreadStream};

/// Streams that a thread keeps; past these, those without an open span go.
const KEPT: usize = 64;

/// Messages that a ring has room for at first, and at most. It is looked at every few milliseconds.
const FIRST_RING: usize = 128;
const LARGEST_RING: usize = 16_384;
/// The most that it grows to because the resolver is late, and not because many spans are open.
const LARGEST_UNREAD: usize = 8_192;

/// What a thread has of one stream.
#[derive(Debug)]
pub(in crate::gpu) struct LocalStream {
    pub(in crate::gpu) shared: Arc<ThreadStream>,
    ring: rtrb::Producer<Message>,
    /// Spans so far, and those of them that have ended here.
    started: u32,
    ended: u32,
    /// Event pairs for the next spans.
    pub(in crate::gpu) stock: Vec<Pair>,
}

impl Drop for LocalStream {
    fn drop(&mut self) {
        let stock = self.stock.drain(..);
        stock.for_each(|pair| self.shared.context.give(pair));
    }
}

impl LocalStream {
    /// A stream, with the resolver's end of its ring.
    pub(in crate::gpu) fn new(shared: ThreadStream) -> (Self, rtrb::Consumer<Message>) {
        let (ring, consumer) = rtrb::RingBuffer::new(FIRST_RING);
        let local = Self {
            shared: Arc::new(shared),
            ring,
            started: 0,
            ended: 0,
            stock: Vec::new(),
        };
        (local, consumer)
    }

    /// Whether another span may start: there is room for its two messages, and for those that
    /// are to come of open spans.
    #[inline]
    pub(in crate::gpu) fn has_room(&mut self) -> bool {
        let elsewhere = self.shared.progress_elsewhere.submitted() as u32;
        let open = self.started.wrapping_sub(self.ended);
        let needed = open.wrapping_sub(elsewhere) as usize + 2;
        // One more place is for the news of a larger ring.
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
        self.send(Message::LargerRing(consumer));
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
        self.send(Message::Step(Step::Start(start)));
    }

    /// Tells the resolver that a span has ended.
    #[inline]
    pub(in crate::gpu) fn send_end(&mut self, end: SpanEnd) {
        self.ended = self.ended.wrapping_add(1);
        self.shared.progress.submit();
        self.shared.hand_over();
        self.send(Message::Step(Step::End(end)));
    }

    /// Tells the resolver that a span will have no end event.
    pub(in crate::gpu) fn send_cancel(&mut self, key: SpanKey) {
        self.ended = self.ended.wrapping_add(1);
        self.send(Message::Step(Step::Cancel(key)));
    }

    #[inline]
    fn send(&mut self, message: Message) {
        // There is room.
        let _ = self.ring.push(message);
    }
}

/// The streams that one thread has used.
#[derive(Debug, Default)]
pub(in crate::gpu) struct LocalStreams(Vec<LocalStream>);

impl LocalStreams {
    /// The first one of which this is so.
    #[inline]
    pub(in crate::gpu) fn find(
        &self,
        is_wanted: impl Fn(&ThreadStream) -> bool,
    ) -> Option<&Arc<ThreadStream>> {
        let mut all = self.0.iter().map(|local| &local.shared);
        all.find(|shared| is_wanted(shared))
    }

    /// What the thread has of this stream. `None`: it is another thread's, or is no longer kept.
    #[inline]
    pub(in crate::gpu) fn get_mut(&mut self, shared: &ThreadStream) -> Option<&mut LocalStream> {
        let mut all = self.0.iter_mut();
        all.find(|local| std::ptr::eq(&raw const *local.shared, shared))
    }

    /// Keeps a stream that is used for the first time.
    pub(in crate::gpu) fn insert(&mut self, local: LocalStream) {
        self.0.retain(|known| !known.shared.is_over());
        if self.0.len() >= KEPT {
            // An open span has a reference of its own beside this one and the resolver's.
            self.0.retain(|known| Arc::strong_count(&known.shared) > 2);
        }
        self.0.push(local);
    }
}
