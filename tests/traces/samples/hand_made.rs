//! A trace of which every number is chosen: two threads, two streams, every kind of event.

use gpuprof_report::profile::{CopyKind, Device};
use gpuprof_report::trace::{
    Activity, ActivityKind, ApiCall, CounterTrack, CpuSpan, Gap, GpuSpan, Trace, TraceStream,
    TraceThread,
};

/// A name that tries to end the text around it.
const HOSTILE: &str = "a\"},\n</script>\u{1b}[31m\u{202e}größe";
const BASE_UNIX_NS: u64 = 1_700_000_000_000_000_000;

pub(crate) fn trace() -> Trace {
    let mut trace = Trace::default();
    trace.program = "digits".to_owned();
    trace.pid = 4000;
    trace.host = "node7".to_owned();
    trace.rank = Some(0);
    trace.ranks = Some(2);
    trace.base_unix_ns = BASE_UNIX_NS;
    trace.end_ns = 120_000;
    trace.clock_error_ns = Some(1250);
    trace.devices = vec![device()];
    trace.threads = vec![thread(4000, "main"), thread(4001, "loader")];
    trace.streams = vec![stream(7, Some(1)), stream(13, Some(1)), stream(7, None)];
    let names = [
        "train",
        "forward",
        "load",
        "matmul",
        "sgd",
        "cuLaunchKernel",
    ];
    let calls = ["cuMemcpyHtoDAsync_v2", "cudaMemsetAsync", HOSTILE];
    trace.names = names.into_iter().chain(calls).map(str::to_owned).collect();
    add_host_events(&mut trace);
    add_gpu_events(&mut trace);
    trace
}

fn add_host_events(trace: &mut Trace) {
    let argument = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut train = cpu_span(0, 0, [1_000, 100_000], 1);
    train.args = vec![argument("epoch", "3"), argument("path", HOSTILE)];
    trace.cpu_spans = vec![
        cpu_span(0, 1, [2_000, 50_000], 2),
        train,
        cpu_span(0, 8, [60_000, 90_000], 0),
        // Neither inside train nor after it.
        cpu_span(0, 1, [95_000, 110_000], 0),
        cpu_span(1, 2, [5_000, 40_000], 3),
    ];
    trace.api_calls = vec![
        api_call(0, 5, [10_000, 14_000], 11),
        api_call(0, 5, [20_000, 23_000], 12),
        api_call(0, 7, [30_000, 31_500], 13),
        api_call(1, 6, [6_000, 9_000], 14),
    ];
    if let Some(memset) = trace.api_calls.get_mut(2) {
        memset.is_runtime = true;
    }
    let mut of_main = gap([70_000, 80_000], 12);
    of_main.thread = Some(0);
    trace.gaps = vec![of_main, gap([53_000, 58_000], 3)];
}

fn add_gpu_events(trace: &mut Trace) {
    let kernel = |name| ActivityKind::kernel(name, [8, 4, 1], [32, 8, 1], 40, 2048);
    let copy = ActivityKind::copy;
    trace.activities = vec![
        activity(0, [16_000, 36_000], 11, kernel(3)),
        activity(0, [40_000, 45_000], 12, kernel(4)),
        activity(0, [50_000, 52_000], 13, copy(CopyKind::Memset, 4096)),
        activity(1, [12_000, 30_000], 14, copy(CopyKind::HtoD, 90_000)),
        activity(1, [32_001, 33_999], 0, copy(CopyKind::DtoH, 999)),
    ];
    if let Some(matmul) = trace.activities.first_mut() {
        matmul.function = Some(1);
    }
    trace.gpu_spans = vec![
        gpu_span(0, [15_000, 60_000], 1),
        gpu_span(1, [15_500, 46_000], 2),
        gpu_span(2, [14_000, 31_000], 3),
    ];
    let mut reads = CounterTrack::default();
    reads.name = "DRAM read (GB/s)".to_owned();
    reads.device = Some(0);
    reads.samples = vec![(0, 0.5), (20_000, 3.25)];
    trace.counters = vec![reads];
}

fn device() -> Device {
    let mut device = Device::default();
    device.name = "NVIDIA H200".to_owned();
    device.compute_capability = "9.0".to_owned();
    device.sm_count = Some(132);
    device.memory_bytes = Some(150_000_000_000);
    device
}

fn thread(tid: u64, name: &str) -> TraceThread {
    let mut thread = TraceThread::default();
    thread.tid = tid;
    thread.name = name.to_owned();
    thread
}

/// A stream of CUPTI's, or without a context one for GPU spans.
fn stream(number: u32, context: Option<u32>) -> TraceStream {
    let mut stream = TraceStream::default();
    stream.stream = number;
    stream.context = context;
    stream.is_of_spans = context.is_none();
    stream
}

fn cpu_span(thread: u32, name: u32, [start_ns, end_ns]: [u64; 2], call: u64) -> CpuSpan {
    let mut span = CpuSpan::default();
    (span.thread, span.name, span.call) = (thread, name, call);
    (span.start_ns, span.end_ns) = (start_ns, end_ns);
    span
}

fn gpu_span(name: u32, [start_ns, end_ns]: [u64; 2], call: u64) -> GpuSpan {
    let mut span = GpuSpan::default();
    (span.stream, span.name, span.call) = (2, name, call);
    (span.start_ns, span.end_ns) = (start_ns, end_ns);
    span
}

fn api_call(thread: u32, name: u32, [start_ns, end_ns]: [u64; 2], correlation: u32) -> ApiCall {
    let mut call = ApiCall::default();
    (call.thread, call.name, call.correlation) = (Some(thread), name, correlation);
    (call.start_ns, call.end_ns) = (start_ns, end_ns);
    call
}

fn activity(
    stream: u32,
    [start_ns, end_ns]: [u64; 2],
    correlation: u32,
    kind: ActivityKind,
) -> Activity {
    let mut activity = Activity::default();
    (activity.stream, activity.correlation, activity.kind) = (stream, correlation, kind);
    (activity.start_ns, activity.end_ns) = (start_ns, end_ns);
    activity
}

fn gap([start_ns, end_ns]: [u64; 2], events: u64) -> Gap {
    let mut gap = Gap::default();
    (gap.start_ns, gap.end_ns, gap.events) = (start_ns, end_ns, events);
    gap
}
