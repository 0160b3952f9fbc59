//! Benchmarked calls in one mode: warm-up, number of calls of a sample, samples of each in turn.

use std::panic::{self, AssertUnwindSafe};
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::CudaGraph;
use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
use cudarc::driver::sys::CUgraphInstantiate_flags;
use cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;

use crate::clocks::DeviceClocks;
use crate::error::{BenchError, WithPurpose};
use crate::measurement::{CallMode, Measurement, Stopped};
use crate::sampler::{BenchmarkedCall, Sampler, TimingSample};
use crate::statistics::Statistics;
use crate::stopping::{Stopping, StoppingRule};

/// Samples of one look at whether the times are stable.
const WARM_WINDOW: usize = 5;
/// The times are stable if the medians of two such looks differ by less.
const STABLE: f64 = 0.02;
const WARM_LIMIT: Duration = Duration::from_millis(500);
/// Time of a sample of several calls: an event pair is less than 1 % of it.
const BATCH_NS: f64 = 500_000.0;
/// A stream of an H200 takes 1,021 operations, two of which are events.
const MAX_BATCH: u32 = 512;
/// The note of a measurement whose stream was not held.
const NOT_HELD: &str = "the code waits for the GPU, queues more than a stream takes, or takes the \
                        host over 100 ms a call: time of the host is in these times";
/// How long a throttled device is left alone.
const COOLING: Duration = Duration::from_millis(50);
/// Samples of an event pair alone.
const EMPTY_SAMPLES: usize = 25;

/// What is the same in all modes of a benchmark.
pub(crate) struct Measuring<'a> {
    pub(crate) sampler: &'a mut Sampler,
    pub(crate) clocks: &'a mut DeviceClocks,
    pub(crate) rule: StoppingRule,
}

