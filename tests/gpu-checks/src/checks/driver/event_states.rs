//! Results for events that were recorded on a capturing stream, never recorded, or created without
//! timing. None of this is documented; gpuprof avoids each case. It relies on the last rows: which
//! context is current does not matter for a stream's own handle.

use super::function_table::{CuResult, Driver, Handle, open};
use super::handle;
use crate::check::{Row, RunMode};
use crate::device::{Gpu, failed_in};

const DISABLE_TIMING: u32 = 2;
const GLOBAL: i32 = 0;

pub(super) fn run(_: &RunMode) -> Result<Vec<Row>, String> {
    let failed = failed_in("preparing");
    let gpu = Gpu::new().map_err(&failed)?;
    let stream = gpu.context.new_stream().map_err(&failed)?;
    let driver = open()?;
    let on = handle(&stream);
    let recorded = driver.new_event(0);
    driver.event_record(recorded, on);
    stream.synchronize().map_err(&failed)?;

    let never = driver.new_event(0);
    let untimed = driver.new_event(DISABLE_TIMING);
    driver.event_record(untimed, on);
    stream.synchronize().map_err(&failed)?;
    let mut rows = vec![
        Row::info(
            "cuEventQuery of an event that was never recorded",
            driver.event_query(never).to_string(),
        ),
        Row::info(
            "cuEventElapsedTime to an event that was never recorded",
            elapsed(driver, recorded, never),
        ),
        Row::info(
            "cuEventElapsedTime to an event without timing",
            elapsed(driver, recorded, untimed),
        ),
        Row::info(
            "cuEventElapsedTime to an event that is not complete",
            pending(driver, &gpu, &stream, recorded).map_err(&failed)?,
        ),
    ];
    for ask in [Ask::Nothing, Ask::Query, Ask::Elapsed] {
        rows.push(on_a_capturing_stream(driver, on, recorded, ask));
    }
    rows.extend(beside_other_contexts(driver, on, recorded));
    stream.synchronize().map_err(&failed)?;
    Ok(rows)
}

/// The calls of a span's events on a stream that is not a default one, while its context is not
/// current. gpuprof makes it current only if a driver refuses.
fn beside_other_contexts(driver: &Driver, stream: Handle, event: Handle) -> [Row; 2] {
    let mut other = 0;
    let created = driver.ctx_create(&raw mut other, 0, 0, 0);
    let record = || {
        let mut status = 0;
        let asked = driver.stream_is_capturing(stream, &raw mut status);
        asked.then(|| driver.event_record(event, stream))
    };
    // It is current from its creation to its end.
    let another = created.then(record);
    driver.ctx_destroy(other);
    let mut mine = 0;
    let popped = driver.ctx_pop(&raw mut mine);
    let none = popped.then(record);
    driver.ctx_push(mine);
    [("another context", another), ("no context", none)].map(|(current, result)| {
        Row::judged(
            format!("cuStreamIsCapturing and cuEventRecord with {current} current"),
            result.to_string(),
            "ok: gpuprof need not ask",
            result == CuResult::OK,
        )
    })
}

fn elapsed(driver: &Driver, start: Handle, end: Handle) -> String {
    match driver.elapsed_ms(start, end) {
        Ok(ms) => format!("ok, {ms} ms"),
        Err(refused) => refused.to_string(),
    }
}

fn pending(
    driver: &Driver,
    gpu: &Gpu,
    stream: &std::sync::Arc<cudarc::driver::CudaStream>,
    recorded: Handle,
) -> Result<String, cudarc::driver::DriverError> {
    let event = driver.new_event(0);
    gpu.spin(stream, 50_000_000)?;
    driver.event_record(event, handle(stream));
    let answer = elapsed(driver, recorded, event);
    stream.synchronize()?;
    Ok(answer)
}

/// The query of the event before the capture ends.
#[derive(Clone, Copy)]
enum Ask {
    Nothing,
    Query,
    Elapsed,
}

/// A plain record on a capturing stream: the event's result, and the state of the capture.
fn on_a_capturing_stream(driver: &Driver, stream: Handle, recorded: Handle, ask: Ask) -> Row {
    let event = driver.new_event(0);
    driver.begin_capture(stream, GLOBAL);
    let record = driver.event_record(event, stream);
    let (what, meanwhile) = match ask {
        Ask::Nothing => ("nothing meanwhile", String::new()),
        Ask::Query => (
            "cuEventQuery meanwhile",
            format!("meanwhile {}, ", driver.event_query(event)),
        ),
        Ask::Elapsed => (
            "cuEventElapsedTime meanwhile",
            format!("meanwhile {}, ", elapsed(driver, recorded, event)),
        ),
    };
    let mut graph = 0;
    let end = driver.end_capture(stream, &raw mut graph);
    if end == CuResult::OK {
        driver.graph_destroy(graph);
    }
    let later = format!(
        "query {}, elapsed time {}",
        driver.event_query(event),
        elapsed(driver, recorded, event)
    );
    Row::info(
        format!("cuEventRecord on a capturing stream, {what}"),
        format!("record {record}, {meanwhile}end of capture {end}, then {later}"),
    )
}
