//! Which calls are allowed while a stream is captured in GLOBAL mode, by which thread, and whether
//! the capture stays valid.
//!
//! The potentially unsafe calls are not documented. gpuprof's resolver and its spans make some of
//! these calls beside captures that they cannot see. Results that gpuprof relies on are required;
//! the others are reported.

use std::ffi::c_int;
use std::sync::{Arc, Barrier};
use std::thread;

use cudarc::driver::{CudaStream, DriverError};

use super::function_table::{CuResult, Driver, Handle, open};
use super::handle;
use crate::check::{Row, RunMode};
use crate::device::{Gpu, failed_in};

const GLOBAL: c_int = 0;
const THREAD_LOCAL: c_int = 1;
const RELAXED: c_int = 2;

/// The caller: the capturing thread or another one, and its interaction mode.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Caller {
    same_thread: bool,
    mode: c_int,
}

const fn caller(same_thread: bool, mode: c_int) -> Caller {
    Caller { same_thread, mode }
}

const CALLERS: [(&str, Caller); 5] = [
    ("GLOBAL", caller(false, GLOBAL)),
    ("THREAD_LOCAL", caller(false, THREAD_LOCAL)),
    ("RELAXED", caller(false, RELAXED)),
    ("same thread GLOBAL", caller(true, GLOBAL)),
    ("same thread RELAXED", caller(true, RELAXED)),
];

/// gpuprof's resolver, and the first span of a context, which creates events.
const RESOLVER: &[Caller] = &[caller(false, RELAXED)];
const RESOLVER_AND_FIRST_SPAN: &[Caller] = &[caller(false, RELAXED), caller(true, RELAXED)];
/// Spans on another thread and on the capturing one, in the default mode of a thread.
const SPANS: &[Caller] = &[caller(false, GLOBAL), caller(true, GLOBAL)];
const NOBODY: &[Caller] = &[];

/// The objects that calls are made on.
struct Objects {
    context: Handle,
    /// The captured stream.
    captured: Handle,
    /// Another stream.
    other: Handle,
    /// A recorded and completed event pair on the other stream.
    start: Handle,
    end: Handle,
    /// An event that may be destroyed.
    spare: Handle,
}

/// A call, and the callers for which gpuprof relies on it.
struct Question {
    call: &'static str,
    ask: fn(&Driver, &Objects) -> CuResult,
    relied: &'static [Caller],
}

const fn question(
    call: &'static str,
    relied: &'static [Caller],
    ask: fn(&Driver, &Objects) -> CuResult,
) -> Question {
    Question { call, ask, relied }
}

const QUESTIONS: [Question; 21] = [
    question("cuEventCreate", RESOLVER_AND_FIRST_SPAN, |driver, _| {
        driver.event_create(&mut 0, 0)
    }),
    question("cuEventDestroy", RESOLVER, |driver, on| {
        driver.event_destroy(on.spare)
    }),
    question("cuEventElapsedTime", RESOLVER, |driver, on| {
        driver.event_elapsed(&mut 0.0, on.start, on.end)
    }),
    question("cuEventQuery", RESOLVER, |driver, on| {
        driver.event_query(on.end)
    }),
    question("cuEventRecord on another stream", SPANS, |driver, on| {
        driver.event_record(on.spare, on.other)
    }),
    question(
        "cuStreamIsCapturing of the captured stream",
        SPANS,
        |driver, on| driver.stream_is_capturing(on.captured, &mut 0),
    ),
    question(
        "cuStreamIsCapturing of another stream",
        SPANS,
        |driver, on| driver.stream_is_capturing(on.other, &mut 0),
    ),
    question(
        "cuStreamGetCtx of the captured stream",
        NOBODY,
        |driver, on| driver.stream_get_ctx(on.captured, &mut 0),
    ),
    question("cuStreamGetCtx of another stream", SPANS, |driver, on| {
        driver.stream_get_ctx(on.other, &mut 0)
    }),
    question(
        "cuStreamGetId of the captured stream",
        NOBODY,
        |driver, on| driver.stream_get_id(on.captured, &mut 0),
    ),
    question("cuStreamGetId of another stream", NOBODY, |driver, on| {
        driver.stream_get_id(on.other, &mut 0)
    }),
    question(
        "cuStreamGetDevice of the captured stream",
        NOBODY,
        |driver, on| driver.stream_get_device(on.captured, &mut 0),
    ),
    question(
        "cuStreamGetDevice of another stream",
        NOBODY,
        |driver, on| driver.stream_get_device(on.other, &mut 0),
    ),
    question("cuStreamQuery of another stream", NOBODY, |driver, on| {
        driver.stream_query(on.other)
    }),
    question(
        "cuStreamSynchronize of another stream",
        NOBODY,
        |driver, on| driver.stream_synchronize(on.other),
    ),
    question(
        "cuStreamCreate and cuStreamDestroy",
        RESOLVER,
        |driver, _| {
            let mut stream = 0;
            let made = driver.stream_create(&raw mut stream, 1);
            made.then(|| driver.stream_destroy(stream))
        },
    ),
    question(
        "cuCtxPushCurrent and cuCtxPopCurrent",
        SPANS,
        |driver, on| {
            let pushed = driver.ctx_push(on.context);
            pushed.then(|| driver.ctx_pop(&mut 0))
        },
    ),
    question("cuCtxGetCurrent", SPANS, |driver, _| {
        driver.ctx_get_current(&mut 0)
    }),
    question("cuCtxGetDevice", SPANS, |driver, _| {
        driver.ctx_get_device(&mut 0)
    }),
    question("cuCtxGetId", SPANS, |driver, on| {
        driver.ctx_get_id(on.context, &mut 0)
    }),
    question("cuThreadExchangeStreamCaptureMode", SPANS, |driver, _| {
        let mut mode = RELAXED;
        let there = driver.exchange_mode(&raw mut mode);
        there.then(|| driver.exchange_mode(&raw mut mode))
    }),
];

