//! The last events of a time line, for `assets/time_line.js`.

use std::collections::HashMap;
use std::io;

use super::counter_rows;
use super::json_text::JsonText;
use super::time_line_texts::Texts;
use crate::trace::rows::{self, Event, Sink, Slice, Track, at};
use crate::trace::{ActivityKind, Trace, labels};

/// Events on the page.
const MAX_EVENTS: usize = 5_000;
/// Rows on the page.
const MAX_ROWS: usize = 200;

/// Adds the newest events by row. A row's events are arrays: start, from the one before it or from
/// the first time that is drawn; duration; depth; kind; name; details, or null; and the bytes of a
/// copy. Names and details are positions in lists.
pub(super) fn write(trace: &Trace, json: &mut JsonText) {
    let events = ends(trace).count();
    let (newest, from_ns) = newest(trace);
    let mut placed = Placed::default();
    // It returns no error of its own.
    let _ = rows::place(&newest, &mut placed);
    placed.rows.truncate(MAX_ROWS);
    let shown: usize = placed.rows.iter().map(|row| row.slices.len()).sum();
    let mut texts = Texts::default();
    json.object(|json| {
        json.key("events").integer(events as u64);
        json.key("shown").integer(shown as u64);
        let last = ends(&newest).max().unwrap_or(from_ns);
        json.key("length_ns").integer(last.saturating_sub(from_ns));
        if let Some(text) = labels::clock_error(trace) {
            json.key("clock_error").string(&text);
        }
        json.key("rows").array(|json| {
            for row in &placed.rows {
                json.object(|json| row.write(&newest, from_ns, &mut texts, json));
            }
            counter_rows::write(&newest, (from_ns, last), &mut texts, json);
        });
        texts.write(json);
    });
}

/// The ends of all events, ns.
fn ends(trace: &Trace) -> impl Iterator<Item = u64> {
    let cpu_spans = trace.cpu_spans.iter().map(|span| span.end_ns);
    let gpu_spans = trace.gpu_spans.iter().map(|span| span.end_ns);
    let activities = trace.activities.iter().map(|activity| activity.end_ns);
    let api_calls = trace.api_calls.iter().map(|call| call.end_ns);
    let gaps = trace.gaps.iter().map(|gap| gap.end_ns);
    let gpu = gpu_spans.chain(activities);
    cpu_spans.chain(gpu).chain(api_calls).chain(gaps)
}

/// The events that ended last, and from when on they are all there, ns.
fn newest(trace: &Trace) -> (Trace, u64) {
    let mut ends: Vec<u64> = ends(trace).collect();
    ends.sort_unstable_by(|left, right| right.cmp(left));
    let cut = ends.get(MAX_EVENTS).copied();
    // Of events that end at the same time as the first one left out, some may have room.
    let later = ends.partition_point(|end| Some(*end) > cut);
    let mut room = MAX_EVENTS.saturating_sub(later);
    let mut is_new = |end_ns: u64| {
        let has_room = Some(end_ns) == cut && room > 0;
        room -= usize::from(has_room);
        Some(end_ns) > cut || has_room
    };
    let mut newest = Trace {
        devices: trace.devices.clone(),
        threads: trace.threads.clone(),
        streams: trace.streams.clone(),
        names: trace.names.clone(),
        counters: trace.counters.clone(),
        ..Trace::default()
    };
    let spans = trace.cpu_spans.iter().filter(|span| is_new(span.end_ns));
    newest.cpu_spans = spans.cloned().collect();
    let spans = trace.gpu_spans.iter().filter(|span| is_new(span.end_ns));
    newest.gpu_spans = spans.copied().collect();
    let activities = trace.activities.iter();
    newest.activities = activities
        .filter(|activity| is_new(activity.end_ns))
        .copied()
        .collect();
    let calls = trace.api_calls.iter().filter(|call| is_new(call.end_ns));
    newest.api_calls = calls.copied().collect();
    let gaps = trace.gaps.iter().filter(|gap| is_new(gap.end_ns));
    newest.gaps = gaps.copied().collect();
    let first = || {
        let cpu_spans = newest.cpu_spans.iter().map(|span| span.start_ns);
        let gpu_spans = newest.gpu_spans.iter().map(|span| span.start_ns);
        let activities = newest.activities.iter().map(|activity| activity.start_ns);
        let api_calls = newest.api_calls.iter().map(|call| call.start_ns);
        let gpu = gpu_spans.chain(activities);
        cpu_spans.chain(gpu).chain(api_calls).min().unwrap_or(0)
    };
    let from_ns = cut.unwrap_or_else(first);
    (newest, from_ns)
}

/// The rows in their order.
#[derive(Default)]
struct Placed {
    rows: Vec<Row>,
    known: HashMap<(Track, usize), usize>,
}

struct Row {
    track: Track,
    number: usize,
    open: usize,
    /// With the depth of each.
    slices: Vec<(Slice, usize)>,
}

