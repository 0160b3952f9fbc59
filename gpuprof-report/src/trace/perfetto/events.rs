//! The events, each with a begin and an end.

use std::io::{self, Write};

use super::super::arrows::{Arrows, launch_arrow, span_arrow};
use super::super::device_counters::CounterSample;
use super::super::rows::{EventIndex, Slice, SliceSink, item_at};
use super::super::{Activity, ActivityKind, Trace, labels};
use super::interned::Interned;
use super::messages::{DebugAnnotation, TrackEvent};
use super::packets::Packets;
use super::tracks::Tracks;

const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
const COUNTER: i32 = 4;

/// Writes events.
pub(super) struct PerfettoEvents<'a> {
    trace: &'a Trace,
    packets: Packets<'a>,
    tracks: Tracks<'a>,
    interned: Interned,
    spans: Arrows,
    launches: Arrows,
}

impl<'a> PerfettoEvents<'a> {
    pub(super) fn new(trace: &'a Trace, out: &'a mut dyn Write) -> Self {
        Self {
            trace,
            packets: Packets::new(trace.base_unix_ns, out),
            tracks: Tracks::new(trace),
            interned: Interned::default(),
            spans: Arrows::of_spans(trace),
            launches: Arrows::of_launches(trace),
        }
    }

    /// The process, and a slice over the time of the recording that says what was recorded.
    pub(super) fn process(&mut self) -> io::Result<()> {
        self.packets.clocks()?;
        self.tracks.process();
        let trace = self.trace;
        let number = |value: Option<u32>| value.map(u64::from);
        let numbers = [
            ("pid", number(Some(trace.pid))),
            ("rank", number(trace.rank)),
            ("ranks", number(trace.ranks)),
            ("base_unix_ns", Some(trace.base_unix_ns)),
            ("clock_error_ns", trace.clock_error_ns),
        ];
        let mut annotations = vec![
            self.text("program", &trace.program),
            self.text("host", &trace.host),
        ];
        for (name, value) in numbers {
            annotations.extend(value.map(|value| self.number(name, value)));
        }
        let track = self.tracks.recording();
        let event = TrackEvent {
            debug_annotations: annotations,
            ..self.named("recording", "gpuprof")
        };
        self.event(0, track, SLICE_BEGIN, event)?;
        self.event(trace.end_ns, track, SLICE_END, TrackEvent::default())
    }

    fn event(&mut self, time_ns: u64, track: u64, kind: i32, event: TrackEvent) -> io::Result<()> {
        for track in self.tracks.take_new() {
            self.packets.track(track)?;
        }
        let event = TrackEvent {
            r#type: Some(kind),
            track_uuid: Some(track),
            ..event
        };
        self.packets.event(time_ns, event, &mut self.interned)
    }

    fn named(&mut self, name: &str, category: &'static str) -> TrackEvent {
        TrackEvent {
            name_iid: Some(self.interned.event(name)),
            category_iids: vec![self.interned.category(category)],
            ..TrackEvent::default()
        }
    }

    fn number(&mut self, name: &str, value: u64) -> DebugAnnotation {
        DebugAnnotation {
            name_iid: Some(self.interned.annotation(name)),
            uint_value: Some(value),
            ..DebugAnnotation::default()
        }
    }

    fn text(&mut self, name: &str, value: &str) -> DebugAnnotation {
        DebugAnnotation {
            name_iid: Some(self.interned.annotation(name)),
            string_value: Some(value.to_owned()),
            ..DebugAnnotation::default()
        }
    }

    fn triple(&mut self, name: &str, values: [u32; 3]) -> DebugAnnotation {
        let value = |value: u32| DebugAnnotation {
            uint_value: Some(value.into()),
            ..DebugAnnotation::default()
        };
        DebugAnnotation {
            name_iid: Some(self.interned.annotation(name)),
            array_values: values.map(value).into(),
            ..DebugAnnotation::default()
        }
    }

    fn cpu_span(&mut self, index: u32) -> Option<TrackEvent> {
        let span = item_at(&self.trace.cpu_spans, index)?;
        let mut event = self.named(labels::name(self.trace, span.name), "user_annotation");
        event.flow_ids = self.spans.ends_of(index).map(span_arrow).collect();
        if !span.args.is_empty() {
            let arguments = span.args.iter();
            event.debug_annotations = vec![DebugAnnotation {
                name_iid: Some(self.interned.annotation("arguments")),
                dict_entries: arguments
                    .map(|(name, value)| self.text(name, value))
                    .collect(),
                ..DebugAnnotation::default()
            }];
        }
        Some(event)
    }

