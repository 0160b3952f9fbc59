//! Names as both formats show them.

use std::borrow::Cow;

use super::rows::{Track, item_at};
use super::{Activity, ActivityKind, ApiCall, Trace};
use crate::profile::CopyKind;

/// The argument of a kernel, copy or CUDA call that says where it was launched.
pub(crate) const LAUNCH_LINE: &str = "launched from";

const UNKNOWN: &str = "(unknown)";

/// The name with this index.
pub(crate) fn name(trace: &Trace, index: u32) -> &str {
    item_at(&trace.names, index).map_or(UNKNOWN, String::as_str)
}

/// `program (rank 3 on node7)`.
pub(crate) fn process(trace: &Trace) -> String {
    format!("{}{}", trace.program, origin(trace))
}

/// `GPU 0 · NVIDIA H200`.
pub(crate) fn device(trace: &Trace, ordinal: u32) -> String {
    match trace
        .devices
        .iter()
        .find(|device| device.ordinal == ordinal)
    {
        Some(device) => format!("GPU {ordinal} · {}", device.shown_name()),
        None => format!("GPU {ordinal}"),
    }
}

/// ` (rank 3 on node7)`, with as much of it as is known.
pub(crate) fn origin(trace: &Trace) -> String {
    match (trace.rank, trace.host.as_str()) {
        (None, "") => String::new(),
        (None, host) => format!(" (on {host})"),
        (Some(rank), "") => format!(" (rank {rank})"),
        (Some(rank), host) => format!(" (rank {rank} on {host})"),
    }
}

/// What a row is named: `stream 7 · spans`, or `stream 7 · spans 2` for the second of these.
pub(crate) fn row(trace: &Trace, track: Track, row: usize) -> String {
    let number = row + 1;
    let name = match track {
        Track::Thread(index) => thread(trace, index),
        Track::Activities(index) => stream(trace, index),
        Track::Spans(index) => format!("{} · spans", stream(trace, index)),
        Track::Missing(None) => "events missing · GPU".to_owned(),
        Track::Missing(index) => format!("events missing · {}", thread(trace, index)),
    };
    match track {
        _ if row == 0 => name,
        Track::Spans(_) => format!("{name} {number}"),
        _ => format!("{name} · overlapping {number}"),
    }
}

/// `worker (4711)`: threads of a pool share a name.
fn thread(trace: &Trace, index: Option<u32>) -> String {
    match index.and_then(|index| item_at(&trace.threads, index)) {
        Some(thread) if !thread.name.is_empty() => format!("{} ({})", thread.name, thread.tid),
        _ => thread_name(trace, index),
    }
}

/// The same for a row that has the number besides: `worker`.
pub(crate) fn thread_name(trace: &Trace, index: Option<u32>) -> String {
    let Some(thread) = index.and_then(|index| item_at(&trace.threads, index)) else {
        return "thread (unknown)".to_owned();
    };
    match thread.name.as_str() {
        "" => format!("thread {}", thread.tid),
        name => name.to_owned(),
    }
}

fn stream(trace: &Trace, index: Option<u32>) -> String {
    match index.and_then(|index| item_at(&trace.streams, index)) {
        Some(stream) => format!("stream {}", stream.stream),
        None => "stream (unknown)".to_owned(),
    }
}

/// The name of a kernel, or `Memcpy HtoD`, `Memset (Device)`, by which other tools know these.
pub(crate) fn activity<'a>(trace: &'a Trace, activity: &Activity) -> Cow<'a, str> {
    match activity.kind {
        ActivityKind::Kernel { name: index, .. } => Cow::Borrowed(name(trace, index)),
        ActivityKind::Copy {
            kind: CopyKind::Memset,
            ..
        } => Cow::Borrowed("Memset (Device)"),
        ActivityKind::Copy { kind, .. } => Cow::Owned(format!("Memcpy {kind}")),
    }
}

/// The category by which other tools know kernels, copies and memsets.
pub(crate) fn category(activity: &Activity) -> &'static str {
    match activity.kind {
        ActivityKind::Kernel { .. } => "kernel",
        ActivityKind::Copy {
            kind: CopyKind::Memset,
            ..
        } => "gpu_memset",
        ActivityKind::Copy { .. } => "gpu_memcpy",
    }
}

/// That of CUDA calls.
pub(crate) fn call_category(call: &ApiCall) -> &'static str {
    if call.is_runtime {
        "cuda_runtime"
    } else {
        "cuda_driver"
    }
}

/// `12 events missing`.
pub(crate) fn missing(events: u64) -> String {
    match events {
        1 => "1 event missing".to_owned(),
        _ => format!("{events} events missing"),
    }
}

/// How far the GPU's times may be from those of the CPU; `None` without GPU times.
pub(crate) fn clock_error(trace: &Trace) -> Option<String> {
    let error_ns = trace.clock_error_ns?;
    let us = format!("{}.{:03}", error_ns / 1000, error_ns % 1000);
    Some(format!("GPU times are within {us} µs of CPU times"))
}
