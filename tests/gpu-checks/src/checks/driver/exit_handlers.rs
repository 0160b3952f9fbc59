//! Whether the driver is still there when exit handlers run: gpuprof's report needs it to read the
//! last events.
//!
//! `atexit` runs last-in first-out, so a handler that is registered after the driver's own should
//! run before it.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::functions::{self, open};
use crate::check::{Row, World};
use crate::device::{self, Gpu, while_doing};
use crate::process;
use crate::runner::itself;

/// When each handler was registered, as its line begins.
const BEFORE: &str = "before cuInit";
const AFTER: &str = "after cuInit and the context";
const LIMIT: Duration = Duration::from_secs(30);

static EVENT: AtomicUsize = AtomicUsize::new(0);

/// One row for each handler, in the order in which they ran.
pub(super) fn run(world: &World) -> Result<Vec<Row>, String> {
    let ended = process::run(itself(&["play", "exit-handlers"], world)?, LIMIT)
        .map_err(while_doing("the program that registers"))?;
    if let Some(trouble) = ended.trouble() {
        return Err(format!("{trouble}\n{}", ended.tail()));
    }
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
        Row::held(what(AFTER), after, "ok", good),
        Row::told(what(BEFORE), said(BEFORE)),
        Row::told("which of the two handlers runs first", order),
    ])
}

/// Registers one handler before and one after the driver is up, and returns.
pub(super) fn scene(world: &World) -> Result<ExitCode, String> {
    // SAFETY: the handler asks the driver and prints.
    let first = unsafe { libc::atexit(before) };
    device::open(world)?;
    let gpu = Gpu::new().map_err(while_doing("the device"))?;
    let stream = gpu.context.new_stream().map_err(while_doing("a stream"))?;
    let driver = open()?;
    let event = driver.new_event(0);
    driver.event_record(event, super::handle(&stream));
    EVENT.store(event, Ordering::Relaxed);
    stream.synchronize().map_err(while_doing("the stream"))?;
    // SAFETY: as above.
    let second = unsafe { libc::atexit(after) };
    if (first, second) != (0, 0) {
        return Err("atexit refuses".into());
    }
    // The context lives until the process ends, as that of a program that keeps it in a static
    // does.
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
    let Some(driver) = functions::driver() else {
        return;
    };
    println!(
        "{when}: {}",
        driver.event_query(EVENT.load(Ordering::Relaxed))
    );
}
