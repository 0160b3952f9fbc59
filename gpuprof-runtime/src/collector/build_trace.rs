//! The time line of what the recorder has kept: numbers become names, and all clocks one.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::Collector;
use super::memory_tracks::MemoryTracks;
use super::trace_clocks::{HostClock, clock_error_ns, gpu_time};
use super::trace_names::TraceNames;
use crate::clock;
use crate::cupti;
use crate::recorder::{CallEvent, RecordedEvent, Recording};
use crate::site::Site;
use crate::stats::path_ids::{CallPath, ROOT};
use gpuprof_report::trace::{
    Activity, ActivityKind, ApiCall, ClockMap, ClockPair, CounterTrack, CpuSpan, Gap, GpuSpan,
    Trace, TraceStream, TraceThread,
};

/// Clocks of GPUs and hosts drift apart by 10 to 100 ppm.
const MAX_DRIFT_PPM: u32 = 200;
impl Collector {
    /// The time line of the last recording, without what only the session knows of the process.
    /// `None` if there is none, or a lock was not free within `limit`.
    pub(crate) fn trace(&self, limit: Duration) -> Option<Trace> {
        self.build_trace(limit, |_| ())
    }

    pub(super) fn build_trace(
        &self,
        limit: Duration,
        keep: impl FnOnce(&mut Recording),
    ) -> Option<Trace> {
        // Records that wait for earlier ones belong to the time line too.
        self.cupti.live_memory(limit)?;
        let mut recorded = self.recorder.recorded(limit)?;
        keep(&mut recorded);
        let names = self.cupti.recorded_names(limit)?;
        let paths = self.paths.try_lock_for(limit)?.list().to_vec();
        let sites = self.sites.try_lock_for(limit)?.clone();
        let mut trace = Trace::default();
        trace.devices = self.gpu.devices(limit);
        let mut builder = Builder::new(&recorded, &names, &paths, &sites, &self.lines);
        builder.list(&recorded, &mut trace);
        trace.base_unix_ns = builder.base_ns;
        trace.end_ns = builder.since_base(builder.host.convert(clock::now()));
        trace.clock_error_ns = clock_error_ns(&recorded);
        for event in recorded.events {
            builder.add(&mut trace, event);
        }
        trace.gaps = builder.gaps(&recorded.lost);
        trace.counters = builder.counters();
        // Recording goes on to the end of the process, whatever has switched it on.
        if self.settings(limit).is_some_and(|settings| settings.memory) {
            let tracks = std::mem::take(&mut builder.memory).into_tracks();
            trace.counters.extend(tracks);
        }
        self.lines.end_report();
        trace.names = builder.names.into_list();
        trace.cpu_spans.sort_by_key(|span| span.start_ns);
        trace.gpu_spans.sort_by_key(|span| span.start_ns);
        trace.activities.sort_by_key(|activity| activity.start_ns);
        trace.api_calls.sort_by_key(|call| call.start_ns);
        Some(trace)
    }
}

struct Builder<'a> {
    host: HostClock,
    /// The same of the clocks of contexts, by number, of times since the zero of [`gpu_time`].
    gpu: FxHashMap<u32, ClockMap>,
    /// The same of CUPTI's clock.
    cupti: ClockMap,
    base_ns: u64,
    /// When the recorder was on, ns since the Unix epoch.
    on: Vec<(u64, u64)>,
    names: TraceNames<'a>,
    kernels: Vec<u32>,
    recorded: &'a cupti::RecordedNames,
    /// Streams of GPU spans come before those of CUPTI.
    first_queue: u32,
    memory: MemoryTracks,
    /// Events of the GPU whose time is not known.
    unplaced: u64,
}

