//! Histograms that one thread writes and others read. The published crates of this kind take a
//! lock, or cannot be read while another thread writes.

use std::array;
use std::ptr;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use gpuprof_report::histogram::{BUCKETS_PER_OCTAVE, Histogram, OCTAVES, octave_and_step};

use super::memory_limit::COUNTER_MEMORY;
use crate::sync::AtomicU64;

type Octave = [AtomicU64; BUCKETS_PER_OCTAVE];

/// An octave that one thread sets once, in one word: `OnceLock` takes two, and a path has many.
#[derive(Debug)]
struct OctaveCell(AtomicPtr<Octave>);

impl OctaveCell {
    fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    #[inline]
    fn get(&self) -> Option<&'static Octave> {
        // SAFETY: the pointer is null or comes from the `'static` reference in `set`.
        unsafe { self.0.load(Acquire).as_ref() }
    }

    fn set(&self, octave: &'static Octave) {
        self.0.store(ptr::from_ref(octave).cast_mut(), Release);
    }
}

#[derive(Debug)]
pub(crate) struct AtomicHistogram {
    octaves: [OctaveCell; OCTAVES],
    /// The octaves that are set, a bit each, so that a reader looks at no others.
    filled: AtomicU64,
    /// Durations omitted because of the [memory limit](super::memory_limit).
    dropped: AtomicU64,
}

impl AtomicHistogram {
    /// An empty histogram, for which the caller has reserved the memory.
    pub(super) fn new() -> Self {
        Self {
            octaves: array::from_fn(|_| OctaveCell::new()),
            filled: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    /// The count of a duration's bucket, for the owning thread to increase. `None`: it has to be
    /// [recorded](Self::record), because its octave is new.
    #[inline]
    pub(super) fn existing_bucket(&self, ns: u64) -> Option<&'static AtomicU64> {
        let (octave, step) = octave_and_step(ns);
        self.octaves.get(octave)?.get()?.get(step)
    }

    /// Counts one duration. Only the owning thread may call this.
    #[inline]
    pub(crate) fn record(&self, ns: u64) {
        let (octave, sub) = octave_and_step(ns);
        let Some(cell) = self.octaves.get(octave) else {
            return;
        };
        let Some(counts) = cell.get().or_else(|| self.grow(octave)) else {
            bump(&self.dropped);
            return;
        };
        if let Some(count) = counts.get(sub) {
            bump(count);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&self, octave: usize) -> Option<&'static Octave> {
        let cell = self.octaves.get(octave)?;
        if !COUNTER_MEMORY.reserve(size_of::<Octave>()) {
            return None;
        }
        let counts: &'static Octave = Box::leak(Box::new(array::from_fn(|_| AtomicU64::new(0))));
        cell.set(counts);
        let filled = self.filled.load(Relaxed) | 1 << octave;
        self.filled.store(filled, Release);
        Some(counts)
    }

    /// Adds the current counts to `into`.
    pub(crate) fn add_to(&self, into: &mut Histogram) {
        let mut filled = self.filled.load(Acquire);
        while filled != 0 {
            let octave = filled.trailing_zeros() as usize;
            filled &= filled - 1;
            if let Some(counts) = self.octaves.get(octave).and_then(OctaveCell::get) {
                let mut read = [0; BUCKETS_PER_OCTAVE];
                for (into, count) in read.iter_mut().zip(counts) {
                    *into = count.load(Relaxed);
                }
                into.add_octave(octave, &read);
            }
        }
        into.dropped += self.dropped.load(Relaxed);
    }
}

// One writer: a plain load and store, not a locked instruction.
#[inline]
pub(super) fn bump(count: &AtomicU64) {
    count.store(count.load(Relaxed) + 1, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::{AtomicHistogram, Histogram};

    #[test]
    fn atomic_and_plain_count_the_same() {
        let shared = AtomicHistogram::new();
        let mut plain = Histogram::default();
        for ns in [0, 15, 16, 17, 1_000, 1_000_000, u64::MAX] {
            shared.record(ns);
            plain.record(ns);
        }
        let mut read = Histogram::default();
        shared.add_to(&mut read);
        assert_eq!(read, plain);
        read.subtract(&plain);
        assert_eq!(read.buckets().count(), 0);
    }
}
