//! The end of the process: the report is written from an `atexit` handler, once, whatever way `exit` was reached.
//!
//! The exiting thread's thread-locals are gone by then, other threads still run, and the driver may be shutting down: so
//! locks are tried, waits are bounded, and nothing here panics outward.

use std::ffi::c_int;
use std::io::Write;
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use crate::config::{Output, Settings};
use crate::profile::Profile;
use crate::site::Entry;
use crate::{identity, report, session};

/// How long the handler waits for each lock.
const PATIENCE: Duration = Duration::from_millis(200);

/// How much of a filter is repeated to the user.
const LONGEST_PATTERN: usize = 60;

static OWNER: AtomicU32 = AtomicU32::new(0);
static DONE: AtomicBool = AtomicBool::new(false);

/// Registers the handler, once.
pub(crate) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        OWNER.store(std::process::id(), Ordering::Relaxed);
        register_handler();
    });
}

/// Registers it again once CUDA is up: handlers run last-in first-out, so ours then comes before the driver's own.
pub(crate) fn register_after_cuda() {
    static ONCE: Once = Once::new();
    ONCE.call_once(register_handler);
}

fn register_handler() {
    // SAFETY: the handler is a plain function of the right type that lives as long as the program.
    let status = unsafe { libc::atexit(handler) };
    if status != 0 {
        write_stderr(
            b"gpuprof: atexit is full: there will be no report; call gpuprof::report() for one\n",
        );
    }
}

extern "C" fn handler() {
    let ours = OWNER.load(Ordering::Relaxed) == std::process::id();
    if ours && !DONE.swap(true, Ordering::AcqRel) {
        // A panic must not leave a C function. There is nothing sensible left to do about it either.
        let _ = panic::catch_unwind(write_reports);
    }
}

fn write_reports() {
    for (settings, profile) in session::at_exit(PATIENCE) {
        if let Some(filter) = settings
            .filter
            .as_ref()
            .filter(|_| profile.functions.is_empty())
        {
            let pattern: String = filter
                .as_str()
                .escape_debug()
                .take(LONGEST_PATTERN)
                .collect();
            let annotated = inventory::iter::<Entry>.into_iter().count();
            let line = format!(
                "gpuprof: the filter \"{pattern}\" matches none of the {annotated} annotated functions\n"
            );
            write_stderr(line.as_bytes());
        }
        if profile.trust.calls + profile.trust.replays + profile.trust.dropped > 0 {
            settings
                .outputs
                .iter()
                .for_each(|output| write_output(output, &settings, &profile));
        }
    }
}

fn write_output(output: &Output, settings: &Settings, profile: &Profile) {
    let mut text = Vec::new();
    let options = report::stderr_options(settings.sort, settings.limit);
    // Writing into memory cannot fail.
    let _ = match output {
        Output::Table => report::table::write(profile, &options, &mut text),
        Output::Tree => report::tree::write(profile, &options, &mut text),
        Output::Json(path) => {
            let _ = report::json::write(profile, &mut text);
            let path = fill_in(path);
            match write_file(&path, &text) {
                Ok(()) => return,
                Err(error) => {
                    let shown = path.escape_debug();
                    writeln!(
                        text,
                        "gpuprof: cannot write {shown} ({error}): the report stands above instead"
                    )
                }
            }
        }
    };
    write_stderr(&text);
}

fn write_file(path: &str, text: &[u8]) -> std::io::Result<()> {
    std::fs::write(path, text)
}

/// The path with `{pid}`, `{rank}` (0 without one) and `{exe}` filled in.
fn fill_in(path: &str) -> String {
    path.replace("{pid}", &std::process::id().to_string())
        .replace("{rank}", &identity::rank().unwrap_or(0).to_string())
        .replace("{exe}", &identity::program())
}

/// Writes to descriptor 2 itself: `std::io::stderr` takes a lock that a thread stopped by the exit may hold for ever.
pub(crate) fn write_stderr(mut text: &[u8]) {
    const STDERR: c_int = 2;
    while !text.is_empty() {
        // SAFETY: the pointer and the length are of one live slice.
        let written = unsafe { libc::write(STDERR, text.as_ptr().cast(), text.len()) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => text = text.get(written..).unwrap_or_default(),
            _ if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}
