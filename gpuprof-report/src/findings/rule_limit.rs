//! A limit of a rule: at least, or at most, this much.

/// A limit of a rule: a share, a number, a ratio, ns or bytes.
#[derive(Clone, Copy)]
pub(super) struct Threshold(pub(super) f64);

impl Threshold {
    /// Whether `n` is at least the limit.
    pub(super) fn reached(self, n: impl Into<f64>) -> bool {
        n.into() >= self.0
    }

    /// Whether `part` is at least this share of `whole`; false if `whole` is 0.
    pub(super) fn reached_by(self, part: u64, whole: u64) -> bool {
        whole > 0 && part as f64 >= self.0 * whole as f64
    }
}