/// One row per call, with the result for each caller and the state of the capture.
pub(super) fn run(_: &RunMode) -> Result<Vec<Row>, String> {
    let failed = failed_in("a capture");
    let gpu = Gpu::new().map_err(&failed)?;
    let captured = gpu.context.new_stream().map_err(&failed)?;
    let other = gpu.context.new_stream().map_err(&failed)?;
    let driver = open()?;
    let mut rows = Vec::new();
    for question in &QUESTIONS {
        let (mut cells, mut good, mut missing) = (Vec::new(), true, false);
        for (name, caller) in CALLERS {
            let (answer, end) =
                ask(driver, &gpu, &captured, &other, question, caller).map_err(&failed)?;
            let whole = end == CuResult::OK;
            let fate = if whole { "whole" } else { "spoilt" };
            cells.push(format!("{name}: {answer}, {fate}"));
            // gpuprof has a fallback for a missing function, so that is not a failure.
            missing = answer == CuResult::MISSING;
            let fine = answer == CuResult::OK || missing;
            good &= !question.relied.contains(&caller) || (whole && fine);
        }
        rows.push(if missing {
            Row::unavailable(what(question), CuResult::MISSING.to_string())
        } else {
            row(question, &cells, good)
        });
    }
    Ok(rows)
}

fn what(question: &Question) -> String {
    format!("{} beside a GLOBAL capture", question.call)
}

fn row(question: &Question, cells: &[String], good: bool) -> Row {
    let what = what(question);
    if question.relied.is_empty() {
        return Row::info(what, cells.join("; "));
    }
    let relied = CALLERS
        .iter()
        .filter(|(_, caller)| question.relied.contains(caller));
    let wanted: Vec<_> = relied
        .map(|(name, _)| format!("{name}: ok, whole"))
        .collect();
    Row::judged(what, cells.join("; "), wanted.join("; "), good)
}

/// Captures two launches with the call between them. Returns the result of the call and of the end
/// of the capture.
fn ask(
    driver: &'static Driver,
    gpu: &Gpu,
    captured: &Arc<CudaStream>,
    other: &Arc<CudaStream>,
    question: &Question,
    caller: Caller,
) -> Result<(CuResult, CuResult), DriverError> {
    gpu.context.bind_to_thread()?;
    let pair = [driver.new_event(0), driver.new_event(0)];
    for event in pair {
        driver.event_record(event, handle(other));
    }
    other.synchronize()?;
    let mut context = 0;
    driver.ctx_get_current(&raw mut context);
    let objects = Objects {
        context,
        captured: handle(captured),
        other: handle(other),
        start: pair[0],
        end: pair[1],
        spare: driver.new_event(0),
    };
    let make = || {
        let mut mode = caller.mode;
        driver.exchange_mode(&raw mut mode);
        let answer = (question.ask)(driver, &objects);
        driver.exchange_mode(&raw mut mode);
        answer
    };
    let begin = || driver.begin_capture(objects.captured, GLOBAL);
    let answer = if caller.same_thread {
        begin();
        // The end of the capture shows whether the call was accepted.
        let _ = gpu.spin(captured, 0);
        make()
    } else {
        let turn = Barrier::new(2);
        thread::scope(|scope| {
            let there = scope.spawn(|| {
                driver.ctx_set_current(context);
                turn.wait();
                turn.wait();
                make()
            });
            turn.wait();
            begin();
            let _ = gpu.spin(captured, 0);
            turn.wait();
            there.join().unwrap_or(CuResult::MISSING)
        })
    };
    let _ = gpu.spin(captured, 0);
    let mut graph = 0;
    let end = driver.end_capture(objects.captured, &raw mut graph);
    if end == CuResult::OK {
        driver.graph_destroy(graph);
    }
    for event in [objects.start, objects.end, objects.spare] {
        // The spare event may be destroyed already; that error is ignored.
        if event != objects.spare || question.call != "cuEventDestroy" {
            driver.event_destroy(event);
        }
    }
    Ok((answer, end))
}
