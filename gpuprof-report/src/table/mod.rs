//! The table and the call tree.
//!
//! By step: `row` computes the values of a row and `qualifiers` how far they can be trusted,
//! `function_name` tells functions of one name apart, `tree_rows` walks the call tree, `number`
//! formats numbers, `grid` aligns cells and fits them to the terminal, `header` writes the lines
//! above, `diagnostics` and `legend` those below, `activities`, `kernels` and `findings` the CUPTI
//! sections, `commands` what to run next.
//! `functions` and `tree` put these together.

mod activities;
mod budget;
mod commands;
mod diagnostics;
mod findings;
mod function_name;
pub mod functions;
mod grid;
mod header;
mod kernels;
mod label_rows;
mod legend;
mod number;
mod qualifiers;
mod row;
pub mod tree;
mod tree_rows;
mod words;

use std::fmt;
use std::num::NonZeroUsize;

#[cfg(feature = "findings")]
pub(crate) use findings::MAX_FINDINGS;
#[cfg(feature = "findings")]
pub(crate) use number::{count, duration, percent, prefixed_rate};
#[cfg(feature = "findings")]
pub(crate) use row::gpu_self_of_all;

use crate::profile::Profile;
pub use crate::settings::Sort;

/// The table with every column and row, as in a pipe; nothing for a profile without a call.
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        functions::write(self, &TableOptions::default(), &mut text).map_err(|_| fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

/// How [`functions`] and [`tree`] are drawn.
///
/// ```
/// use std::num::NonZeroUsize;
/// use gpuprof_report::table::TableOptions;
///
/// let mut options = TableOptions::default();
/// options.width = Some(120);
/// options.limit = NonZeroUsize::new(10);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableOptions {
    /// Columns of the terminal. `None` is a pipe: every column, whole names, no wrapping.
    pub width: Option<usize>,
    /// Whether to write ANSI colour codes.
    pub color: bool,
    /// The order of the rows.
    pub sort: Sort,
    /// The most rows to show; the others are summed in one row. `None` shows all.
    pub limit: Option<NonZeroUsize>,
    /// Whether to show everything: every row, column and line.
    pub full: bool,
}

impl TableOptions {
    fn row_limit(&self) -> usize {
        self.limit.map_or(usize::MAX, NonZeroUsize::get)
    }
}
