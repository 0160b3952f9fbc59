//! Host cost of event calls, resolution of event pairs, and the number of operations that a stream
//! takes before its caller waits. All figures are reported only; on the simulated device they
//! describe the simulator.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use cudarc::driver::{CudaContext, CudaStream, DriverError};

use super::function_table::{Driver, Handle, open};
use super::{handle, measure_queue_room, median};
use crate::check::{Row, RunMode};
use crate::device::{Gpu, failed_in};

/// Calls averaged into one value: enough to hide the clock's cost, too few to fill a queue.
const BATCH: usize = 100;
const DISABLE_TIMING: u32 = 2;
/// Consecutive events for the resolution, close enough that a float32 of milliseconds represents
/// every step.
const MARKS: usize = 400;

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    measure(run_mode, open()?).map_err(failed_in("the driver"))
}

fn measure(run_mode: &RunMode, driver: &'static Driver) -> Result<Vec<Row>, DriverError> {
    let gpu = Gpu::new()?;
    let (stream, second) = (gpu.context.new_stream()?, gpu.context.new_stream()?);
    let rounds = if run_mode.short { 3 } else { 60 };
    let figure = |what: &str, text: String| {
        let note = if run_mode.simulated {
            " (simulated device)"
        } else {
            ""
        };
        Row::info(what, format!("{text}{note}"))
    };
    let costs = calls(driver, &stream, rounds)?;
    let two = two_threads(driver, &gpu.context, [&stream, &second], rounds)?;
    let mut rows: Vec<_> = costs
        .into_iter()
        .map(|(what, ns)| figure(what, format!("{ns:.0} ns")))
        .collect();
    rows.push(figure(
        "cuEventRecord, timed, by two threads on two streams of one context",
        format!("{two:.0} ns"),
    ));
    rows.push(figure(
        "steps of elapsed times",
        resolution(driver, &stream)?,
    ));
    let enough = if run_mode.short { 2_000 } else { 20_000 };
    let shown = |count: usize| {
        if count == enough {
            format!("none of {enough} waited")
        } else {
            format!("{count}")
        }
    };
    let launches = measure_queue_room(&gpu, &stream, enough, || gpu.spin(&stream, 0))?;
    rows.push(figure("launches before one waits", shown(launches)));
    let event = driver.new_event(0);
    let records = measure_queue_room(&gpu, &stream, enough, || {
        driver.event_record(event, handle(&stream));
        Ok(())
    })?;
    rows.push(figure("records before one waits", shown(records)));
    driver.event_destroy(event);
    let other = measure_queue_room(&gpu, &stream, launches, || gpu.spin(&stream, 0))?;
    rows.push(figure("launches, second measurement", shown(other)));
    Ok(rows)
}

/// The median over the rounds of each call's mean time, in ns, on an idle stream.
fn calls(
    driver: &Driver,
    stream: &Arc<CudaStream>,
    rounds: usize,
) -> Result<Vec<(&'static str, f64)>, DriverError> {
    let on = handle(stream);
    let mut times: [Vec<f64>; 7] = Default::default();
    for _ in 0..rounds {
        let mut events = [0; BATCH];
        let mut untimed = [0; BATCH];
        times[0].push(mean(&mut events, |event| *event = driver.new_event(0)));
        for event in &mut untimed {
            *event = driver.new_event(DISABLE_TIMING);
        }
        times[1].push(mean(&mut events, |event| {
            driver.event_record(*event, on);
        }));
        stream.synchronize()?;
        times[2].push(mean(&mut untimed, |event| {
            driver.event_record(*event, on);
        }));
        stream.synchronize()?;
        times[3].push(mean(&mut events, |event| {
            driver.event_query(*event);
        }));
        let first = events[0];
        times[4].push(mean(&mut events, |event| {
            let _ = driver.elapsed_ms(first, *event);
        }));
        times[5].push(mean(&mut events, |event| {
            driver.stream_is_capturing(on, &mut 0);
            *event = std::hint::black_box(*event);
        }));
        times[6].push(mean(&mut events, |event| {
            driver.event_destroy(*event);
        }));
        for event in untimed {
            driver.event_destroy(event);
        }
    }
    let names = [
        "cuEventCreate",
        "cuEventRecord, timed",
        "cuEventRecord, without timing",
        "cuEventQuery, complete",
        "cuEventElapsedTime",
        "cuStreamIsCapturing",
        "cuEventDestroy",
    ];
    Ok(names.into_iter().zip(times.map(median)).collect())
}

/// Like [`calls`] for timed records by two threads at once, each on its own stream.
fn two_threads(
    driver: &'static Driver,
    context: &Arc<CudaContext>,
    streams: [&Arc<CudaStream>; 2],
    rounds: usize,
) -> Result<f64, DriverError> {
    let together = Barrier::new(2);
    let record_on = |stream: &Arc<CudaStream>| {
        context.bind_to_thread()?;
        let mut events: [Handle; BATCH] = [0; BATCH];
        for event in &mut events {
            *event = driver.new_event(0);
        }
        let mut times = Vec::new();
        for _ in 0..rounds {
            together.wait();
            times.push(mean(&mut events, |event| {
                driver.event_record(*event, handle(stream));
            }));
            // Both threads run every round; otherwise the other one would wait forever.
            driver.stream_synchronize(handle(stream));
        }
        for event in events {
            driver.event_destroy(event);
        }
        Ok(times)
    };
    let mut times = Vec::new();
    for result in thread::scope(|scope| {
        let threads = streams.map(|stream| scope.spawn(|| record_on(stream)));
        threads.map(|thread| thread.join())
    }) {
        times.extend(result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
    }
    Ok(median(times))
}

/// The resolution of elapsed times, from events recorded as fast as the host can. Their distances
/// are multiples of the timer's step, so no two distances differ by less than one step.
fn resolution(driver: &Driver, stream: &Arc<CudaStream>) -> Result<String, DriverError> {
    let events: Vec<_> = (0..MARKS).map(|_| driver.new_event(0)).collect();
    for event in &events {
        driver.event_record(*event, handle(stream));
    }
    stream.synchronize()?;
    let times: Vec<_> = events
        .iter()
        .filter_map(|event| driver.elapsed_ms(events[0], *event).ok())
        .map(|ms| f64::from(ms) * 1e6)
        .collect();
    for event in &events {
        driver.event_destroy(*event);
    }
    let distances = differences(times.clone());
    let shortest = distances.first().copied().unwrap_or(f64::NAN);
    let step = differences(distances);
    let step = step.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(format!(
        "{step:.0} ns; the shortest distance of two events {shortest:.0} ns, among {} in {:.0} µs",
        times.len(),
        times.last().copied().unwrap_or(0.0) / 1e3
    ))
}

/// The differences between neighbours of the sorted `values`, without rounding errors.
fn differences(mut values: Vec<f64>) -> Vec<f64> {
    const ROUNDING: f64 = 0.5;
    values.sort_by(f64::total_cmp);
    let mut found: Vec<_> = values
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .filter(|difference| *difference > ROUNDING)
        .collect();
    found.sort_by(f64::total_cmp);
    found
}

/// Mean time per call in ns.
fn mean(events: &mut [Handle; BATCH], call: impl FnMut(&mut Handle)) -> f64 {
    let began = Instant::now();
    events.iter_mut().for_each(call);
    began.elapsed().as_nanos() as f64 / BATCH as f64
}
