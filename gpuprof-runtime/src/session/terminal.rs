//! How a table fits the process's standard error.

use std::ffi::c_int;
use std::io::IsTerminal;
use std::mem;

use gpuprof_report::table::{Sort, TableOptions};

const STDERR: c_int = 2;
/// The width of a terminal that does not report one.
const FALLBACK_WIDTH: usize = 80;

/// Width and colour of standard error if it is a terminal, those of a pipe otherwise.
///
/// There is no colour if `NO_COLOR` is set to anything but the empty string
/// (<https://no-color.org>) or if `TERM` is `dumb`.
pub(super) fn options(sort: Sort, limit: usize) -> TableOptions {
    let terminal = std::io::stderr().is_terminal();
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    TableOptions {
        width: terminal.then(|| width(STDERR).unwrap_or(FALLBACK_WIDTH)),
        color: terminal && !refused && !dumb,
        sort,
        limit,
    }
}

/// The columns of a terminal.
fn width(descriptor: c_int) -> Option<usize> {
    // SAFETY: all-zero bytes are a valid `winsize`.
    let mut size: libc::winsize = unsafe { mem::zeroed() };
    // SAFETY: TIOCGWINSZ writes one `winsize` to the pointer.
    let status = unsafe { libc::ioctl(descriptor, libc::TIOCGWINSZ, &raw mut size) };
    (status == 0 && size.ws_col > 0).then_some(size.ws_col.into())
}
