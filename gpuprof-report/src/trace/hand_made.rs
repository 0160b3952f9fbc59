//! Traces for tests, of which each number is chosen.

use super::{Activity, ActivityKind, ApiCall, CpuSpan, GpuSpan, Trace, TraceStream, TraceThread};
use crate::profile::Device;

/// Name of a function that tries to end the text around it.
pub(super) const HOSTILE: &str = "a\"},\n</script>\u{1b}[31m\u{202e}größe";

/// One call of `train` on thread 101 that launches one kernel on stream 7 of device 0.
pub(super) fn one_kernel() -> Trace {
    Trace {
        program: "digits".to_owned(),
        pid: 100,
        base_unix_ns: 1_700_000_000_000_000_000,
        end_ns: 20_000,
        devices: vec![Device {
            name: "NVIDIA H200".to_owned(),
            ..Device::default()
        }],
        threads: vec![thread(101, "main")],
        streams: vec![stream(0, 7, false), stream(0, 7, true)],
        names: ["train", "cuLaunchKernel", "matmul"]
            .map(str::to_owned)
            .into(),
        cpu_spans: vec![cpu_span(0, 0, 1000, 9000, 5)],
        gpu_spans: vec![gpu_span(1, 0, 2500, 6000, 5)],
        activities: vec![kernel(0, 2, 3001, 5000, 77)],
        api_calls: vec![api_call(Some(0), 1, 1500, 2500, 77)],
        ..Trace::default()
    }
}

pub(super) fn thread(tid: u64, name: &str) -> TraceThread {
    TraceThread {
        tid,
        name: name.to_owned(),
    }
}

pub(super) fn stream(device: u32, stream: u32, is_of_spans: bool) -> TraceStream {
    TraceStream {
        device,
        context: Some(1).filter(|_| !is_of_spans),
        stream,
        is_of_spans,
    }
}

pub(super) fn cpu_span(thread: u32, name: u32, start_ns: u64, end_ns: u64, call: u64) -> CpuSpan {
    CpuSpan {
        thread,
        name,
        start_ns,
        end_ns,
        call,
        args: Vec::new(),
    }
}

pub(super) fn gpu_span(stream: u32, name: u32, start_ns: u64, end_ns: u64, call: u64) -> GpuSpan {
    GpuSpan {
        stream,
        name,
        start_ns,
        end_ns,
        call,
    }
}

pub(super) fn kernel(
    stream: u32,
    name: u32,
    start_ns: u64,
    end_ns: u64,
    correlation: u32,
) -> Activity {
    Activity {
        stream,
        start_ns,
        end_ns,
        correlation,
        function: None,
        launch_line: None,
        kind: ActivityKind::kernel(name, [8, 4, 1], [32, 8, 1], 40, 2048),
    }
}

pub(super) fn copy(stream: u32, kind: crate::profile::CopyKind, times: [u64; 2]) -> Activity {
    Activity {
        stream,
        start_ns: times[0],
        end_ns: times[1],
        correlation: 0,
        function: None,
        launch_line: None,
        kind: ActivityKind::copy(kind, 4000),
    }
}

pub(super) fn api_call(
    thread: Option<u32>,
    name: u32,
    start_ns: u64,
    end_ns: u64,
    correlation: u32,
) -> ApiCall {
    ApiCall {
        thread,
        name,
        start_ns,
        end_ns,
        correlation,
        is_runtime: false,
        launch_line: None,
    }
}
