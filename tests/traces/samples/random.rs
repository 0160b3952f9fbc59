//! Random traces, and what other tools must find in them.

use std::collections::BTreeMap;

use gpuprof_report::profile::{CopyKind, Device};
use gpuprof_report::trace::{
    Activity, ActivityKind, ApiCall, CpuSpan, GpuSpan, Trace, TraceStream, TraceThread,
};
use serde_json::json;

const THREADS: u32 = 4;
const STREAMS: u32 = 6;
const KERNELS: u32 = 20;
/// Index of the name of the CUDA call.
const LAUNCH: u32 = KERNELS;

/// A trace of so many events, whose times are multiples of `unit_ns`. Threads launch one after
/// another; the streams work in order; spans overlap as they come.
pub(crate) fn trace(events: u32, unit_ns: u64) -> Trace {
    let mut random = fastrand::Rng::with_seed(7);
    let mut trace = Trace::default();
    trace.program = "random".to_owned();
    trace.pid = 1;
    trace.base_unix_ns = 1_700_000_000_000_000_000;
    trace.devices = vec![Device::default()];
    trace.threads = (0..THREADS).map(thread).collect();
    trace.streams = (0..STREAMS).map(stream).collect();
    trace.names = (0..KERNELS)
        .map(|index| format!("kernel_{index}"))
        .collect();
    trace.names.push("cuLaunchKernel".to_owned());
    let mut host_ns = [1000 * unit_ns; THREADS as usize];
    let mut stream_ns = [0; STREAMS as usize];
    for number in 1..=events / 4 {
        let mut duration = |most: u64| random.u64(1..=most) * unit_ns;
        let (before, inside, kernel) = (duration(30), duration(20), duration(60));
        let (wait, over) = (duration(9), duration(90));
        let thread = random.u32(0..THREADS);
        let Some(now_ns) = host_ns.get_mut(thread as usize) else {
            continue;
        };
        let launched_ns = *now_ns + before;
        let returned_ns = launched_ns + inside;
        let mut span = CpuSpan::default();
        (span.thread, span.name, span.call) = (thread, number % KERNELS, number.into());
        (span.start_ns, span.end_ns) = (*now_ns, returned_ns + wait);
        *now_ns = span.end_ns;
        trace.cpu_spans.push(span);
        let mut call = ApiCall::default();
        (call.thread, call.name, call.correlation) = (Some(thread), LAUNCH, number);
        (call.start_ns, call.end_ns) = (launched_ns, returned_ns);
        trace.api_calls.push(call);
        let stream = random.u32(0..STREAMS);
        let Some(free_ns) = stream_ns.get_mut(stream as usize) else {
            continue;
        };
        let mut activity = Activity::default();
        (activity.stream, activity.correlation) = (stream, number);
        activity.start_ns = returned_ns.max(*free_ns) + wait;
        activity.end_ns = activity.start_ns + kernel;
        *free_ns = activity.end_ns;
        activity.kind = match number % 5 {
            0 => ActivityKind::copy(CopyKind::HtoD, 4096),
            1 => ActivityKind::copy(CopyKind::Memset, 512),
            _ => ActivityKind::kernel(number % KERNELS, [1, 1, 1], [256, 1, 1], 32, 0),
        };
        trace.activities.push(activity);
        let mut gpu_span = GpuSpan::default();
        (gpu_span.stream, gpu_span.name, gpu_span.call) = (stream, number % KERNELS, number.into());
        gpu_span.start_ns = activity.start_ns - wait;
        gpu_span.end_ns = activity.end_ns + over;
        trace.gpu_spans.push(gpu_span);
    }
    trace.end_ns = host_ns.into_iter().chain(stream_ns).max().unwrap_or(0);
    trace
}

fn thread(index: u32) -> TraceThread {
    let mut thread = TraceThread::default();
    thread.tid = u64::from(index) + 1;
    thread
}

fn stream(index: u32) -> TraceStream {
    let mut stream = TraceStream::default();
    (stream.stream, stream.context) = (7 + index, Some(1));
    stream
}

/// The sums that other tools must agree with, in µs: by name and stream, of GPU spans and devices.
pub(crate) fn expected(trace: &Trace) -> String {
    let mut activities: Vec<&Activity> = trace.activities.iter().collect();
    activities.sort_by_key(|activity| activity.start_ns);
    let mut names: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    let mut streams: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    let (mut busy_ns, mut busy_until_ns) = (0, 0);
    for activity in &activities {
        let (start_ns, end_ns) = (activity.start_ns, activity.end_ns);
        let [sum_ns, max_ns] = names.entry(name(trace, activity)).or_default();
        *sum_ns += end_ns - start_ns;
        *max_ns = (*max_ns).max(end_ns - start_ns);
        let (idle_ns, until_ns) = streams.entry(activity.stream).or_insert((0, start_ns));
        *idle_ns += start_ns - *until_ns;
        *until_ns = end_ns;
        busy_ns += end_ns.saturating_sub(start_ns.max(busy_until_ns));
        busy_until_ns = busy_until_ns.max(end_ns);
    }
    let first_ns = activities.first().map_or(0, |activity| activity.start_ns);
    let us = |ns: u64| ns / 1000;
    let streams = streams
        .iter()
        .map(|(index, (idle_ns, _))| ((7 + index).to_string(), us(*idle_ns)));
    let mut gpu_spans: BTreeMap<&str, u64> = BTreeMap::new();
    for span in &trace.gpu_spans {
        let name = trace
            .names
            .get(span.name as usize)
            .map_or("", String::as_str);
        *gpu_spans.entry(name).or_default() += us(span.end_ns - span.start_ns);
    }
    let document = json!({
        "launches": activities.len(),
        "gpu_spans": gpu_spans,
        "kernels": names.iter().map(|(name, [sum_ns, max_ns])| {
            (name.clone(), json!({"sum": us(*sum_ns), "max": us(*max_ns)}))
        }).collect::<serde_json::Map<_, _>>(),
        "idle_by_stream": streams.collect::<BTreeMap<_, _>>(),
        "busy": us(busy_ns),
        "idle": us(busy_until_ns - first_ns - busy_ns),
    });
    document.to_string()
}

fn name(trace: &Trace, activity: &Activity) -> String {
    match activity.kind {
        ActivityKind::Copy {
            kind: CopyKind::Memset,
            ..
        } => "Memset (Device)".to_owned(),
        ActivityKind::Kernel { name, .. } => {
            trace.names.get(name as usize).cloned().unwrap_or_default()
        }
        _ => "Memcpy HtoD".to_owned(),
    }
}
