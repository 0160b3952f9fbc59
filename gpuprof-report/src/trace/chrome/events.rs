//! The events, each an object on a line of its own.

use std::io::{self, Write};

use super::super::arrows::{Arrows, launch_arrow, span_arrow};
use super::super::device_counters::CounterSample;
use super::super::rows::{EventIndex, Slice, SliceSink, Track, item_at};
use super::super::{Activity, ActivityKind, ApiCall, CpuSpan, Gap, GpuSpan, Trace, labels};
use super::Text;
use super::row_numbers::{RowNumber, RowNumbers};

/// Writes events, each after a comma and a line break.
pub(super) struct ChromeEvents<'a> {
    trace: &'a Trace,
    out: &'a mut dyn Write,
    text: Text,
    numbers: RowNumbers<'a>,
    spans: Arrows,
    launches: Arrows,
    /// For each CUDA call the CPU span (index) that it was made in.
    callers: Vec<Option<u32>>,
    /// The rows so far.
    rows: u64,
}

impl<'a> ChromeEvents<'a> {
    pub(super) fn new(trace: &'a Trace, out: &'a mut dyn Write) -> Self {
        Self {
            trace,
            out,
            text: Text::default(),
            numbers: RowNumbers::new(trace),
            spans: Arrows::of_spans(trace),
            launches: Arrows::of_launches(trace),
            callers: vec![None; trace.api_calls.len()],
            rows: 0,
        }
    }

    fn write(&mut self) -> io::Result<()> {
        write!(self.out, ",\n{}", self.text.as_str())
    }

    /// The name, label and place of the process and of each device.
    pub(super) fn processes(&mut self) -> io::Result<()> {
        let pid = u64::from(self.trace.pid);
        self.metadata(pid, None, "process_sort_index", |args| {
            args.literal("sort_index", 0);
        })?;
        if let Some(label) = labels::clock_error(self.trace) {
            self.metadata(pid, None, "process_labels", |args| {
                args.string("labels", &label);
            })?;
        }
        let devices = self.numbers.devices();
        for (order, ordinal) in (1..).zip(devices) {
            let name = labels::device(self.trace, ordinal) + &labels::origin(self.trace);
            let pid = self.numbers.device(ordinal);
            self.metadata(pid, None, "process_name", |args| {
                args.string("name", &name);
            })?;
            self.metadata(pid, None, "process_labels", |args| {
                args.string("labels", &format!("GPU {ordinal}"));
            })?;
            self.metadata(pid, None, "process_sort_index", |args| {
                args.literal("sort_index", order);
            })?;
        }
        Ok(())
    }

    /// A fact about a process, or about one of its rows.
    fn metadata(
        &mut self,
        pid: u64,
        tid: Option<u64>,
        what: &str,
        args: impl Fn(&mut Text),
    ) -> io::Result<()> {
        let text = self.text.begin().string("ph", "M").string("name", what);
        text.literal("pid", pid).optional("tid", tid);
        args(text.object("args"));
        text.close().close();
        self.write()
    }

    /// The numbers of a slice's row, whose name is written before its first event.
    fn row(&mut self, slice: &Slice) -> io::Result<RowNumber> {
        let (number, is_new) = self.numbers.number(slice.track, slice.row);
        if is_new {
            let name = match (slice.track, slice.row) {
                (Track::Thread(index), 0) => labels::thread_name(self.trace, index),
                (track, row) => labels::row(self.trace, track, row),
            };
            let (pid, tid) = (number.pid, Some(number.tid));
            self.metadata(pid, tid, "thread_name", |args| {
                args.string("name", &name);
            })?;
            let order = self.rows;
            self.rows += 1;
            self.metadata(pid, tid, "thread_sort_index", |args| {
                args.literal("sort_index", order);
            })?;
        }
        Ok(number)
    }

    /// Begins a complete event up to its arguments.
    fn complete(
        &mut self,
        slice: &Slice,
        number: RowNumber,
        category: &str,
        name: &str,
    ) -> &mut Text {
        self.text
            .begin()
            .string("ph", "X")
            .string("cat", category)
            .string("name", name)
            .literal("pid", number.pid)
            .literal("tid", number.tid)
            .thousandths("ts", slice.start_ns)
            .thousandths("dur", slice.end_ns - slice.start_ns)
            .object("args")
    }