impl Measuring<'_> {
    /// The median of event pairs with nothing between them, ns.
    pub(crate) fn event_overhead_ns(&mut self) -> Result<f64, BenchError> {
        let mut times = Vec::with_capacity(EMPTY_SAMPLES);
        for _ in 0..EMPTY_SAMPLES {
            times.push(self.sampler.sample(&mut || Ok(()), 1)?.gpu_ns);
        }
        Ok(Statistics::of(&times).map_or(0.0, |all| all.median))
    }

    /// The measurements in one mode, without what the benchmark states, in the order of the calls.
    /// `Err`: some of them cannot be run in it, and why.
    pub(crate) fn run(
        &mut self,
        mode: CallMode,
        calls: &mut [BenchmarkedCall<'_>],
    ) -> Result<Result<Rounds, CannotRun>, BenchError> {
        match mode {
            CallMode::Cold => {
                let context = self.sampler.stream().context();
                let bytes = context.attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
                let bytes = usize::try_from(bytes.to("ask for the size of the L2 cache")?);
                self.sampler
                    .set_flush(bytes.ok().filter(|&bytes| bytes > 0))?;
                let measured = self.measure(mode, &mut timed(calls, |_| Ok(1))?);
                self.sampler.set_flush(None)?;
                measured.map(Ok)
            }
            CallMode::Hot => {
                let mut all = timed(calls, |call| self.batch(call))?;
                self.measure(mode, &mut all).map(Ok)
            }
            CallMode::Graph => {
                let mut graphs = Vec::with_capacity(calls.len());
                for (at, call) in calls.iter_mut().enumerate() {
                    let number = self.batch(*call)?;
                    match self.capture(*call, number)? {
                        Ok(graph) => graphs.push((graph, number)),
                        Err(why) => return Ok(Err(CannotRun { at, why })),
                    }
                }
                let launch = |graph: &CudaGraph| graph.launch().to("replay the graph");
                let mut replays: Vec<_> = graphs
                    .iter()
                    .map(|(graph, _)| move || launch(graph))
                    .collect();
                let mut replays: Vec<BenchmarkedCall<'_>> = replays
                    .iter_mut()
                    .map(|replay| replay as BenchmarkedCall<'_>)
                    .collect();
                let mut all = timed(&mut replays, |_| Ok(1))?;
                for (one, &(_, number)) in all.iter_mut().zip(&graphs) {
                    one.contains = number;
                }
                self.measure(mode, &mut all).map(Ok)
            }
        }
    }

    /// Calls of a sample that make it long enough.
    fn batch(&mut self, call: BenchmarkedCall<'_>) -> Result<u32, BenchError> {
        let warm = self.warm_up(call, 1)?;
        let calls = (BATCH_NS / warm.max(1.0)).ceil();
        let mut calls = (calls as u32).clamp(1, MAX_BATCH);
        // A call may queue several operations.
        while calls > 1 && self.sampler.holds() {
            if self.sampler.sample(call, calls)?.is_held {
                break;
            }
            calls /= 4;
        }
        Ok(calls.max(1))
    }

    /// Samples until the times are stable. Returns their median, ns of one call.
    fn warm_up(&mut self, call: BenchmarkedCall<'_>, calls: u32) -> Result<f64, BenchError> {
        let (began, mut before, mut late) = (Instant::now(), f64::INFINITY, 0);
        loop {
            let mut times = Vec::with_capacity(WARM_WINDOW);
            for _ in 0..WARM_WINDOW {
                let sample = self.sampler.sample(call, calls)?;
                late += u32::from(self.sampler.holds() && !sample.is_held);
                if late > 1 && calls == 1 {
                    // It would be let go 100 ms late every time.
                    self.sampler.hold_no_more();
                }
                times.push(sample.gpu_ns / f64::from(calls));
            }
            let median = Statistics::of(&times).map_or(0.0, |all| all.median);
            let is_stable = (median - before).abs() <= STABLE * median;
            if is_stable || began.elapsed() > WARM_LIMIT {
                return Ok(median);
            }
            before = median;
        }
    }

    fn measure(&mut self, mode: CallMode, all: &mut [Timed<'_>]) -> Result<Rounds, BenchError> {
        for one in all.iter_mut() {
            self.warm_up(one.call, one.calls)?;
        }
        let (samples, ratios, ending) = self.samples(all)?;
        let mut notes = Vec::new();
        if !self.sampler.holds() {
            notes.push(NOT_HELD.to_owned());
        }
        if ending.is_throttled_throughout {
            notes.push("the device was throttled throughout".to_owned());
        }
        let is_alone = samples.len() == 1;
        let measurements = samples.into_iter().zip(all).map(|(samples, one)| {
            let calls = one.calls * one.contains;
            let known = Statistics::of(&samples.gpu)
                .is_some_and(|all| self.rule.accepts(&all, all.timer_step(calls)));
            let mut measured = Measurement::of(mode, samples.gpu, calls);
            measured.cpu_ns = Statistics::of(&samples.cpu).map_or(0.0, |all| all.median);
            measured.stopped = match ending.stopped {
                stopped if is_alone => stopped,
                _ if known => Stopped::Converged,
                Stopped::Converged => Stopped::RatioConverged,
                limit => limit,
            };
            measured.throttled_samples = ending.throttled;
            measured.sm_clock_mhz = self.clocks.sm_clock_mhz();
            measured.notes.clone_from(&notes);
            let late = samples.is_late.iter().filter(|&&late| late).count();
            if self.sampler.holds() && late > 0 {
                let note = format!("{late} samples contain time of the host");
                measured.notes.push(note);
            }
            measured
        });
        Ok(Rounds {
            measurements: measurements.collect(),
            ratios,
            stopped: ending.stopped,
        })
    }

    /// Takes a sample of each in turn until the rule has enough.
    fn samples(
        &mut self,
        all: &mut [Timed<'_>],
    ) -> Result<(Vec<Samples>, Vec<f64>, Ending), BenchError> {
        let mut stopping = Stopping::new(self.rule);
        let mut samples: Vec<Samples> = all.iter().map(|_| Samples::default()).collect();
        let mut ratios = Vec::new();
        let mut ending = Ending::default();
        let began = Instant::now();
        // Of the rounds up to here it is known that the device was not throttled.
        let (mut rounds, mut good) = (0, 0);
        loop {
            // Each round begins with another one, so that a drift of the clocks hits all alike.
            let first = rounds % all.len();
            for at in (first..all.len()).chain(0..first) {
                if let (Some(one), Some(samples)) = (all.get_mut(at), samples.get_mut(at)) {
                    let sample = self.sampler.sample(one.call, one.calls)?;
                    samples.push(sample, one.calls * one.contains);
                }
            }
            rounds += 1;
            let took = began.elapsed();
            let mut stopped = match samples.as_slice() {
                [one] => stopping.check(&one.gpu, || one.timer_step(), took),
                several => {
                    ratios.extend(last_ratio(several));
                    stopping.check(&ratios, || ratio_step(several), took)
                }
            };
            if self.clocks.is_due() || stopped.is_some() {
                if self.clocks.is_throttled() {
                    let is_over = took >= self.rule.max_time;
                    if is_over && good == 0 {
                        // Better these than none at all.
                        ending.is_throttled_throughout = true;
                    } else {
                        ending.throttled += rounds - good;
                        samples.iter_mut().for_each(|one| one.truncate(good));
                        ratios.truncate(good);
                        rounds = good;
                        stopping = Stopping::new(self.rule);
                    }
                    if !is_over {
                        thread::sleep(COOLING);
                        continue;
                    }
                    stopped = Some(Stopped::TimeLimit);
                }
                good = rounds;
            }
            if let Some(stopped) = stopped {
                ending.stopped = stopped;
                return Ok((samples, ratios, ending));
            }
        }
    }

    /// The calls as a graph, or why they cannot be captured.
    fn capture(
        &mut self,
        call: BenchmarkedCall<'_>,
        calls: u32,
    ) -> Result<Result<CudaGraph, String>, BenchError> {
        let stream = self.sampler.stream();
        if let Err(error) = stream.begin_capture(CU_STREAM_CAPTURE_MODE_RELAXED) {
            return Ok(Err(format!("this stream cannot be captured: {error}")));
        }
        let called = panic::catch_unwind(AssertUnwindSafe(|| (0..calls).try_for_each(|_| call())));
        // Memory that the calls allocate and keep is freed before the next replay.
        let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let ended = stream.end_capture(flags);
        // Only now, so that the stream can be used again.
        let called = called.unwrap_or_else(|panicked| panic::resume_unwind(panicked));
        match (called, ended) {
            (Ok(()), Ok(Some(graph))) => {
                graph.upload().to("upload the graph")?;
                Ok(Ok(graph))
            }
            (Ok(()), Ok(None)) => Ok(Err("its calls put nothing on the stream".to_owned())),
            (Err(error), _) => Ok(Err(error.to_string())),
            (_, Err(error)) => Ok(Err(format!("its calls cannot be captured: {error}"))),
        }
    }
}

/// What is timed, and how often.
struct Timed<'a> {
    call: BenchmarkedCall<'a>,
    /// Calls of it in a sample.
    calls: u32,
    /// Benchmarked calls in each: those of a graph.
    contains: u32,
}

fn timed<'a>(
    calls: &'a mut [BenchmarkedCall<'_>],
    mut number: impl FnMut(BenchmarkedCall<'_>) -> Result<u32, BenchError>,
) -> Result<Vec<Timed<'a>>, BenchError> {
    let with = |call: &'a mut BenchmarkedCall<'_>| {
        let calls = number(*call)?;
        Ok(Timed {
            call: &mut **call,
            calls,
            contains: 1,
        })
    };
    calls.iter_mut().map(with).collect()
}

