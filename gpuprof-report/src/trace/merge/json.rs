//! Merging of Chrome JSON: twice over each file, first for the time zeros and devices, then for the
//! events, of which one at a time is in memory.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use super::MergeError;
use super::event_fields::EventFields;
use super::numbers::{ProcessNumbers, distinct};

/// Places for the processes of each trace.
const SORT_INDEX_STEP: u64 = 1000;

const EXPECTED: &str =
    "an object with \"traceEvents\", as GPUPROF_REPORT=trace=PATH.json writes it,";

/// Merges traces in Chrome JSON, as gpuprof and PyTorch write it, into one on one time line. In the
/// order given, each keeps its process numbers unless an earlier one has them, and its arrows,
/// correlation ids and external ids become distinct.
///
/// # Errors
/// [`MergeError`], of which those that name a file leave an incomplete output behind.
pub fn merge_json(inputs: &[impl AsRef<Path>], out: &mut dyn Write) -> Result<(), MergeError> {
    let mut heads = Vec::new();
    for path in inputs {
        heads.push(read_head(path.as_ref())?);
    }
    let bases = heads.iter().map(|(base_ns, _)| *base_ns);
    let base_ns = bases.min().ok_or(MergeError::NoInput)?;
    let mut out = BufWriter::new(out);
    write_head(base_ns, &heads, &mut out).map_err(MergeError::Write)?;
    let mut events = Events {
        out: &mut out,
        processes: ProcessNumbers::default(),
        position: 0,
        shift_ns: 0,
        is_first: true,
        failed: None,
    };
    for ((position, path), (trace_base_ns, _)) in (0..).zip(inputs).zip(&heads) {
        events.position = position;
        events.shift_ns = trace_base_ns - base_ns;
        events.read(path.as_ref())?;
    }
    write!(out, "\n]}}\n").map_err(MergeError::Write)?;
    out.flush().map_err(MergeError::Write)
}

/// What is read before the events.
#[derive(Default)]
struct Head {
    base_ns: Option<u64>,
    devices: Vec<Box<RawValue>>,
    has_events: bool,
}

/// Reads a head, and that the rest is JSON.
struct HeadVisitor;

impl<'de> Visitor<'de> for HeadVisitor {
    type Value = Head;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Head, A::Error> {
        let mut head = Head::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "baseTimeNanoseconds" => head.base_ns = Some(map.next_value()?),
                "deviceProperties" => head.devices = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    head.has_events |= key == "traceEvents";
                }
            }
        }
        Ok(head)
    }
}

/// Time zero of a trace, ns since the Unix epoch, and its devices.
fn read_head(path: &Path) -> Result<(u64, Vec<Box<RawValue>>), MergeError> {
    let file = File::open(path).map_err(|error| MergeError::Read(path.to_owned(), error))?;
    let mut deserializer = serde_json::Deserializer::from_reader(BufReader::new(file));
    let head = deserializer.deserialize_map(HeadVisitor);
    let head = head.and_then(|head| deserializer.end().map(|()| head));
    let head = head.map_err(|error| reading_failed(path, error))?;
    if !head.has_events {
        let reason = "it has no \"traceEvents\"; GPUPROF_REPORT=trace=PATH.json writes one";
        return Err(MergeError::not_a_trace(path, reason));
    }
    let Some(base_ns) = head.base_ns else {
        let reason = "it has no \"baseTimeNanoseconds\", by which its times would be aligned";
        return Err(MergeError::not_a_trace(path, reason));
    };
    Ok((base_ns, head.devices))
}

fn reading_failed(path: &Path, error: serde_json::Error) -> MergeError {
    if error.is_io() {
        return MergeError::Read(path.to_owned(), error.into());
    }
    MergeError::not_a_trace(path, error.to_string())
}

fn write_head(
    base_ns: u64,
    heads: &[(u64, Vec<Box<RawValue>>)],
    out: &mut dyn Write,
) -> io::Result<()> {
    let devices = heads.iter().flat_map(|(_, devices)| devices);
    let devices: Vec<&str> = devices.map(|device| device.get()).collect();
    writeln!(out, "{{\n\"schemaVersion\": 1,")?;
    writeln!(out, "\"deviceProperties\": [\n{}],", devices.join(",\n"))?;
    writeln!(out, "\"displayTimeUnit\": \"ns\",")?;
    writeln!(out, "\"baseTimeNanoseconds\": {base_ns},")?;
    write!(out, "\"traceEvents\": [")
}

