//! A benchmark in one mode: warm-up, number of calls of a sample, samples.

use std::time::{Duration, Instant};

use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
use cudarc::driver::sys::CUgraphInstantiate_flags;
use cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;

use crate::clocks::Clocks;
use crate::error::{BenchError, Purpose};
use crate::measurement::{Measurement, Mode, Stopped};
use crate::sampler::{Call, Sampler};
use crate::statistics::Statistics;
use crate::stopping::{Rule, Stopping};

/// Samples of one look at whether the times are stable.
const WARM_WINDOW: usize = 5;
/// The times are stable if the medians of two such looks differ by less.
const STABLE: f64 = 0.02;
const WARM_LIMIT: Duration = Duration::from_millis(500);
/// Time of a sample of several calls: an event pair is less than 1 % of it.
const BATCH_NS: f64 = 500_000.0;
/// A stream of an H200 takes 1,021 operations, two of which are events.
const MAX_BATCH: u32 = 512;
/// Samples of an event pair alone.
const EMPTY_SAMPLES: usize = 25;

/// What is the same in all modes of a benchmark.
pub(crate) struct Measuring<'a> {
    pub(crate) sampler: &'a mut Sampler,
    pub(crate) clocks: &'a mut Clocks,
    pub(crate) rule: Rule,
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

    /// The measurement in one mode, without what the benchmark states. `None`: the code cannot be
    /// run in it, and why.
    pub(crate) fn run(
        &mut self,
        mode: Mode,
        call: Call<'_>,
    ) -> Result<Result<Measurement, String>, BenchError> {
        match mode {
            Mode::Cold => {
                let context = self.sampler.stream().context();
                let bytes = context.attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
                let bytes = usize::try_from(bytes.to("ask for the size of the L2 cache")?);
                self.sampler
                    .set_flush(bytes.ok().filter(|&bytes| bytes > 0))?;
                let measured = self.measure(mode, call, 1);
                self.sampler.set_flush(None)?;
                measured.map(Ok)
            }
            Mode::Hot => {
                let calls = self.batch(call)?;
                self.measure(mode, call, calls).map(Ok)
            }
            Mode::Graph => {
                let calls = self.batch(call)?;
                let graph = match self.capture(call, calls)? {
                    Ok(graph) => graph,
                    Err(why) => return Ok(Err(why)),
                };
                let mut replay = || graph.launch().to("replay the graph");
                let mut measured = self.measure(mode, &mut replay, 1)?;
                let each = f64::from(calls);
                measured.calls_per_sample = calls;
                measured.samples.iter_mut().for_each(|time| *time /= each);
                measured.cpu_ns /= each;
                measured.summarize();
                Ok(Ok(measured))
            }
        }
    }

    /// Calls of a sample that make it long enough.
    fn batch(&mut self, call: Call<'_>) -> Result<u32, BenchError> {
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
    fn warm_up(&mut self, call: Call<'_>, calls: u32) -> Result<f64, BenchError> {
        let (began, mut before) = (Instant::now(), f64::INFINITY);
        loop {
            let mut times = Vec::with_capacity(WARM_WINDOW);
            for _ in 0..WARM_WINDOW {
                let sample = self.sampler.sample(call, calls)?;
                if self.sampler.holds() && !sample.is_held && calls == 1 {
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

    fn measure(
        &mut self,
        mode: Mode,
        call: Call<'_>,
        calls: u32,
    ) -> Result<Measurement, BenchError> {
        let mut notes = Vec::new();
        self.warm_up(call, calls)?;
        let samples = self.samples(call, calls)?;
        if !self.sampler.holds() {
            notes.push(
                "the code waits for the GPU, or queues more than a stream takes: time of the host \
                 is in these times"
                    .to_owned(),
            );
        } else if samples.late > 0 {
            notes.push(format!("{} samples contain time of the host", samples.late));
        }
        if samples.is_throttled_throughout {
            notes.push("the device was throttled throughout".to_owned());
        }
        let mut measured = Measurement::of(mode, samples.gpu, calls);
        measured.cpu_ns = Statistics::of(&samples.cpu).map_or(0.0, |all| all.median);
        measured.stopped = samples.stopped;
        measured.throttled_samples = samples.throttled;
        measured.sm_clock_mhz = self.clocks.sm_clock_mhz();
        measured.notes = notes;
        Ok(measured)
    }

    /// Takes samples until the rule has enough.
    fn samples(&mut self, call: Call<'_>, calls: u32) -> Result<Samples, BenchError> {
        let mut stopping = Stopping::new(self.rule);
        let mut samples = Samples::default();
        let began = Instant::now();
        // Of those up to here it is known that the device was not throttled.
        let mut good = 0;
        loop {
            let sample = self.sampler.sample(call, calls)?;
            samples.late += usize::from(self.sampler.holds() && !sample.is_held);
            samples.gpu.push(sample.gpu_ns / f64::from(calls));
            samples.cpu.push(sample.cpu_ns / f64::from(calls));
            let stopped = stopping.check(&samples.gpu, began.elapsed());
            if self.clocks.is_due() || stopped.is_some() {
                if self.clocks.is_throttled() {
                    samples.throttled += samples.gpu.len() - good;
                    // Better these than none at all.
                    let is_last = stopped.is_some() || began.elapsed() >= self.rule.max_time;
                    if is_last && good == 0 {
                        samples.is_throttled_throughout = true;
                    } else {
                        samples.gpu.truncate(good);
                        samples.cpu.truncate(good);
                    }
                    if !is_last {
                        continue;
                    }
                }
                good = samples.gpu.len();
            }
            if let Some(stopped) = stopped {
                samples.stopped = stopped;
                return Ok(samples);
            }
        }
    }

    /// The calls as a graph, or why they cannot be captured.
    fn capture(
        &mut self,
        call: Call<'_>,
        calls: u32,
    ) -> Result<Result<cudarc::driver::CudaGraph, String>, BenchError> {
        let stream = self.sampler.stream();
        if let Err(error) = stream.begin_capture(CU_STREAM_CAPTURE_MODE_RELAXED) {
            return Ok(Err(format!("this stream cannot be captured: {error}")));
        }
        let called = (0..calls).try_for_each(|_| call());
        // Memory that the calls allocate and keep is freed before the next replay.
        let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let ended = stream.end_capture(flags);
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

/// Times of calls, ns.
struct Samples {
    gpu: Vec<f64>,
    cpu: Vec<f64>,
    /// Samples that contain time of the host though the stream was held.
    late: usize,
    throttled: usize,
    is_throttled_throughout: bool,
    stopped: Stopped,
}

impl Default for Samples {
    fn default() -> Self {
        Self {
            gpu: Vec::new(),
            cpu: Vec::new(),
            late: 0,
            throttled: 0,
            is_throttled_throughout: false,
            stopped: Stopped::TimeLimit,
        }
    }
}
