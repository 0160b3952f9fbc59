//! Room for some events, lent to one writer at a time. Others may read it meanwhile.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use parking_lot::Mutex;

use super::event::{Event, WORDS};
use crate::sync::AtomicU64;

/// The arguments of a call: names and values.
pub type Arguments = Box<[(&'static str, String)]>;

#[derive(Debug)]
pub(super) struct Chunk {
    /// The recording that it is of.
    pub(super) recording: u32,
    /// Events in it. Only the writer stores it, after the event's words.
    len: AtomicU64,
    words: Box<[AtomicU64]>,
    /// Of the events that have some, by position.
    arguments: Mutex<Vec<(usize, Arguments)>>,
}

impl Chunk {
    pub(super) fn new(recording: u32, events: usize) -> Self {
        Self {
            recording,
            len: AtomicU64::new(0),
            words: (0..events * WORDS).map(|_| AtomicU64::new(0)).collect(),
            arguments: Mutex::default(),
        }
    }

    /// Makes it an empty one of `recording`.
    pub(super) fn clear(&mut self, recording: u32) {
        self.recording = recording;
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
            self.arguments.lock().push((latest, arguments));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len.load(Acquire) as usize
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() * WORDS >= self.words.len()
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
