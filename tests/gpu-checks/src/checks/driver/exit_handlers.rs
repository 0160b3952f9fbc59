//! Whether the driver still works in exit handlers: gpuprof's report needs it to read the last
//! events.
//!
//! `atexit` handlers run in reverse order of registration, so a handler registered after the
//! driver's own runs before it.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::function_table::{self, open};
use crate::check::{Row, RunMode};
use crate::device::{self, Gpu, failed_in};
use crate::process;
use crate::runner::own_command;

/// When each handler was registered, which is how its line begins.
const BEFORE: &str = "before cuInit";
const AFTER: &str = "after cuInit and the context";
const LIMIT: Duration = Duration::from_secs(30);

static EVENT: AtomicUsize = AtomicUsize::new(0);

/// One row per handler, in execution order.
pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let ended = process::finished(own_command(&["program", "exit-handlers"], run_mode)?, LIMIT)?;
    let said = |when: &str| {
        let line = ended
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix(when));
        line.map_or("did not run".into(), |answer| {
            answer.trim_start_matches(": ").to_owned()
        })
    };
    let what = |when| format!("cuEventQuery in an exit handler registered {when}");
    let after = said(AFTER);
    let good = after == "ok";
    let order = if ended.stdout.find(AFTER) < ended.stdout.find(BEFORE) {
        "the later one"
    } else {
        "the earlier one"
    };
    Ok(vec![
        Row::judged(what(AFTER), after, "ok", good),
        Row::info(what(BEFORE), said(BEFORE)),
        Row::info("which of the two handlers runs first", order),
    ])
}

/// Registers one handler before and one after driver initialization, and returns.
pub(super) fn program(run_mode: &RunMode) -> Result<ExitCode, String> {
    // SAFETY: the handler only calls the driver and prints.
    let first = unsafe { libc::atexit(before) };
    device::open(run_mode)?;
    let gpu = Gpu::new().map_err(failed_in("the device"))?;
    let stream = gpu.context.new_stream().map_err(failed_in("a stream"))?;
    let driver = open()?;
    let event = driver.new_event(0);
    driver.event_record(event, super::handle(&stream));
    EVENT.store(event, Ordering::Relaxed);
    stream.synchronize().map_err(failed_in("the stream"))?;
    // SAFETY: as above.
    let second = unsafe { libc::atexit(after) };
    if (first, second) != (0, 0) {
        return Err("atexit refuses".into());
    }
    // The context lives until the process ends, like a context in a static.
    std::mem::forget((gpu, stream));
    Ok(ExitCode::SUCCESS)
}

extern "C" fn before() {
    tell(BEFORE);
}

extern "C" fn after() {
    tell(AFTER);
}

fn tell(when: &str) {
    let Some(driver) = function_table::driver() else {
        return;
    };
    println!(
        "{when}: {}",
        driver.event_query(EVENT.load(Ordering::Relaxed))
    );
}
