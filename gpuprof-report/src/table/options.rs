//! How a report is drawn.

use std::num::NonZeroUsize;

use crate::setting_values::Sort;

/// Columns of a terminal that a pipe, a log or a file is taken for.
pub(super) const PIPE_WIDTH: usize = 120;

/// How [`write()`](super::write) draws a report.
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
    /// Columns of the terminal. `None` is a pipe: the columns of a terminal of 120, whole names, no
    /// wrapping.
    pub width: Option<usize>,
    /// Whether to write ANSI colour codes.
    pub color: bool,
    /// The order of the rows.
    pub sort: Sort,
    /// The most rows of the call tree to show; the others are summed in one row. Kernels and API
    /// calls have a third of it. `None` shows all.
    pub limit: Option<NonZeroUsize>,
    /// Whether to show everything: every row, column and line.
    pub full: bool,
    /// How to ask for the full report, as its last line says it; `None` is [`FULL_REPORT`].
    pub full_report: Option<&'static str>,
}

/// How a program is asked for the full report.
pub const FULL_REPORT: &str = "GPUPROF_REPORT=table:full";

impl TableOptions {
    /// Rows of the call tree, and of functions.
    pub(super) fn row_limit(&self) -> usize {
        if self.full {
            usize::MAX
        } else {
            self.limit.map_or(usize::MAX, NonZeroUsize::get)
        }
    }

    /// Rows of kernels and of API calls.
    pub(super) fn activity_limit(&self) -> usize {
        match self.row_limit() {
            usize::MAX => usize::MAX,
            limit => limit.div_ceil(3),
        }
    }
}