impl<'a> Builder<'a> {
    fn new(
        recorded: &Recording,
        (symbols, names): &'a (cupti::SymbolNumbers, cupti::RecordedNames),
        paths: &'a [CallPath],
        sites: &'a [&'static Site],
        lines: &'a cupti::LineCache,
    ) -> Self {
        let host = HostClock {
            began: recorded.began,
            scale: clock::scale(),
        };
        let to_host = |from: u64, ticks: u64| ClockPair {
            from,
            to: host.convert(ticks),
        };
        let gpu = recorded
            .anchors
            .iter()
            .map(|(clock, anchors)| {
                let moment = |anchor: &crate::recorder::GpuClockAnchor| {
                    to_host(gpu_time(anchor.at_ns), anchor.ticks)
                };
                let map = ClockMap::new(anchors.iter().map(moment).collect());
                (*clock, map.with_max_drift_ppm(MAX_DRIFT_PPM))
            })
            .collect();
        let cupti = cupti::clock_moments().into_iter();
        let cupti = ClockMap::new(cupti.map(|(ns, ticks)| to_host(ns, ticks)).collect());
        let on = recorded.on.iter();
        let on: Vec<(u64, u64)> = on
            .map(|(on, off)| (host.convert(*on), host.convert(*off)))
            .collect();
        let mut all = TraceNames::new(paths, sites, lines);
        let kernels = names
            .shapes
            .iter()
            .map(|shape| all.number(cupti::full_name(symbols, shape.symbol).to_owned()))
            .collect();
        Self {
            base_ns: on.first().map_or(0, |(on, _)| *on),
            host,
            gpu,
            cupti,
            on,
            names: all,
            kernels,
            recorded: names,
            first_queue: recorded.streams.len() as u32,
            memory: MemoryTracks::default(),
            unplaced: 0,
        }
    }

    /// Lists the threads and streams.
    fn list(&self, recorded: &Recording, trace: &mut Trace) {
        trace.threads = recorded.threads.iter().map(thread).collect();
        let of_spans = (1..).zip(&recorded.streams).map(|(number, device)| {
            let mut stream = TraceStream::default();
            (stream.device, stream.stream) = (*device, number);
            stream.is_of_spans = true;
            stream
        });
        let of_cupti = self.recorded.queues.iter().map(|queue| {
            let mut stream = TraceStream::default();
            (stream.device, stream.stream) = (queue.device, queue.stream);
            stream.context = Some(queue.context);
            stream
        });
        trace.streams = of_spans.chain(of_cupti).collect();
    }

    fn add(&mut self, trace: &mut Trace, recorded: RecordedEvent) {
        match recorded.event {
            CallEvent::Cpu {
                path,
                started,
                ended,
                call,
            } => {
                let mut span = CpuSpan::default();
                span.name = self.names.path(path);
                (span.thread, span.call) = (recorded.thread.unwrap_or_default(), call);
                span.start_ns = self.since_base(self.host.convert(started));
                span.end_ns = self.since_base(self.host.convert(ended));
                let arguments = recorded.arguments.into_iter().flatten();
                span.args = arguments
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect();
                trace.cpu_spans.push(span);
            }
            CallEvent::Gpu {
                path,
                stream,
                clock,
                start_ns,
                ns,
                call,
            } => {
                let Some(map) = self.gpu.get(&clock).filter(|map| !map.is_empty()) else {
                    self.unplaced += 1;
                    return;
                };
                let start_ns = map.convert(gpu_time(start_ns));
                if !self.was_on(start_ns) {
                    return;
                }
                let mut span = GpuSpan::default();
                span.start_ns = self.since_base(start_ns);
                span.end_ns = span.start_ns.saturating_add(ns);
                span.name = self.names.path(path);
                (span.stream, span.call) = (stream, call);
                trace.gpu_spans.push(span);
            }
            CallEvent::Kernel {
                path,
                queue,
                start_ns,
                end_ns,
                correlation,
                shape,
                stack,
            } => {
                let name = self.kernels.get(shape as usize).copied();
                let shape = self.recorded.shapes.get(shape as usize);
                let (Some(name), Some(shape)) = (name, shape) else {
                    self.unplaced += 1;
                    return;
                };
                let kind = ActivityKind::kernel(
                    name,
                    shape.grid,
                    shape.block,
                    shape.registers,
                    shape.shared_bytes,
                );
                self.add_activity(
                    trace,
                    kind,
                    (path, queue, stack),
                    (start_ns, end_ns),
                    correlation,
                );
            }
            CallEvent::Copy {
                path,
                queue,
                start_ns,
                end_ns,
                correlation,
                kind,
                bytes,
                stack,
            } => {
                let kind = ActivityKind::copy(cupti::copy_kind(kind), bytes);
                self.add_activity(
                    trace,
                    kind,
                    (path, queue, stack),
                    (start_ns, end_ns),
                    correlation,
                );
            }
            CallEvent::Api {
                thread,
                start_ns,
                end_ns,
                correlation,
                is_runtime,
                cbid,
                stack,
            } => {
                let start_ns = self.cupti.convert(start_ns);
                if !self.was_on(start_ns) {
                    return;
                }
                let mut call = ApiCall::default();
                call.start_ns = self.since_base(start_ns);
                call.end_ns = self.since_base(self.cupti.convert(end_ns));
                call.name = self.names.api(is_runtime, cbid);
                (call.thread, call.correlation) = (thread, correlation);
                call.is_runtime = is_runtime;
                call.launch_line = self.names.launch_line(stack);
                trace.api_calls.push(call);
            }
            CallEvent::Memory {
                kind,
                device,
                time_ns,
                live_bytes,
            } => {
                let time_ns = self.cupti.convert(time_ns);
                if self.was_on(time_ns) {
                    let sample = (self.since_base(time_ns), live_bytes);
                    self.memory.add(kind, device, sample);
                }
            }
        }
    }

    fn add_activity(
        &mut self,
        trace: &mut Trace,
        kind: ActivityKind,
        (path, queue, stack): (u32, u32, u16),
        (start_ns, end_ns): (u64, u64),
        correlation: u32,
    ) {
        let start_ns = self.cupti.convert(start_ns);
        if !self.was_on(start_ns) {
            return;
        }
        let mut activity = Activity::default();
        activity.kind = kind;
        activity.stream = self.first_queue.saturating_add(queue);
        activity.start_ns = self.since_base(start_ns);
        activity.end_ns = self.since_base(self.cupti.convert(end_ns));
        activity.correlation = correlation;
        activity.function = (path != ROOT).then(|| self.names.path(path));
        activity.launch_line = self.names.launch_line(stack);
        trace.activities.push(activity);
    }

    fn was_on(&self, unix_ns: u64) -> bool {
        self.on
            .iter()
            .any(|(on, off)| (*on..*off).contains(&unix_ns))
    }

    fn since_base(&self, unix_ns: u64) -> u64 {
        unix_ns.saturating_sub(self.base_ns)
    }

    /// One track for each sampled metric of each device.
    fn counters(&self) -> Vec<CounterTrack> {
        let mut devices: Vec<_> = self.recorded.samples.iter().collect();
        devices.sort_by_key(|(device, _)| **device);
        let mut tracks = Vec::new();
        for (device, samples) in devices {
            let samples: Vec<_> = samples
                .iter()
                .filter(|sample| self.was_on(self.cupti.convert(sample.start)))
                .collect();
            let metrics = samples
                .first()
                .map(|sample| cupti::SampledMetric::all(sample));
            for metric in metrics.into_iter().flatten() {
                let mut track = CounterTrack::default();
                let mut samples = samples.iter().peekable();
                while let Some(sample) = samples.next() {
                    let Some(mean) = metric.mean(sample) else {
                        continue;
                    };
                    let time_ns = |time| self.since_base(self.cupti.convert(time));
                    track.samples.push((time_ns(sample.start), mean));
                    if !samples.peek().is_some_and(|next| next.follows(sample)) {
                        // Until the next sample there is no value.
                        track.samples.push((time_ns(sample.end), 0.0));
                    }
                }
                if track.samples.is_empty() {
                    continue;
                }
                track.device = Some(*device);
                track.name = metric.track_name();
                tracks.push(track);
            }
        }
        tracks
    }

    fn gaps(&self, lost: &[crate::recorder::LostEvents]) -> Vec<Gap> {
        let gap = |thread, (started, ended), events| {
            let mut gap = Gap::default();
            (gap.thread, gap.events) = (thread, events);
            gap.start_ns = self.since_base(self.host.convert(started));
            gap.end_ns = self.since_base(self.host.convert(ended));
            gap
        };
        let mut gaps: Vec<Gap> = (lost.iter())
            .map(|lost| gap(lost.thread, (lost.started, lost.ended), lost.events))
            .collect();
        if self.unplaced > 0 {
            let all = (self.host.began.from, clock::now());
            gaps.push(gap(None, all, self.unplaced));
        }
        gaps.sort_by_key(|gap| gap.thread);
        gaps
    }
}

fn thread(thread: &crate::recorder::RecordedThread) -> TraceThread {
    let mut listed = TraceThread::default();
    (listed.tid, listed.name) = (thread.tid, thread.name.clone());
    listed
}