impl Placed {
    fn row(&mut self, slice: &Slice) -> Option<&mut Row> {
        let next = self.rows.len();
        let place = *self.known.entry((slice.track, slice.row)).or_insert(next);
        if place == next {
            self.rows.push(Row {
                track: slice.track,
                number: slice.row,
                open: 0,
                slices: Vec::new(),
            });
        }
        self.rows.get_mut(place)
    }
}

impl Sink for Placed {
    fn begin(&mut self, slice: &Slice) -> io::Result<()> {
        if let Some(row) = self.row(slice) {
            row.slices.push((*slice, row.open));
            row.open += 1;
        }
        Ok(())
    }

    fn end(&mut self, slice: &Slice) -> io::Result<()> {
        if let Some(row) = self.row(slice) {
            row.open = row.open.saturating_sub(1);
        }
        Ok(())
    }
}

impl Row {
    fn write(&self, trace: &Trace, from_ns: u64, texts: &mut Texts, json: &mut JsonText) {
        let name = texts.position(&labels::row(trace, self.track, self.number));
        let group = match self.track {
            Track::Activities(stream) | Track::Spans(stream) => stream
                .and_then(|stream| at(&trace.streams, stream))
                .map_or_else(
                    || "GPU".to_owned(),
                    |stream| labels::device(trace, stream.device),
                ),
            Track::Thread(_) | Track::Missing(_) => "CPU".to_owned(),
        };
        json.key("name").integer(name as u64);
        json.key("group").integer(texts.position(&group) as u64);
        let mut before = from_ns;
        json.key("events").array(|json| {
            for (slice, depth) in &self.slices {
                json.array(|json| {
                    let start = slice.start_ns as i128 - i128::from(before);
                    json.number(start as f64);
                    json.integer(slice.end_ns.saturating_sub(slice.start_ns));
                    json.integer(*depth as u64);
                    event(slice.event, trace, texts, json);
                });
                before = slice.start_ns;
            }
        });
    }
}

/// Kind, name, details, and the bytes of a copy.
fn event(event: Event, trace: &Trace, texts: &mut Texts, json: &mut JsonText) {
    let mut bytes = None;
    let (kind, name, details) = match event {
        Event::CpuSpan(index) => {
            let span = at(&trace.cpu_spans, index);
            let name = span.map_or("", |span| labels::name(trace, span.name));
            let args = span.map_or(&[][..], |span| &span.args);
            let args = args.iter().map(|(name, value)| format!("{name} = {value}"));
            (0, texts.position(name), texts.details(args))
        }
        Event::ApiCall(index) => {
            let call = at(&trace.api_calls, index);
            let name = call.map_or("", |call| labels::name(trace, call.name));
            let line = launch_line(trace, call.and_then(|call| call.launch_line));
            (1, texts.position(name), texts.details(line))
        }
        Event::Activity(index) => {
            let activity = at(&trace.activities, index).copied().unwrap_or_default();
            let name = texts.position(&labels::activity(trace, &activity));
            let mut lines = match activity.kind {
                ActivityKind::Kernel { .. } => launch(activity.kind),
                ActivityKind::Copy { bytes: size, .. } => {
                    bytes = Some(size);
                    Vec::new()
                }
            };
            let function = activity.function.map(|index| labels::name(trace, index));
            lines.extend(function.map(|name| format!("launched by {name}")));
            lines.extend(launch_line(trace, activity.launch_line));
            (2 + u64::from(bytes.is_some()), name, texts.details(lines))
        }
        Event::GpuSpan(index) => {
            let span = at(&trace.gpu_spans, index);
            let name = span.map_or("", |span| labels::name(trace, span.name));
            (4, texts.position(name), None)
        }
        Event::Gap(index) => {
            let missing = at(&trace.gaps, index).map_or(0, |gap| gap.events);
            (5, texts.position(&labels::missing(missing)), None)
        }
    };
    json.integer(kind);
    json.integer(name as u64);
    match details {
        Some(details) => json.integer(details as u64),
        None if bytes.is_some() => json.null(),
        None => {}
    }
    if let Some(bytes) = bytes {
        json.integer(bytes);
    }
}

fn launch_line(trace: &Trace, name: Option<u32>) -> Option<String> {
    let name = labels::name(trace, name?);
    Some(format!("{} {name}", labels::LAUNCH_LINE))
}

/// How a kernel was launched.
fn launch(kind: ActivityKind) -> Vec<String> {
    let ActivityKind::Kernel {
        grid,
        block,
        registers,
        shared_bytes,
        ..
    } = kind
    else {
        return Vec::new();
    };
    let triple = |[x, y, z]: [u32; 3]| format!("{x}×{y}×{z}");
    vec![
        format!("grid {}, block {}", triple(grid), triple(block)),
        format!("{registers} registers per thread, {shared_bytes} B shared memory per block"),
    ]
}
