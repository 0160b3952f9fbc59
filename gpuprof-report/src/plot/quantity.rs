//! What a panel shows of a call.

use super::number;
use super::sweep::Work;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    Time,
    Bytes,
    Flops,
}

impl Quantity {
    pub(super) const ALL: [Self; 3] = [Self::Time, Self::Bytes, Self::Flops];

    /// Of a call that takes `ns`: ns, GB/s or TFLOP/s. `None` if it is not stated or not a positive
    /// number.
    pub(super) fn of(self, work: &Work, ns: f64) -> Option<f64> {
        let value = match self {
            Self::Time => ns,
            Self::Bytes => work.bytes? / ns,
            Self::Flops => work.flops? / ns / 1e3,
        };
        number::is_positive(value).then_some(value)
    }

    /// The name that the markup has.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Bytes => "bytes",
            Self::Flops => "flops",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Time => "Time per call",
            Self::Bytes => "Memory throughput (GB/s)",
            Self::Flops => "Arithmetic throughput (TFLOP/s)",
        }
    }

    /// The label of a tick, whose unit is in the title unless it varies.
    pub(super) fn tick(self, value: f64) -> String {
        match self {
            Self::Time => number::time(value),
            Self::Bytes | Self::Flops => number::short(value),
        }
    }

    /// With its unit.
    pub(super) fn format(self, value: f64) -> String {
        match self {
            Self::Time => number::time(value),
            Self::Bytes => format!("{} GB/s", number::short(value)),
            Self::Flops => format!("{} TFLOP/s", number::short(value)),
        }
    }
}