    /// Writes the event that [`Self::complete`] began.
    fn finish(&mut self) -> io::Result<()> {
        self.text.close().close();
        self.write()
    }

    fn cpu_span(&mut self, slice: &Slice, index: u32, span: &CpuSpan) -> io::Result<()> {
        let number = self.row(slice)?;
        let name = labels::name(self.trace, span.name);
        let text = self.complete(slice, number, "user_annotation", name);
        text.literal("External id", external_id(index));
        if !span.args.is_empty() {
            text.object("arguments");
            for (name, value) in &span.args {
                text.string(name, value);
            }
            text.close();
        }
        self.finish()?;
        let arrows: Vec<u32> = self.spans.ends_of(index).collect();
        let mut arrows = arrows.into_iter();
        arrows.try_for_each(|end| self.arrow("s", span_arrow(end), number, slice))
    }

    fn api_call(&mut self, slice: &Slice, index: u32, call: &ApiCall) -> io::Result<()> {
        let number = self.row(slice)?;
        let position = usize::try_from(index).ok();
        if let Some(caller) = position.and_then(|position| self.callers.get_mut(position)) {
            *caller = slice.enclosing;
        }
        let name = labels::name(self.trace, call.name);
        self.complete(slice, number, labels::call_category(call), name)
            .optional("External id", slice.enclosing.map(external_id))
            .optional("correlation", correlation_id(call.correlation));
        if let Some(line) = call.launch_line {
            let line = labels::name(self.trace, line);
            self.text.string(labels::LAUNCH_LINE, line);
        }
        self.finish()?;
        let arrows: Vec<u32> = self.launches.ends_of(index).collect();
        let mut arrows = arrows.into_iter();
        arrows.try_for_each(|end| self.arrow("s", launch_arrow(end), number, slice))
    }

    fn activity(&mut self, slice: &Slice, index: u32, activity: &Activity) -> io::Result<()> {
        let number = self.row(slice)?;
        let trace = self.trace;
        let launch = self.launches.start_of(index);
        let caller = launch.and_then(|call| item_at(&self.callers, call).copied().flatten());
        let stream = item_at(&trace.streams, activity.stream);
        let (category, name) = (
            labels::category(activity),
            labels::activity(trace, activity),
        );
        let text = self.complete(slice, number, category, &name);
        text.optional("External id", caller.map(external_id))
            .optional("device", stream.map(|stream| stream.device))
            .optional("context", stream.and_then(|stream| stream.context))
            .optional("stream", stream.map(|stream| stream.stream))
            .optional("correlation", correlation_id(activity.correlation));
        kind_args(text, activity.kind, slice.end_ns - slice.start_ns);
        if let Some(function) = activity.function {
            text.string("function", labels::name(trace, function));
        }
        if let Some(line) = activity.launch_line {
            text.string(labels::LAUNCH_LINE, labels::name(trace, line));
        }
        self.finish()?;
        match launch {
            Some(_) => self.arrow("f", launch_arrow(index), number, slice),
            None => Ok(()),
        }
    }

    fn gpu_span(&mut self, slice: &Slice, index: u32, span: &GpuSpan) -> io::Result<()> {
        let number = self.row(slice)?;
        let caller = self.spans.start_of(index);
        let name = labels::name(self.trace, span.name);
        self.complete(slice, number, "gpu_user_annotation", name)
            .optional("External id", caller.map(external_id));
        self.finish()?;
        match caller {
            Some(_) => self.arrow("f", span_arrow(index), number, slice),
            None => Ok(()),
        }
    }

    /// One end of an arrow: `s` where it begins, `f` where it ends, at the start of a slice.
    fn arrow(&mut self, end: &str, id: u64, number: RowNumber, slice: &Slice) -> io::Result<()> {
        let text = self.text.begin().string("ph", end).literal("id", id);
        text.literal("pid", number.pid)
            .literal("tid", number.tid)
            .thousandths("ts", slice.start_ns)
            .string("cat", "ac2g")
            .string("name", "ac2g");
        if end == "f" {
            text.string("bp", "e");
        }
        text.close();
        self.write()
    }