    fn api_call(&mut self, index: u32) -> Option<TrackEvent> {
        let call = item_at(&self.trace.api_calls, index)?;
        let name = labels::name(self.trace, call.name);
        let mut event = self.named(name, labels::call_category(call));
        event.flow_ids = self.launches.ends_of(index).map(launch_arrow).collect();
        event.debug_annotations = vec![self.number("correlation", call.correlation.into())];
        let line = call.launch_line.map(|line| labels::name(self.trace, line));
        let line = line.map(|line| self.text(labels::LAUNCH_LINE, line));
        event.debug_annotations.extend(line);
        Some(event)
    }

    fn activity(&mut self, index: u32) -> Option<TrackEvent> {
        let trace = self.trace;
        let activity = item_at(&trace.activities, index)?;
        let name = labels::activity(trace, activity);
        let mut event = self.named(&name, labels::category(activity));
        if self.launches.start_of(index).is_some() {
            event.flow_ids = vec![launch_arrow(index)];
        }
        event.debug_annotations = self.activity_annotations(activity);
        Some(event)
    }

    fn activity_annotations(&mut self, activity: &Activity) -> Vec<DebugAnnotation> {
        let trace = self.trace;
        let mut annotations = Vec::new();
        if let Some(stream) = item_at(&trace.streams, activity.stream) {
            annotations.push(self.number("device", stream.device.into()));
            let context = stream.context.map(u64::from);
            annotations.extend(context.map(|context| self.number("context", context)));
            annotations.push(self.number("stream", stream.stream.into()));
        }
        annotations.push(self.number("correlation", activity.correlation.into()));
        match activity.kind {
            ActivityKind::Kernel {
                grid,
                block,
                registers,
                shared_bytes,
                ..
            } => annotations.extend([
                self.number("registers per thread", registers.into()),
                self.number("shared memory", shared_bytes.into()),
                self.triple("grid", grid),
                self.triple("block", block),
            ]),
            ActivityKind::Copy { bytes, .. } => annotations.push(self.number("bytes", bytes)),
        }
        let function = activity.function.map(|index| labels::name(trace, index));
        annotations.extend(function.map(|name| self.text("function", name)));
        let line = activity.launch_line.map(|line| labels::name(trace, line));
        annotations.extend(line.map(|line| self.text(labels::LAUNCH_LINE, line)));
        annotations
    }

    fn gpu_span(&mut self, index: u32) -> Option<TrackEvent> {
        let span = item_at(&self.trace.gpu_spans, index)?;
        let mut event = self.named(labels::name(self.trace, span.name), "gpu_user_annotation");
        if self.spans.start_of(index).is_some() {
            event.flow_ids = vec![span_arrow(index)];
        }
        Some(event)
    }

    fn gap(&mut self, index: u32) -> Option<TrackEvent> {
        let gap = item_at(&self.trace.gaps, index)?;
        let mut event = self.named(&labels::missing(gap.events), "gpuprof");
        event.debug_annotations = vec![self.number("events", gap.events)];
        Some(event)
    }

    /// A value of a counter that follows from the events.
    pub(super) fn device_counter(&mut self, sample: CounterSample) -> io::Result<()> {
        let track = self.tracks.counter(Some(sample.device), sample.name);
        let event = TrackEvent {
            counter_value: Some(sample.value.into()),
            ..TrackEvent::default()
        };
        self.event(sample.time_ns, track, COUNTER, event)
    }

    /// The values that collectors sampled, as far as they are finite.
    pub(super) fn counters(&mut self) -> io::Result<()> {
        for counter in &self.trace.counters {
            let track = self.tracks.counter(counter.device, &counter.name);
            let samples = counter.samples.iter();
            for &(time_ns, value) in samples.filter(|(_, value)| value.is_finite()) {
                let event = TrackEvent {
                    double_counter_value: Some(value),
                    ..TrackEvent::default()
                };
                self.event(time_ns, track, COUNTER, event)?;
            }
        }
        Ok(())
    }
}

impl SliceSink for PerfettoEvents<'_> {
    fn begin(&mut self, slice: &Slice) -> io::Result<()> {
        let event = match slice.event {
            EventIndex::CpuSpan(index) => self.cpu_span(index),
            EventIndex::ApiCall(index) => self.api_call(index),
            EventIndex::Activity(index) => self.activity(index),
            EventIndex::GpuSpan(index) => self.gpu_span(index),
            EventIndex::Gap(index) => self.gap(index),
        };
        let track = self.tracks.row(slice.track, slice.row);
        self.event(
            slice.start_ns,
            track,
            SLICE_BEGIN,
            event.unwrap_or_default(),
        )
    }

    fn end(&mut self, slice: &Slice) -> io::Result<()> {
        let track = self.tracks.row(slice.track, slice.row);
        self.event(slice.end_ns, track, SLICE_END, TrackEvent::default())
    }
}
