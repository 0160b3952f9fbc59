//! Measuring windows by number, and the mark of a record: which thread wrote it, in which window.

use std::sync::atomic::{AtomicU32, Ordering};

/// The number of the current window; 1 before the first. Every session and every reset has the next
/// even number if it measures, and what comes between sessions the next odd one.
static CURRENT: AtomicU32 = AtomicU32::new(1);

/// The current window.
#[inline]
pub(crate) fn current() -> u32 {
    CURRENT.load(Ordering::Acquire)
}

/// The number of the window after this one.
pub(crate) fn next(counts: bool) -> u32 {
    let next = current().wrapping_add(1);
    if self::counts(next) == counts {
        next
    } else {
        next.wrapping_add(1)
    }
}

/// Begins the window of this number, the [`next`].
pub(crate) fn begin(window: u32) {
    CURRENT.store(window, Ordering::Release);
}

/// Whether what was measured in a window counts: a call may begin while a session ends, when the
/// number has moved and its function has yet to be switched off.
#[inline]
pub(super) fn counts(window: u32) -> bool {
    window.is_multiple_of(2)
}

/// Whether one window began before another. Numbers start again after 2³².
#[inline]
pub(super) fn is_before(window: u32, other: u32) -> bool {
    window.wrapping_sub(other).cast_signed() < 0
}

/// The thread that records a call, and the window it records in. A counter whose last record has
/// another mark is written for the first time by this thread or in this window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriterEpoch(u64);

impl WriterEpoch {
    /// `owner` is [`WriterEpoch::owner`] of the thread's number, or 0 for a thread that has
    /// detached from its counters.
    #[inline]
    pub(crate) fn new(owner: u64, epoch: u32) -> Self {
        Self(owner | u64::from(epoch))
    }

    /// A thread's number, shifted for [`WriterEpoch::new`].
    pub(crate) fn owner(number: u32) -> u64 {
        u64::from(number) << 32
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    pub(super) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn epoch(self) -> u32 {
        self.0 as u32
    }

    pub(super) fn has_owner(self) -> bool {
        self.0 >> 32 != 0
    }
}
