//! A limit of a rule: at least, or at most, this much.

/// A limit of a rule.
#[derive(Debug)]
pub struct Threshold {
    /// What is compared with it.
    pub what: &'static str,
    /// The limit.
    pub value: f64,
    /// Unit of the limit.
    pub unit: Unit,
    /// Why it is this much.
    pub why: &'static str,
}

/// Unit of a [`Threshold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// A share, 1 being the whole.
    Share,
    /// A number.
    Count,
    /// A ratio.
    Times,
    /// Nanoseconds.
    Ns,
    /// Bytes.
    Bytes,
}

impl Threshold {
    /// Whether `n` is at least the limit.
    pub(super) fn reached(&self, n: impl Into<f64>) -> bool {
        n.into() >= self.value
    }

    /// Whether `part` is at least this share of `whole`; false if `whole` is 0.
    pub(super) fn reached_by(&self, part: u64, whole: u64) -> bool {
        whole > 0 && part as f64 >= self.value * whole as f64
    }
}
