//! The log file: one JSON line per call, on disk before the call returns.
//!
//! Nothing is buffered, because programs under test end by `exit`, by a signal or by abort. One
//! `write` to a file opened for appending is atomic between threads and forked children.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Error, Write};
use std::sync::OnceLock;

use crate::abi::Handle;
use crate::call::{Call, Op};
use crate::handles;

static FILE: OnceLock<File> = OnceLock::new();

thread_local! {
    /// Open push ranges of this thread, by domain handle.
    static OPEN: RefCell<HashMap<usize, i32>> = RefCell::default();
}

/// Opens the file named by [`crate::LOG`], once.
///
/// # Errors
/// The variable is not set, or the file cannot be opened for appending.
pub(crate) fn open() -> Result<(), Error> {
    let path = std::env::var_os(crate::LOG)
        .ok_or_else(|| Error::other(format!("{} is not set", crate::LOG)))?;
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    FILE.get_or_init(|| file);
    Ok(())
}

/// A new record of `op` by this thread in `domain`.
pub(crate) fn begin(op: Op, domain: Handle) -> Call {
    // SAFETY: gettid has no preconditions and cannot fail.
    let thread = unsafe { libc::gettid() };
    Call::new(
        op,
        u64::try_from(thread).unwrap_or_default(),
        handles::resolve(domain),
    )
}

/// Writes the line of `call`. A failure is reported on standard error, to explain a test that
/// misses the line.
pub(crate) fn write(call: &Call) {
    let Some(mut file) = FILE.get() else { return };
    let written = serde_json::to_vec(call)
        .map_err(Error::from)
        .and_then(|mut line| {
            line.push(b'\n');
            file.write_all(&line)
        });
    if let Err(error) = written {
        eprintln!("nvtx-recorder: a call could not be written: {error}");
    }
}

/// Opens a push range and returns its depth; `None` during thread teardown.
pub(crate) fn level_in(domain: Handle) -> Option<i32> {
    OPEN.try_with(|open| {
        let mut open = open.borrow_mut();
        let count = open.entry(domain.addr()).or_default();
        *count += 1;
        *count - 1
    })
    .ok()
}

/// Closes a push range and returns its depth: −1 if none is open.
pub(crate) fn level_out(domain: Handle) -> Option<i32> {
    OPEN.try_with(|open| {
        let mut open = open.borrow_mut();
        let count = open.entry(domain.addr()).or_default();
        let level = *count - 1;
        *count = level.max(0);
        level
    })
    .ok()
}
