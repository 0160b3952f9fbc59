//! Puts CUDA calls and what they launched on the time line.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::activity_path::Cause;
use super::limits::MAX_RECORDED_SAMPLES;
use super::live_memory::MemoryChange;
use crate::cupti::collect::pm_sampling::metrics::PmSample;
use crate::cupti::collect::record::{ActivityRecord, ApiEvent, MemorySpace};
use crate::cupti::collect::stack_table::StackId;
use crate::recorder::{CallEvent, ChunkWriter, Recorder};

/// Kernels with their launch shapes that are told apart; of others the shape is omitted.
const MAX_SHAPES: usize = 1 << 16;

/// A kernel and how it was launched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct KernelShape {
    /// Number of the symbol; `None` for those that do not fit.
    pub(crate) symbol: Option<u32>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) registers: u32,
    pub(crate) shared_bytes: u32,
}

/// A stream by CUPTI's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct CuptiStream {
    pub(crate) device: u32,
    pub(crate) context: u32,
    pub(crate) stream: u32,
}

/// What the numbers in recorded events stand for, and what is recorded beside them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedNames {
    pub(crate) shapes: Vec<KernelShape>,
    pub(crate) queues: Vec<CuptiStream>,
    /// Samples of the hardware counters, by device, in order of time.
    pub(crate) samples: FxHashMap<u32, Vec<PmSample>>,
}

/// The attribution's part of the recorder.
#[derive(Debug, Default)]
pub(super) struct ActivityRecorder {
    /// `None` in tests of the attribution.
    recorder: Option<Arc<Recorder>>,
    writer: ChunkWriter,
    shapes: FxHashMap<KernelShape, u32>,
    queues: FxHashMap<CuptiStream, u32>,
    names: RecordedNames,
}

impl ActivityRecorder {
    pub(super) fn new(recorder: Arc<Recorder>) -> Self {
        Self {
            recorder: Some(recorder),
            ..Self::default()
        }
    }

    pub(super) fn names(&self) -> &RecordedNames {
        &self.names
    }

    pub(super) fn add_call(&mut self, event: &ApiEvent) {
        let ApiEvent {
            api, thread, stack, ..
        } = event;
        let Some(recorder) = self.recorder.as_ref().filter(|all| all.takes_gpu_events()) else {
            return;
        };
        let event = CallEvent::Api {
            thread: (*thread > 0).then(|| recorder.thread_of((*thread).into())),
            start_ns: api.start,
            end_ns: api.end,
            correlation: api.correlation,
            is_runtime: api.function.is_runtime,
            cbid: api.function.cbid,
            stack: StackId::to_number(*stack),
        };
        self.writer.push(recorder, &event);
    }

    pub(super) fn add_sample(&mut self, device: u32, sample: PmSample) {
        let recorder = self.recorder.as_ref();
        if recorder.is_some_and(|recorder| recorder.takes_gpu_events()) {
            let samples = self.names.samples.entry(device).or_default();
            samples.push(sample);
            if samples.len() > MAX_RECORDED_SAMPLES {
                *samples = halved(samples);
            }
        }
    }

    /// What is live in a space from `time` on.
    pub(super) fn add_memory(&mut self, time_ns: u64, change: &MemoryChange) {
        let Some(recorder) = self.recorder.as_ref().filter(|all| all.takes_gpu_events()) else {
            return;
        };
        let MemorySpace { kind, device } = change.space;
        let event = CallEvent::Memory {
            kind: kind as u32,
            device,
            time_ns,
            live_bytes: change.live_bytes,
        };
        self.writer.push(recorder, &event);
    }

    /// `symbol`: the number of the kernel's symbol.
    pub(super) fn add_activity(
        &mut self,
        activity: &ActivityRecord,
        cause: &Cause,
        symbol: Option<u32>,
    ) {
        let Some(recorder) = self.recorder.as_ref().filter(|all| all.takes_gpu_events()) else {
            return;
        };
        let span = activity.span();
        let path = cause.path.calls_path();
        let queue = CuptiStream {
            device: span.device,
            context: span.context,
            stream: span.stream,
        };
        let stack = StackId::to_number(cause.stack);
        let queue = number(&mut self.queues, &mut self.names.queues, queue);
        let (start_ns, end_ns, correlation) = (span.start, span.end, span.correlation);
        let event = match activity {
            ActivityRecord::Kernel(kernel) => {
                let launch = kernel.shape;
                let shared_bytes = launch.static_shared_bytes;
                let mut shape = KernelShape {
                    symbol,
                    grid: launch.grid,
                    block: launch.block,
                    registers: launch.registers,
                    shared_bytes: shared_bytes.saturating_add(launch.dynamic_shared_bytes),
                };
                if self.shapes.len() >= MAX_SHAPES && !self.shapes.contains_key(&shape) {
                    shape = KernelShape {
                        symbol,
                        ..KernelShape::default()
                    };
                }
                CallEvent::Kernel {
                    path,
                    queue,
                    start_ns,
                    end_ns,
                    correlation,
                    shape: number(&mut self.shapes, &mut self.names.shapes, shape),
                    stack,
                }
            }
            ActivityRecord::Copy(copy) => CallEvent::Copy {
                path,
                queue,
                start_ns,
                end_ns,
                correlation,
                kind: copy.kind as u32,
                bytes: copy.bytes,
                stack,
            },
        };
        self.writer.push(recorder, &event);
    }
}

/// Each two neighbours as one, unless there is a gap between them.
fn halved(samples: &[PmSample]) -> Vec<PmSample> {
    let runs = samples.chunk_by(|before, sample| sample.follows(before));
    let halved: Vec<PmSample> = runs
        .flat_map(|run| run.chunks(2))
        .map(PmSample::sum)
        .collect();
    if halved.len() <= MAX_RECORDED_SAMPLES / 4 * 3 {
        halved
    } else {
        // Almost nothing but gaps.
        samples.chunks(2).map(PmSample::sum).collect()
    }
}

/// The number of something, which is new if it has none.
fn number<T: Copy + Eq + std::hash::Hash>(
    numbers: &mut FxHashMap<T, u32>,
    all: &mut Vec<T>,
    one: T,
) -> u32 {
    if let Some(&number) = numbers.get(&one) {
        return number;
    }
    // Of too many, the last one stands for the others.
    if all.len() < MAX_SHAPES {
        numbers.insert(one, all.len() as u32);
        all.push(one);
    }
    (all.len() - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::{MAX_RECORDED_SAMPLES, PmSample, halved};
    use crate::cupti::collect::pm_sampling::metrics::{METRICS, MetricSet};

    fn sample(start: u64, end: u64) -> PmSample {
        PmSample {
            start,
            end,
            set: MetricSet::First,
            integrals: [1.0; METRICS],
            listed: &[],
        }
    }

    #[test]
    fn neighbours_become_one_but_not_over_a_gap() {
        let samples = [(0, 10), (10, 20), (20, 30), (90, 100), (100, 110)]
            .map(|(start, end)| sample(start, end));
        let halved = halved(&samples);
        let times: Vec<_> = halved.iter().map(|of| (of.start, of.end)).collect();
        assert_eq!(times, [(0, 20), (20, 30), (90, 110)]);
        assert_eq!(halved[0].integrals[0], 2.0);
    }

    #[test]
    fn there_are_fewer_afterwards_in_any_case() {
        let gaps = (0..=MAX_RECORDED_SAMPLES as u64).map(|at| sample(100 * at, 100 * at + 10));
        let halved = halved(&gaps.collect::<Vec<_>>());
        assert_eq!(halved.len(), MAX_RECORDED_SAMPLES / 2 + 1);
    }
}
