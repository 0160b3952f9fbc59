//! Room for some events, lent to one writer at a time. Others may read it meanwhile.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use parking_lot::Mutex;

use super::event::{CALL_WORDS, CallEvent, ChunkEntry, EventWords, MAX_WORDS};
use crate::sync::AtomicU64;

/// The arguments of a call: names and values.
pub type CallArguments = Box<[(&'static str, String)]>;

#[derive(Debug)]
pub(super) struct Chunk {
    /// When it was lent for the first time, in clock ticks.
    pub(super) lent_at: u64,
    /// Words and events in it, as a [`Fill`]. Only the writer stores it, after the words.
    fill: AtomicU64,
    words: Box<[AtomicU64]>,
    /// Of the events that have some, by position.
    arguments: Mutex<Vec<(usize, CallArguments)>>,
    /// What these take, in bytes. Only the writer stores it.
    argument_bytes: AtomicU64,
}

/// Words in the high half, events in the low one.
#[derive(Clone, Copy, Debug)]
struct Fill(u64);

impl Fill {
    const WORD: u64 = 1 << 32;

    fn words(self) -> usize {
        (self.0 >> 32) as usize
    }

    fn events(self) -> usize {
        self.0 as u32 as usize
    }
}

/// Bytes of arguments with which a chunk is full.
const MAX_ARGUMENT_BYTES: u64 = 64 << 10;
/// Bytes by which arguments count as further events.
const EVENT_BYTES: u64 = (MAX_WORDS * size_of::<u64>()) as u64;

impl Chunk {
    /// With room for so many calls of a thread, and for one event at least.
    pub(super) fn new(lent_at: u64, calls: usize) -> Self {
        let words = 1 + (calls * CALL_WORDS).max(MAX_WORDS);
        Self {
            lent_at,
            fill: AtomicU64::new(0),
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
            arguments: Mutex::default(),
            argument_bytes: AtomicU64::new(0),
        }
    }

    /// Makes it an empty one.
    pub(super) fn clear(&mut self, lent_at: u64) {
        self.lent_at = lent_at;
        self.argument_bytes.store(0, Relaxed);
        self.fill.store(0, Relaxed);
        self.arguments.get_mut().clear();
    }

    /// Adds an event; by the writer alone. False if it has no room.
    #[inline(always)]
    pub(super) fn push(&self, event: &CallEvent) -> bool {
        match event.words() {
            EventWords::Two(words) => self.write(words, 1),
            EventWords::Four(words) => self.write(words, 1),
            EventWords::Five(words) => self.write(words, 1),
        }
    }

    /// The calls that follow are of the thread of this number. False if it has no room.
    pub(super) fn begin_thread(&self, thread: u32) -> bool {
        self.write([ChunkEntry::thread_word(thread)], 0)
    }

    #[inline(always)]
    fn write<const WORDS: usize>(&self, words: [u64; WORDS], events: u64) -> bool {
        let fill = self.fill.load(Relaxed);
        let left = self.words.get(Fill(fill).words()..);
        let Some(room) = left.and_then(|left| left.first_chunk::<WORDS>()) else {
            return false;
        };
        for (word, value) in room.iter().zip(words) {
            word.store(value, Relaxed);
        }
        // Release: a reader that sees the count sees the words.
        let more = WORDS as u64 * Fill::WORD + events;
        self.fill.store(fill + more, Release);
        true
    }

    /// Gives the latest event its arguments; by the writer alone. False if it is full by them.
    pub(super) fn set_arguments(&self, arguments: CallArguments) -> bool {
        let bytes = arguments
            .iter()
            .map(|(_, value)| size_of::<(&str, String)>() as u64 + value.capacity() as u64);
        let bytes = self.argument_bytes.load(Relaxed) + bytes.sum::<u64>();
        if let Some(latest) = self.len().checked_sub(1) {
            self.argument_bytes.store(bytes, Relaxed);
            self.arguments.lock().push((latest, arguments));
        }
        bytes <= MAX_ARGUMENT_BYTES
    }

    fn fill_level(&self) -> Fill {
        Fill(self.fill.load(Acquire))
    }

    /// Events in it.
    pub(super) fn len(&self) -> usize {
        self.fill_level().events()
    }

    /// Whether some event would not fit.
    pub(super) fn is_full(&self) -> bool {
        self.fill_level().words() + 1 + MAX_WORDS > self.words.len()
            || self.argument_bytes.load(Relaxed) > MAX_ARGUMENT_BYTES
    }

    /// How many events the limit takes it for: arguments count by what they take.
    pub(super) fn weight(&self) -> usize {
        self.len() + (self.argument_bytes.load(Relaxed) / EVENT_BYTES) as usize
    }

    /// The events so far, calls with the number of their thread, with their arguments.
    pub(super) fn read(
        &self,
        mut each: impl FnMut(Option<u32>, CallEvent, Option<&CallArguments>),
    ) {
        let len = self.fill_level().words();
        let arguments = self.arguments.lock();
        let mut arguments = arguments.iter().peekable();
        let mut words = self.words.iter().take(len).map(|word| word.load(Relaxed));
        let (mut thread, mut at) = (None, 0);
        while let Some(entry) = ChunkEntry::read(&mut words) {
            match entry {
                ChunkEntry::Thread(number) => thread = Some(number),
                ChunkEntry::Event(event) => {
                    let own = arguments.next_if(|(of, _)| *of == at);
                    let thread = thread.filter(|_| matches!(event, CallEvent::Cpu { .. }));
                    each(thread, event, own.map(|(_, own)| own));
                    at += 1;
                }
            }
        }
    }
}
