//! A limit of a rule: at least, or at most, this much.

/// A limit of a rule.
#[derive(Debug)]
pub struct Threshold {
    /// The limit.
    pub value: f64,
    /// What the page of findings says about it.
    #[cfg(test)]
    pub page: ThresholdPage,
}

/// What the page of findings says about a threshold.
#[cfg(test)]
#[derive(Debug)]
pub struct ThresholdPage {
    /// Unit of the limit.
    pub unit: Unit,
    /// What is compared with it.
    pub what: &'static str,
    /// Why it is this much.
    pub why: &'static str,
    /// Where the number comes from.
    pub source: &'static str,
}

/// Unit of a [`Threshold`].
#[cfg(test)]
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

/// Defines each threshold of the table: unit, limit, what is compared, why, source.
macro_rules! thresholds {
    ($(
        $name:ident = $unit:ident $value:literal,
        $what:literal,
        $why:literal,
        $source:literal;
    )*) => {
        $(
            pub(super) static $name: $crate::findings::Threshold = $crate::findings::Threshold {
                value: $value,
                #[cfg(test)]
                page: $crate::findings::ThresholdPage {
                    unit: $crate::findings::Unit::$unit,
                    what: $what,
                    why: $why,
                    source: $source,
                },
            };
        )*
    };
}
pub(super) use thresholds;
