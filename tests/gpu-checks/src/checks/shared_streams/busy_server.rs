//! Requests of several threads on streams that they share, as in an inference server.

use std::sync::{Arc, Barrier};
use std::thread;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaEvent, CudaStream, DriverError};
use gpuprof::profile::GpuSpanStats;
use gpuprof::{Profile, gpu_profile};
use promises::{Done, errors, function};

use crate::check::{Row, RunMode};
use crate::device::{Gpu, TOLERANCE, failed_in};
use crate::session::every_call;
use crate::statistics::time;

const THREADS: u64 = 4;
/// Requests that a thread queues before it waits for them.
const QUEUED: u64 = 20;
/// Shortest kernel and longest kernel, ns.
const KERNEL_NS: [u64; 2] = [20_000, 80_000];
const NAMES: [&str; 2] = ["infer", "infer a layer"];
/// Layers of a request, each a kernel.
const LAYERS: u64 = 3;
/// What the events' resolution may add to the sum of exclusive times.
const MARGIN: f64 = 0.001;

#[gpu_profile(name = "infer")]
fn infer(gpu: &Gpu, stream: &Arc<CudaStream>, random: &mut Random, meet: Option<&Barrier>) -> Done {
    gpu.spin(stream, random.kernel_ns())?;
    meet.map(Barrier::wait);
    (0..LAYERS).try_for_each(|_| layer(gpu, stream, random))
}

#[gpu_profile(name = "infer a layer")]
fn layer(gpu: &Gpu, stream: &Arc<CudaStream>, random: &mut Random) -> Done {
    gpu.spin(stream, random.kernel_ns())
}

/// A linear congruential generator (Knuth, MMIX).
struct Random {
    state: u64,
    /// The sum of all durations drawn, ns.
    spun_ns: u64,
}

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        let product = self.state.wrapping_mul(6_364_136_223_846_793_005);
        self.state = product.wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % limit
    }

    fn kernel_ns(&mut self) -> u64 {
        let [shortest, longest] = KERNEL_NS;
        let ns = shortest + self.below(longest - shortest);
        self.spun_ns += ns;
        ns
    }
}

pub(super) fn run(run_mode: &RunMode, gpu: &Gpu) -> Result<Vec<Row>, String> {
    let failed = failed_in("the requests");
    let requests = if run_mode.short { 40 } else { 500 };
    let [a, b] = [(); 2].map(|()| gpu.context.new_stream());
    let streams = [a.map_err(&failed)?, b.map_err(&failed)?];
    let session = every_call().start().map_err(failed_in("a session"))?;
    let starts = [timed_event(&streams[0]), timed_event(&streams[1])];
    let spun_ns = serve(gpu, &streams, requests).map_err(&failed)?;
    let mut covered_ns = 0.0;
    for (start, stream) in starts.into_iter().zip(&streams) {
        let end = timed_event(stream).map_err(&failed)?;
        let ms = start.map_err(&failed)?.elapsed_ms(&end).map_err(&failed)?;
        covered_ns += f64::from(ms) * 1e6;
    }
    let profile = session.finish();
    Ok(vec![
        calls(&profile, requests),
        sums(&profile, covered_ns, spun_ns as f64),
    ])
}

/// Runs all threads, and returns the duration of their kernels in ns.
fn serve(gpu: &Gpu, streams: &[Arc<CudaStream>; 2], requests: u64) -> Result<u64, DriverError> {
    // Inside some requests all threads meet, so that calls overlap on every machine.
    let barrier = &Barrier::new(THREADS as usize);
    let work = |thread: u64| {
        let mut random = Random {
            state: thread,
            spun_ns: 0,
        };
        for number in 0..requests {
            let stream = &streams[random.below(2) as usize];
            let meet = number.is_multiple_of(QUEUED).then_some(barrier);
            infer(gpu, stream, &mut random, meet)?;
            if number % QUEUED == QUEUED - 1 {
                stream.synchronize()?;
            }
        }
        Ok(random.spun_ns)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        let spun = threads
            .into_iter()
            .map(|thread| thread.join().expect("it does not panic"));
        spun.sum()
    })
}

/// Every call is timed, and most have shared their stream.
fn calls(profile: &Profile, requests: u64) -> Row {
    let found = NAMES.map(|name| {
        let Some(found) = function(profile, name) else {
            return (0, 0, 0, false);
        };
        let timed = found.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
        let divided = found.gpu_divided_calls;
        (found.calls, timed, divided, found.gpu_overlaps)
    });
    let shown = NAMES
        .iter()
        .zip(&found)
        .map(|(name, (calls, timed, divided, _))| {
            format!("{name}: {calls} = {timed} timed, {divided} divided")
        });
    let shown: Vec<_> = shown.collect();
    let wanted = [THREADS * requests, THREADS * requests * LAYERS];
    let good = found.iter().zip(wanted).all(|(found, wanted)| {
        let (calls, timed, _, undivided) = *found;
        calls == wanted && timed == calls && !undivided
    });
    let divided: u64 = found.iter().map(|found| found.2).sum();
    Row::judged(
        format!("{THREADS} threads, {requests} requests each on one of two streams"),
        format!("{}; {}", shown.join("; "), errors(profile)),
        format!(
            "{} and {} calls, all timed, some divided, no error",
            wanted[0], wanted[1]
        ),
        good && divided > 0 && profile.diagnostics.errors.is_empty(),
    )
}

/// Exclusive times add up to the time in which any call was open.
fn sums(profile: &Profile, covered_ns: f64, spun_ns: f64) -> Row {
    let gpus = NAMES.map(|name| function(profile, name).and_then(|found| found.gpu.as_ref()));
    let sum = |of: fn(&GpuSpanStats) -> u64| {
        let found = gpus.iter().flatten();
        found.map(|gpu| of(gpu)).sum::<u64>() as f64
    };
    let (own, all) = (sum(|gpu| gpu.times.self_ns), sum(|gpu| gpu.timed_ns));
    let kernels = sum(|gpu| gpu.timed_calls);
    let shorter_ns = kernels * TOLERANCE.shorter_ns as f64;
    Row::judged(
        "self times of these calls in sum",
        format!(
            "{}; kernels {}, streams covered for {}; spans in sum {}",
            time(own),
            time(spun_ns),
            time(covered_ns),
            time(all)
        ),
        "at most the streams' time, within 0.1 %; at least the kernels, within 2 µs each",
        own <= covered_ns * (1.0 + MARGIN) && own >= spun_ns - shorter_ns,
    )
}

fn timed_event(stream: &Arc<CudaStream>) -> Result<CudaEvent, DriverError> {
    stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))
}
