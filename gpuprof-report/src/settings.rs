//! Settings as plain types, the same in a build that measures and in one that does not.

use std::fmt;
use std::str::FromStr;

/// What spans do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Measure, and emit NVTX ranges.
    #[default]
    On,
    /// Emit NVTX ranges only.
    Nvtx,
    /// Nothing.
    Off,
}

/// One thing to write at exit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// The table, on standard error.
    Table,
    /// The call tree, on standard error.
    Tree,
    /// The JSON document, into a file, which is replaced as a whole. `{pid}`, `{rank}` and `{exe}` in the path are filled
    /// in.
    Json(String),
}

/// Which calls are timed on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// One in so many, at random.
    OneIn(u32),
    /// The same, each function by how long its calls take, so that events take the GPU next to nothing.
    Auto,
}

impl Sampling {
    /// As a profile has it: 0 for [`Sampling::Auto`].
    #[must_use]
    pub fn one_in(self) -> u32 {
        match self {
            Self::OneIn(n) => n.max(1),
            Self::Auto => 0,
        }
    }

    /// From `auto` or a whole number of at least 1; `None` for anything else.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        match value {
            "auto" => Some(Self::Auto),
            _ => value.parse().ok().filter(|&n| n > 0).map(Self::OneIn),
        }
    }
}

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// GPU self time, the largest first; ties by the GPU time inside, then CPU self time, then name.
    #[default]
    Gpu,
    /// CPU self time, the largest first.
    Cpu,
    /// Calls, the most first.
    Calls,
    /// The longest single call on the GPU first (on the CPU where none was timed).
    Max,
    /// Name, alphabetically.
    Name,
}

impl Sort {
    /// Every accepted name, the default first.
    pub const NAMES: [&'static str; 5] = ["gpu", "cpu", "calls", "max", "name"];
}

/// The name of an order that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownSort;

impl fmt::Display for UnknownSort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "accepted are {}", Sort::NAMES.join(", "))
    }
}

impl std::error::Error for UnknownSort {}

impl FromStr for Sort {
    type Err = UnknownSort;

    /// Reads one of [`Sort::NAMES`].
    ///
    /// # Errors
    /// [`UnknownSort`], whose text lists what is accepted.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "gpu" => Ok(Self::Gpu),
            "cpu" => Ok(Self::Cpu),
            "calls" => Ok(Self::Calls),
            "max" => Ok(Self::Max),
            "name" => Ok(Self::Name),
            _ => Err(UnknownSort),
        }
    }
}

/// Why a session did not begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionError {
    /// Another one is open: finish it first.
    Open,
    /// The filter is no regular expression; the reason.
    Filter(String),
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("another gpuprof session is open; finish it first"),
            Self::Filter(reason) => write!(f, "the filter is no regular expression: {reason}"),
        }
    }
}

impl std::error::Error for SessionError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_order_is_accepted_and_the_first_is_the_default() {
        for name in Sort::NAMES {
            assert!(name.parse::<Sort>().is_ok(), "{name}");
        }
        assert_eq!(Sort::NAMES[0].parse(), Ok(Sort::default()));
    }

    #[test]
    fn an_unknown_order_lists_the_accepted_ones() {
        let error = "gpus".parse::<Sort>().unwrap_err();
        assert_eq!(error.to_string(), "accepted are gpu, cpu, calls, max, name");
    }
}
