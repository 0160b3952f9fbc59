//! Outputs: each is a function of a [`Profile`](crate::profile::Profile).
//!
//! The room is laid out by step: `figures` works out what a row shows and `doubt` how far it can be trusted, `walk` goes
//! through the call tree, `format` turns numbers into digits, `grid` aligns them and fits them to the terminal, `header`
//! writes what stands above, `trust` and `marks` what stands below, `activities`, `kernels` and `findings` what CUPTI saw,
//! `commands` what to run next, and [`table`], [`tree`] and [`json`] put these together.
//! Nothing in here may import what measures (`gpu`, `span`, `collector`) or cudarc.

mod activities;
mod commands;
mod doubt;
mod figures;
mod findings;
mod format;
mod grid;
mod header;
pub mod json;
mod kernels;
mod marks;
pub mod table;
mod text;
pub mod tree;
mod trust;
mod walk;

use std::fmt;
use std::io::IsTerminal;
use std::str::FromStr;

#[cfg(feature = "cupti")]
pub(crate) use figures::gpu_self_of_all;
#[cfg(feature = "cupti")]
pub(crate) use format::{count, duration, percent, prefixed_rate};

use crate::profile::Profile;

/// The table with every column and row, as in a pipe; nothing for a profile without a call.
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        table::write(self, &TableOptions::default(), &mut text).map_err(|_| fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(&text))
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

/// How [`table`] and [`tree`] are drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// Columns of the terminal. `None` is a pipe: every column, whole names, no wrapping.
    pub width: Option<usize>,
    /// Whether to write ANSI colour codes.
    pub color: bool,
    /// The order of the rows.
    pub sort: Sort,
    /// The most rows to show; what is cut is summed in one row. 0 shows all.
    pub limit: usize,
}

/// Options that fit this process's standard error: its width and colour where it is a terminal, a pipe's otherwise.
///
/// Colour is left out where `NO_COLOR` is set to anything but the empty string (<https://no-color.org>) and
/// where `TERM` is `dumb`.
#[must_use]
pub fn stderr_options(sort: Sort, limit: usize) -> TableOptions {
    let stderr = std::io::stderr();
    let terminal = stderr.is_terminal();
    let width = terminal.then(|| {
        terminal_size::terminal_size_of(&stderr)
            .map_or(FALLBACK_WIDTH, |(width, _)| usize::from(width.0))
    });
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    TableOptions {
        width,
        color: terminal && !refused && !dumb,
        sort,
        limit,
    }
}

/// The width of a terminal that does not tell its own.
const FALLBACK_WIDTH: usize = 80;

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