/// Reads the events of one trace after another and writes them with their new numbers.
struct Events<'a> {
    out: &'a mut dyn Write,
    processes: ProcessNumbers,
    /// Of the trace among the inputs.
    position: u64,
    /// Added to its times.
    shift_ns: u64,
    is_first: bool,
    /// Why writing failed.
    failed: Option<io::Error>,
}

impl Events<'_> {
    fn read(&mut self, path: &Path) -> Result<(), MergeError> {
        let file = File::open(path).map_err(|error| MergeError::Read(path.to_owned(), error))?;
        let mut deserializer = serde_json::Deserializer::from_reader(BufReader::new(file));
        let read = deserializer.deserialize_map(Document(&mut *self));
        match (read, self.failed.take()) {
            (_, Some(error)) => Err(MergeError::Write(error)),
            (Err(error), None) => Err(reading_failed(path, error)),
            (Ok(()), None) => Ok(()),
        }
    }

    /// Writes an event; what is wrong with its time otherwise.
    fn write(&mut self, event: &RawValue) -> Result<(), String> {
        let event = serde_json::from_str::<EventFields<'_>>(event.get());
        let mut event = event.map_err(|_| "an event is no object with named values")?;
        let position = self.position;
        let is_sort_index = event.get("name") == Some("\"process_sort_index\"");
        event.replace("pid", |pid| self.processes.number(position, pid).to_owned());
        for key in ["id", "bind_id"] {
            event.replace(key, |id| distinct_text(id, position));
        }
        if let Some(ts) = event.get("ts") {
            let shifted = shifted(ts, self.shift_ns)?;
            event.replace("ts", |_| shifted);
        }
        if let Some(args) = event.get("args").map(str::to_owned)
            && let Ok(mut args) = serde_json::from_str::<EventFields<'_>>(&args)
        {
            for key in ["correlation", "External id"] {
                args.replace(key, |id| distinct_number(id, position));
            }
            if is_sort_index {
                args.replace("sort_index", |index| match index.parse::<u64>() {
                    Ok(index) => index
                        .saturating_add(position.saturating_mul(SORT_INDEX_STEP))
                        .to_string(),
                    Err(_) => index.to_owned(),
                });
            }
            event.replace("args", |_| args.to_json());
        }
        let separator = if self.is_first { "\n" } else { ",\n" };
        self.is_first = false;
        let written = write!(self.out, "{separator}{}", event.to_json());
        written.map_err(|error| {
            let message = error.to_string();
            self.failed = Some(error);
            message
        })
    }
}

/// The number of an arrow; one that is a text or too large becomes a text.
fn distinct_text(id: &str, position: u64) -> String {
    match id.parse().ok().and_then(|id| distinct(id, position)) {
        Some(id) => id.to_string(),
        None if position == 0 => id.to_owned(),
        None => match id.strip_prefix('"') {
            Some(id) => format!("\"{position}:{id}"),
            None => format!("\"{position}:{id}\""),
        },
    }
}

/// A number that refers to other events; what is no such number stays as it is.
fn distinct_number(id: &str, position: u64) -> String {
    let distinct = id.parse().ok().and_then(|id| distinct(id, position));
    distinct.map_or_else(|| id.to_owned(), |id| id.to_string())
}

/// A time in µs, as decimal text, that is so many ns later, exactly.
fn shifted(ts: &str, shift_ns: u64) -> Result<String, String> {
    if shift_ns == 0 {
        return Ok(ts.to_owned());
    }
    let invalid = || format!("an event has the time {ts}, which is no decimal number of µs");
    let (whole, fraction) = ts.split_once('.').unwrap_or((ts, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return Err(invalid());
    }
    let (ns, rest) = match fraction.split_at_checked(3) {
        Some((ns, rest)) => (ns.parse::<u64>(), rest),
        None => (format!("{fraction:0<3}").parse::<u64>(), ""),
    };
    let us = whole.parse::<u64>().map_err(|_| invalid())?;
    let ns = us
        .checked_mul(1000)
        .and_then(|us_ns| us_ns.checked_add(ns.ok()?)?.checked_add(shift_ns))
        .ok_or_else(invalid)?;
    Ok(format!("{}.{:03}{rest}", ns / 1000, ns % 1000))
}

/// The top of a document, of which only the events are read.
struct Document<'a, 'b>(&'a mut Events<'b>);

impl<'de> Visitor<'de> for Document<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "traceEvents" {
                map.next_value_seed(EventList(&mut *self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct EventList<'a, 'b>(&'a mut Events<'b>);

impl<'de> DeserializeSeed<'de> for EventList<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for EventList<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(event) = list.next_element::<Box<RawValue>>()? {
            self.0.write(&event).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}
