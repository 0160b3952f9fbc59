//! Room for some events, lent to one writer at a time. Others may read it meanwhile.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use parking_lot::Mutex;

use super::event::{Event, WORDS};
use crate::sync::AtomicU64;

/// The arguments of a call: names and values.
pub type Arguments = Box<[(&'static str, String)]>;

#[derive(Debug)]
pub(super) struct Chunk {
    /// When it was lent for the first time, in clock ticks.
    pub(super) lent_at: u64,
    /// Events in it. Only the writer stores it, after the event's words.
    len: AtomicU64,
    words: Box<[AtomicU64]>,
    /// Of the events that have some, by position.
    arguments: Mutex<Vec<(usize, Arguments)>>,
    /// What these take, in bytes. Only the writer stores it.
    argument_bytes: AtomicU64,
}

/// Bytes of arguments with which a chunk is full.
const MAX_ARGUMENT_BYTES: u64 = 64 << 10;
/// Bytes of an event, by which arguments count as further events.
const EVENT_BYTES: u64 = (WORDS * size_of::<u64>()) as u64;

impl Chunk {
    pub(super) fn new(lent_at: u64, events: usize) -> Self {
        Self {
            lent_at,
            len: AtomicU64::new(0),
            words: (0..events * WORDS).map(|_| AtomicU64::new(0)).collect(),
            arguments: Mutex::default(),
            argument_bytes: AtomicU64::new(0),
        }
    }

    /// Makes it an empty one.
    pub(super) fn clear(&mut self, lent_at: u64) {
        self.lent_at = lent_at;
        self.argument_bytes.store(0, Relaxed);
        self.len.store(0, Relaxed);
        self.arguments.get_mut().clear();
    }

    /// Adds an event; by the writer alone. False if the chunk is full.
    #[inline]
    pub(super) fn push(&self, event: &Event) -> bool {
        let len = self.len.load(Relaxed) as usize;
        let Some(room) = self.words.get(len * WORDS..(len + 1) * WORDS) else {
            return false;
        };
        if self.argument_bytes.load(Relaxed) > MAX_ARGUMENT_BYTES {
            return false;
        }
        for (word, value) in room.iter().zip(event.encode()) {
            word.store(value, Relaxed);
        }
        // Release: who finds the length finds the words.
        self.len.store(len as u64 + 1, Release);
        true
    }

    /// Gives the latest event its arguments; by the writer alone.
    pub(super) fn set_arguments(&self, arguments: Arguments) {
        let latest = (self.len.load(Relaxed) as usize).checked_sub(1);
        if let Some(latest) = latest {
            let bytes = arguments
                .iter()
                .map(|(_, value)| size_of::<(&str, String)>() as u64 + value.capacity() as u64);
            let bytes: u64 = bytes.sum();
            let before = self.argument_bytes.load(Relaxed);
            self.argument_bytes.store(before + bytes, Relaxed);
            self.arguments.lock().push((latest, arguments));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len.load(Acquire) as usize
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() * WORDS >= self.words.len()
            || self.argument_bytes.load(Relaxed) > MAX_ARGUMENT_BYTES
    }

    /// How many events the limit takes it for: arguments count by what they take.
    pub(super) fn weight(&self) -> usize {
        self.len() + (self.argument_bytes.load(Relaxed) / EVENT_BYTES) as usize
    }

    /// The events so far, with their arguments.
    pub(super) fn read(&self, mut each: impl FnMut(Event, Option<&Arguments>)) {
        let len = self.len();
        let arguments = self.arguments.lock();
        let mut arguments = arguments.iter().peekable();
        for (at, words) in self.words.chunks_exact(WORDS).take(len).enumerate() {
            let mut values = [0; WORDS];
            for (value, word) in values.iter_mut().zip(words) {
                *value = word.load(Relaxed);
            }
            let own = arguments.next_if(|(of, _)| *of == at);
            each(Event::decode(values), own.map(|(_, own)| own));
        }
    }
}
