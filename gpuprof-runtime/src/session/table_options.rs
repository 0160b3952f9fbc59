//! The table's options that depend on the process's standard error: width and colour.

use std::io::IsTerminal;
use std::num::NonZeroUsize;

use crate::os::fd;
use gpuprof_report::table::{Sort, TableOptions};

/// The width of a terminal that does not report one.
const FALLBACK_WIDTH: usize = 80;

/// Width and colour of standard error if it is a terminal, those of a pipe otherwise.
///
/// There is no colour if `NO_COLOR` is set to anything but the empty string
/// (<https://no-color.org>) or if `TERM` is `dumb`.
pub(super) fn for_standard_error(sort: Sort, limit: Option<NonZeroUsize>) -> TableOptions {
    let terminal = std::io::stderr().is_terminal();
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let mut options = TableOptions::default();
    options.width = terminal.then(|| fd::columns(fd::STDERR).unwrap_or(FALLBACK_WIDTH));
    options.color = terminal && !refused && !dumb;
    options.sort = sort;
    options.limit = limit;
    options
}
