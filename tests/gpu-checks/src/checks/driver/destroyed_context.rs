//! Whether an event of a destroyed context may be queried, recorded or destroyed. Each case has its
//! own process, because a crash is a possible result.

use std::process::ExitCode;
use std::time::Duration;

use super::function_table::{CuResult, Driver, Handle, open};
use crate::check::{Row, RunMode};
use crate::device;
use crate::process;
use crate::runner::own_command;

/// A call on an event of a destroyed context.
#[derive(Clone, Copy)]
pub(super) struct Question {
    ask: fn(&Driver, &Objects) -> CuResult,
    /// True if a kernel is still running before the event when the context is destroyed.
    pending: bool,
}

struct Objects {
    stream: Handle,
    start: Handle,
    end: Handle,
}

const fn question(ask: fn(&Driver, &Objects) -> CuResult, pending: bool) -> Question {
    Question { ask, pending }
}

fn query(driver: &Driver, on: &Objects) -> CuResult {
    driver.event_query(on.end)
}

fn destroy(driver: &Driver, on: &Objects) -> CuResult {
    driver.event_destroy(on.end)
}

pub(super) const QUERY: Question = question(query, false);
pub(super) const QUERY_PENDING: Question = question(query, true);
pub(super) const DESTROY: Question = question(destroy, false);
pub(super) const DESTROY_PENDING: Question = question(destroy, true);
pub(super) const ELAPSED: Question = question(
    |driver, on| driver.event_elapsed(&mut 0.0, on.start, on.end),
    false,
);
pub(super) const RECORD: Question =
    question(|driver, on| driver.event_record(on.end, on.stream), false);

/// The rows and the test program of each.
const ROWS: [(&str, &str); 6] = [
    ("cuEventQuery", "gone-query"),
    (
        "cuEventQuery, pending at the context's end",
        "gone-query-pending",
    ),
    ("cuEventElapsedTime", "gone-elapsed"),
    ("cuEventRecord", "gone-record"),
    ("cuEventDestroy", "gone-destroy"),
    (
        "cuEventDestroy, pending at the context's end",
        "gone-destroy-pending",
    ),
];
const LIMIT: Duration = Duration::from_secs(15);
/// Duration of the pending kernel, in ns.
const BUSY: u64 = 200_000_000;

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (call, program) in ROWS {
        let ended = process::run(own_command(&["program", program], run_mode)?, LIMIT)
            .map_err(|error| format!("{program}: {error}"))?;
        let said = ended.stdout.lines().last().unwrap_or("no answer");
        let measured = match ended.failure() {
            None => said.to_owned(),
            Some(trouble) => format!("{said}; the process: {trouble}"),
        };
        rows.push(Row::info(
            format!("{call} after its context's end"),
            measured,
        ));
    }
    Ok(rows)
}

/// Creates a context with a recorded event pair, destroys it, and makes the call.
pub(super) fn program(run_mode: &RunMode, question: Question) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    cudarc::driver::result::init().map_err(|error| error.to_string())?;
    let driver = open()?;
    let mut context = 0;
    let made = driver.ctx_create(&raw mut context, 0, 0, 0);
    if made != CuResult::OK {
        return Err(format!("cuCtxCreate: {made}"));
    }
    let mut objects = Objects {
        stream: 0,
        start: driver.new_event(0),
        end: driver.new_event(0),
    };
    driver.stream_create(&raw mut objects.stream, 1);
    driver.event_record(objects.start, objects.stream);
    if question.pending {
        spin(objects.stream)?;
    }
    driver.event_record(objects.end, objects.stream);
    if !question.pending {
        driver.stream_synchronize(objects.stream);
    }
    let destroyed = driver.ctx_destroy(context);
    // Printed before the call, which may end the process.
    println!("context destroyed: {destroyed}");
    println!("{}", (question.ask)(driver, &objects));
    Ok(ExitCode::SUCCESS)
}

/// Keeps `stream` of the current context busy.
fn spin(stream: Handle) -> Result<(), String> {
    use cudarc::driver::result;

    let failed = |error| format!("spin: {error}");
    let image = std::ffi::CString::new(kernels::SPIN_PTX).map_err(|error| error.to_string())?;
    let name = std::ffi::CString::new(kernels::SPIN).map_err(|error| error.to_string())?;
    // SAFETY: the image is PTX that ends in NUL.
    let module = unsafe { result::module::load_data(image.as_ptr().cast()) }.map_err(failed)?;
    // SAFETY: the module is loaded.
    let function = unsafe { result::module::get_function(module, name) }.map_err(failed)?;
    let mut ns = BUSY;
    let geometry = kernels::spin_geometry();
    // SAFETY: this is the kernel's only parameter, and the stream is alive.
    unsafe {
        result::launch_kernel(
            function,
            geometry.grid,
            geometry.block,
            0,
            stream as cudarc::driver::sys::CUstream,
            &mut [(&raw mut ns).cast()],
        )
    }
    .map_err(failed)
}
