//! Time lines.

use gpuprof_report::profile::{CopyKind, Device};
use gpuprof_report::trace::*;

use super::{MARKUP, US};

/// Two steps of 20 ms on one thread and one stream, with hostile arguments.
pub(crate) fn time_line() -> Trace {
    made_of(2)
}

/// 2,000 such steps: 12,000 events.
pub(crate) fn long_time_line() -> Trace {
    made_of(2_000)
}

/// Six events per step, of which the last one ends 8 ms after its start.
fn made_of(steps: u64) -> Trace {
    let mut trace = Trace::default();
    let mut device = Device::default();
    device.name = "NVIDIA H200".into();
    let mut thread = TraceThread::default();
    (thread.tid, thread.name) = (101, "main".into());
    let mut stream = TraceStream::default();
    (stream.context, stream.stream) = (Some(1), 7);
    let mut of_spans = TraceStream::default();
    (of_spans.stream, of_spans.is_of_spans) = (7, true);
    (trace.devices, trace.threads) = (vec![device], vec![thread]);
    trace.streams = vec![stream, of_spans];
    trace.names = [
        "digits::epoch",
        "cuLaunchKernel",
        "void softmax(float const*, float const*, float*, int)",
    ]
    .map(str::to_owned)
    .into();
    trace.names.push(format!("{MARKUP}upload"));
    trace.clock_error_ns = Some(1_200);
    for step in 0..steps {
        add_step(&mut trace, step);
    }
    trace
}

fn add_step(trace: &mut Trace, step: u64) {
    let at = |us: u64| 5_000_000 + step * 20_000 * US + us * US;
    let mut span = CpuSpan::default();
    (span.start_ns, span.end_ns, span.call) = (at(0), at(5_000), step + 1);
    span.args = vec![
        ("batch".into(), step.to_string()),
        ("file".into(), MARKUP.into()),
    ];
    let mut inner = CpuSpan::default();
    (inner.name, inner.start_ns, inner.end_ns) = (3, at(1_000), at(2_000));
    let mut call = ApiCall::default();
    (call.thread, call.name, call.correlation) = (Some(0), 1, 7);
    (call.start_ns, call.end_ns) = (at(1_200), at(1_210));
    let mut kernel = Activity::default();
    kernel.kind = ActivityKind::kernel(2, [8, 4, 1], [32, 8, 1], 40, 2_048);
    (kernel.start_ns, kernel.end_ns, kernel.function) = (at(2_000), at(6_000), Some(0));
    let mut copy = Activity::default();
    copy.kind = ActivityKind::copy(CopyKind::HtoD, 4_000_000);
    (copy.start_ns, copy.end_ns) = (at(1_300), at(1_400));
    let mut gpu = GpuSpan::default();
    (gpu.stream, gpu.start_ns, gpu.end_ns, gpu.call) = (1, at(100), at(8_000), step + 1);
    trace.cpu_spans.extend([span, inner]);
    trace.api_calls.push(call);
    trace.activities.extend([copy, kernel]);
    trace.gpu_spans.push(gpu);
}
