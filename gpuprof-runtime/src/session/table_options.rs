//! The table's options that depend on the process's standard error: width and colour.

use std::io::IsTerminal;
use std::num::NonZeroUsize;

use crate::os::fd;
use gpuprof_report::table::{Sort, TableOptions};

/// The width of a terminal that does not report one, without `COLUMNS`.
const FALLBACK_WIDTH: usize = 80;

/// Width and colour of standard error.
///
/// The width is what the terminal reports; without a terminal, or if it reports none, the number in
/// `COLUMNS`; without that, [`FALLBACK_WIDTH`] for a terminal and none for a pipe.
///
/// There is no colour if `NO_COLOR` is set to anything but the empty string
/// (<https://no-color.org>) or if `TERM` is `dumb`.
pub(super) fn for_standard_error(sort: Sort, limit: Option<NonZeroUsize>) -> TableOptions {
    let terminal = std::io::stderr().is_terminal();
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let mut options = TableOptions::default();
    let reported = terminal.then(|| fd::columns(fd::STDERR)).flatten();
    let fallback = terminal.then_some(FALLBACK_WIDTH);
    options.width = reported.or_else(stated_columns).or(fallback);
    options.color = terminal && !refused && !dumb;
    options.sort = sort;
    options.limit = limit;
    options
}

/// The width that the variable `COLUMNS` states; any text but a whole number from 1 is ignored.
fn stated_columns() -> Option<usize> {
    let columns: NonZeroUsize = std::env::var("COLUMNS").ok()?.parse().ok()?;
    Some(columns.get())
}
