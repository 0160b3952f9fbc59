//! Where a thread is in the call tree.

use crate::stats::path_ids::ROOT;

/// The innermost open span: its path in the upper half, then whether sampling left it out, and its
/// depth. One word, because it is stored and loaded again within nanoseconds: two halves stored
/// separately and loaded together would defeat the processor's store forwarding, which costs half a
/// clock read.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreePosition(u64);

impl TreePosition {
    /// Outside every span.
    pub(super) const OUTSIDE: Self = Self((ROOT as u64) << 32);
    /// Sampling left out the span or one around it.
    const LEFT_OUT: u64 = 1 << 31;

    /// One level deeper, at `path`, left out if this one is.
    #[inline]
    pub(super) fn deeper(self, path: u32) -> Self {
        Self(u64::from(path) << 32 | u64::from((self.0 as u32).wrapping_add(1)))
    }

    #[inline]
    pub(super) fn is_left_out(self) -> bool {
        self.0 & Self::LEFT_OUT != 0
    }

    #[inline]
    pub(super) fn with_left_out(self, is_left_out: bool) -> Self {
        Self(self.0 & !Self::LEFT_OUT | u64::from(is_left_out) << 31)
    }

    #[inline]
    pub(super) fn path(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The number of open spans.
    #[inline]
    pub(super) fn depth(self) -> u32 {
        self.0 as u32 & (u32::MAX >> 1)
    }

    /// Whether this is one level deeper than `outer`.
    #[inline]
    pub(super) fn is_right_inside(self, outer: Self) -> bool {
        let differing = self.0 as u32 ^ (outer.0 as u32).wrapping_add(1);
        differing & (u32::MAX >> 1) == 0
    }
}

/// Where a thread was in the call tree when it entered a span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParentPosition {
    pub(super) position: TreePosition,
    pub(super) nested_ticks: u64,
}