/// What was measured in one mode.
pub(crate) struct Rounds {
    /// In the order of the calls.
    pub(crate) measurements: Vec<Measurement>,
    /// The first call's time over the last one's, in each round.
    pub(crate) ratios: Vec<f64>,
    /// Why no more were taken.
    pub(crate) stopped: Stopped,
}

/// Which of the calls cannot be run in a mode, and why.
pub(crate) struct CannotRun {
    pub(crate) at: usize,
    pub(crate) why: String,
}

/// Times of one call, ns, one for each round.
#[derive(Default)]
struct Samples {
    gpu: Vec<f64>,
    cpu: Vec<f64>,
    /// Those that contain time of the host.
    is_late: Vec<bool>,
    /// In each sample.
    calls: u32,
}

impl Samples {
    fn push(&mut self, sample: TimingSample, calls: u32) {
        self.calls = calls;
        self.gpu.push(sample.gpu_ns / f64::from(calls));
        self.cpu.push(sample.cpu_ns / f64::from(calls));
        self.is_late.push(!sample.is_held);
    }

    fn truncate(&mut self, rounds: usize) {
        self.gpu.truncate(rounds);
        self.cpu.truncate(rounds);
        self.is_late.truncate(rounds);
    }

    /// See [`Statistics::timer_step`].
    fn timer_step(&self) -> f64 {
        Statistics::of(&self.gpu).map_or(0.0, |all| all.timer_step(self.calls))
    }
}

/// The first call's time over the last one's in the last round.
fn last_ratio(samples: &[Samples]) -> Option<f64> {
    let first = samples.first()?.gpu.last()?;
    Some(first / samples.last()?.gpu.last()?)
}

/// What steps of the timer in both times are in their ratio.
fn ratio_step(samples: &[Samples]) -> f64 {
    let relative = |samples: &Samples| {
        let all = Statistics::of(&samples.gpu)?;
        Some(all.timer_step(samples.calls) / all.median)
    };
    let medians = |samples: &Samples| Statistics::of(&samples.gpu).map(|all| all.median);
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return 0.0;
    };
    let step = relative(first).zip(relative(last));
    let ratio = medians(first).zip(medians(last));
    let step = step
        .zip(ratio)
        .map(|((a, b), (first, last))| (a + b) * first / last);
    step.filter(|step| step.is_finite()).unwrap_or(0.0)
}

/// How the samples ended.
struct Ending {
    throttled: usize,
    is_throttled_throughout: bool,
    stopped: Stopped,
}

impl Default for Ending {
    fn default() -> Self {
        Self {
            throttled: 0,
            is_throttled_throughout: false,
            stopped: Stopped::TimeLimit,
        }
    }
}