    fn gap(&mut self, slice: &Slice, index: u32, gap: &Gap) -> io::Result<()> {
        let row = labels::row(self.trace, slice.track, 0);
        let name = format!("{row}: {}", labels::missing(gap.events));
        for (phase, time_ns) in [("b", slice.start_ns), ("e", slice.end_ns)] {
            self.text
                .begin()
                .string("ph", phase)
                .string("cat", "gpuprof")
                .string("name", &name)
                .literal("pid", self.trace.pid)
                .thousandths("ts", time_ns)
                // A number of the process, under which the gap is shown.
                .object("id2")
                .string("local", &format!("{:#x}", u64::from(index) + 1))
                .close()
                .object("args")
                .literal("events", gap.events)
                .close()
                .close();
            self.write()?;
        }
        Ok(())
    }

    /// A value of a counter that follows from the events.
    pub(super) fn device_counter(&mut self, sample: CounterSample) -> io::Result<()> {
        let pid = self.numbers.device(sample.device);
        self.counter(pid, sample.name, sample.time_ns, f64::from(sample.value))
    }

    /// The values that collectors sampled; JSON has only finite ones.
    pub(super) fn counters(&mut self) -> io::Result<()> {
        for counter in &self.trace.counters {
            let pid = match counter.device {
                Some(ordinal) => self.numbers.device(ordinal),
                None => self.trace.pid.into(),
            };
            let samples = counter.samples.iter();
            for &(time_ns, value) in samples.filter(|(_, value)| value.is_finite()) {
                self.counter(pid, &counter.name, time_ns, value)?;
            }
        }
        Ok(())
    }

    fn counter(&mut self, pid: u64, name: &str, time_ns: u64, value: f64) -> io::Result<()> {
        // Viewers show the name and that of the value as one: `GPU` and `busy`.
        let (name, series) = name.rsplit_once(' ').unwrap_or((name, "value"));
        self.text
            .begin()
            .string("ph", "C")
            .string("name", name)
            .literal("pid", pid)
            .thousandths("ts", time_ns)
            .object("args")
            .literal(series, format_args!("{value:?}"))
            .close()
            .close();
        self.write()
    }
}

impl SliceSink for ChromeEvents<'_> {
    fn begin(&mut self, slice: &Slice) -> io::Result<()> {
        let trace = self.trace;
        let written = match slice.event {
            EventIndex::CpuSpan(index) => {
                item_at(&trace.cpu_spans, index).map(|span| self.cpu_span(slice, index, span))
            }
            EventIndex::ApiCall(index) => {
                item_at(&trace.api_calls, index).map(|call| self.api_call(slice, index, call))
            }
            EventIndex::Activity(index) => item_at(&trace.activities, index)
                .map(|activity| self.activity(slice, index, activity)),
            EventIndex::GpuSpan(index) => {
                item_at(&trace.gpu_spans, index).map(|span| self.gpu_span(slice, index, span))
            }
            EventIndex::Gap(index) => {
                item_at(&trace.gaps, index).map(|gap| self.gap(slice, index, gap))
            }
        };
        written.unwrap_or(Ok(()))
    }

    fn end(&mut self, _: &Slice) -> io::Result<()> {
        Ok(())
    }
}

/// The arguments of a kernel or copy.
fn kind_args(text: &mut Text, kind: ActivityKind, duration_ns: u64) {
    match kind {
        ActivityKind::Kernel {
            grid,
            block,
            registers,
            shared_bytes,
            ..
        } => text
            .literal("registers per thread", registers)
            .literal("shared memory", shared_bytes)
            .triple("grid", grid)
            .triple("block", block),
        ActivityKind::Copy { bytes, .. } => {
            // Bytes per ns are GB/s.
            let rate = bytes.saturating_mul(1000).checked_div(duration_ns);
            text.literal("bytes", bytes);
            match rate {
                Some(rate) => text.thousandths("memory bandwidth (GB/s)", rate),
                None => text,
            }
        }
    };
}

/// The number of a CPU span by which other events refer to it.
fn external_id(cpu_span: u32) -> u64 {
    u64::from(cpu_span) + 1
}

/// `None`: it has none. HTA stores them in the smallest type of integer that fits, and later
/// writes numbers of events into a column of that type, which overflow 16 bits.
fn correlation_id(correlation: u32) -> Option<u64> {
    (correlation != 0).then(|| u64::from(correlation) + (1 << 15))
}
