//! Promise: calls are on the time line of their thread, and their GPU spans on that of their
//! stream, with exact times and the same number.

use std::sync::Arc;
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::trace::{CpuSpan, GpuSpan, Trace};
use gpuprof::{Output, Session, gpu_profile};
use support::executor::{pause, run};
use support::suite::Module;
use support::tests;
use support::{World, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        calls_and_their_gpu_spans_are_where_they_were,
        calls_of_each_thread_and_stream_are_apart,
        a_call_on_two_streams_has_a_span_on_each,
        polls_of_a_future_are_calls_and_share_its_gpu_span,
        labels_are_in_the_names,
        the_oldest_events_give_way_and_are_counted,
        every_call_is_timed,
    ]],
);

/// A session with a time line of so many events.
pub(crate) fn recorded(limit: usize) -> Session {
    Session::builder()
        .outputs([Output::Trace("/dev/null".into())])
        .trace_limit(limit.try_into().expect("not 0"))
        .start()
        .expect("no other session is open")
}

/// The time line, after which the session ends.
pub(crate) fn finish(w: &World, session: Session) -> Trace {
    w.gpu.context.synchronize().expect("synchronize");
    let trace = gpuprof::collect_trace().expect("a time line");
    w.finish(session);
    trace
}

/// A name without its module.
pub(crate) fn name(trace: &Trace, at: u32) -> &str {
    let name = &trace.names[at as usize];
    name.rsplit("::").next().unwrap_or(name)
}

/// The calls of a function.
pub(crate) fn calls<'t>(trace: &'t Trace, of: &str) -> Vec<&'t CpuSpan> {
    let spans = trace.cpu_spans.iter();
    spans.filter(|span| name(trace, span.name) == of).collect()
}

/// Its spans on the GPU.
pub(crate) fn gpu_spans<'t>(trace: &'t Trace, of: &str) -> Vec<&'t GpuSpan> {
    let spans = trace.gpu_spans.iter();
    spans.filter(|span| name(trace, span.name) == of).collect()
}

#[gpu_profile]
fn outer(w: &World, stream: &Arc<CudaStream>) {
    w.cpu(1_000);
    w.gpu.kernel_on(stream, 5_000);
    inner(w, stream);
    w.cpu(500);
}

#[gpu_profile]
fn inner(w: &World, stream: &Arc<CudaStream>) {
    w.cpu(200);
    w.gpu.kernel_on(stream, 7_000);
}

#[gpu_profile(cpu)]
fn on_cpu(w: &World) {
    w.cpu(300);
}

fn calls_and_their_gpu_spans_are_where_they_were() {
    let w = world();
    let session = recorded(1_000);
    w.cpu(10_000);
    outer(&w, &w.gpu.stream);
    on_cpu(&w);
    let trace = finish(&w, session);
    let began = calls(&trace, "outer")[0].start_ns;
    let cpu = |of| {
        let calls = calls(&trace, of);
        let times = calls
            .iter()
            .map(|call| (call.start_ns - began, call.end_ns - began));
        times.collect::<Vec<_>>()
    };
    assert_eq!(cpu("outer"), [(0, 1_700)]);
    assert_eq!(cpu("inner"), [(1_000, 1_200)]);
    assert_eq!(cpu("on_cpu"), [(1_700, 2_000)]);
    let gpu = |of| {
        let spans = gpu_spans(&trace, of);
        let times = spans
            .iter()
            .map(|span| (span.start_ns - began, span.end_ns - began));
        times.collect::<Vec<_>>()
    };
    // The first kernel runs from 1,000 to 6,000; that of the inner call until 13,000.
    assert_eq!(gpu("outer"), [(0, 13_000)]);
    assert_eq!(gpu("inner"), [(6_000, 13_000)]);
    assert_eq!(gpu("on_cpu"), []);
    for of in ["outer", "inner"] {
        let number = calls(&trace, of)[0].call;
        assert!(number > 0);
        assert_eq!(gpu_spans(&trace, of)[0].call, number);
    }
    assert_eq!(calls(&trace, "on_cpu")[0].call, 0);
    assert!(began >= 10_000 && trace.end_ns >= began + 13_000);
    assert_eq!((trace.clock_error_ns, trace.gaps.len()), (Some(0), 0));
    assert_eq!((trace.pid, trace.devices.len()), (std::process::id(), 1));
}

fn calls_of_each_thread_and_stream_are_apart() {
    let w = world();
    let session = recorded(1_000);
    let other = w.gpu.context.new_stream().expect("a stream");
    let run = || inner(&w, &other);
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("worker".into());
        let worker = thread.spawn_scoped(scope, run).expect("a thread");
        worker.join().expect("it ends");
    });
    inner(&w, &w.gpu.stream);
    let trace = finish(&w, session);
    let calls = calls(&trace, "inner");
    let threads = calls
        .iter()
        .map(|call| &trace.threads[call.thread as usize]);
    let threads: Vec<_> = threads.collect();
    assert_eq!((threads.len(), threads[0].name.as_str()), (2, "worker"));
    assert!(threads[0].tid != threads[1].tid && threads.iter().all(|thread| thread.tid > 0));
    let streams = gpu_spans(&trace, "inner");
    let streams = streams
        .iter()
        .map(|span| &trace.streams[span.stream as usize]);
    let mut streams: Vec<_> = streams
        .map(|stream| (stream.device, stream.stream))
        .collect();
    // Numbered as they are first read.
    streams.sort_unstable();
    assert_eq!(streams, [(0, 1), (0, 2)]);
}

#[gpu_profile(stream = [one, two])]
fn on_two(w: &World, one: &Arc<CudaStream>, two: &Arc<CudaStream>) {
    w.gpu.kernel_on(one, 4_000);
    w.gpu.kernel_on(two, 9_000);
}

fn a_call_on_two_streams_has_a_span_on_each() {
    let w = world();
    let session = recorded(1_000);
    let other = w.gpu.context.new_stream().expect("a stream");
    on_two(&w, &w.gpu.stream, &other);
    let trace = finish(&w, session);
    let number = calls(&trace, "on_two")[0].call;
    let spans = gpu_spans(&trace, "on_two");
    let lengths = spans.iter().map(|span| span.end_ns - span.start_ns);
    let mut lengths: Vec<_> = lengths.collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [4_000, 9_000]);
    assert!(spans.iter().all(|span| span.call == number));
    assert_ne!(spans[0].stream, spans[1].stream);
}

#[gpu_profile]
async fn request(w: &World, stream: &Arc<CudaStream>) {
    w.cpu(100);
    w.gpu.kernel_on(stream, 2_000);
    pause().await;
    w.cpu(50);
}

fn polls_of_a_future_are_calls_and_share_its_gpu_span() {
    let w = world();
    let session = recorded(1_000);
    run(&w, request(&w, &w.gpu.stream), 1_000);
    let trace = finish(&w, session);
    let polls = calls(&trace, "request");
    let lengths: Vec<_> = polls
        .iter()
        .map(|poll| poll.end_ns - poll.start_ns)
        .collect();
    assert_eq!(lengths.iter().sum::<u64>(), 150);
    let spans = gpu_spans(&trace, "request");
    assert_eq!(spans.len(), 1);
    assert!(polls.iter().all(|poll| poll.call == spans[0].call));
}

#[gpu_profile(label = batch)]
fn labelled(w: &World, batch: u32) {
    w.cpu(10);
    let _ = batch;
}

fn labels_are_in_the_names() {
    let w = world();
    let session = recorded(1_000);
    for batch in [1, 8, 1] {
        labelled(&w, batch);
    }
    let trace = finish(&w, session);
    assert_eq!(calls(&trace, "labelled[1]").len(), 2);
    assert_eq!(calls(&trace, "labelled[8]").len(), 1);
}

fn the_oldest_events_give_way_and_are_counted() {
    let w = world();
    // Chunks of 10.
    let session = recorded(160);
    for _ in 0..1_000 {
        on_cpu(&w);
    }
    let trace = finish(&w, session);
    let calls = calls(&trace, "on_cpu");
    assert!((160..=170).contains(&calls.len()), "{}", calls.len());
    let first = calls[0].start_ns;
    for (at, call) in (0..).zip(&calls) {
        assert_eq!(
            (call.start_ns, call.end_ns),
            (first + at * 300, first + at * 300 + 300)
        );
    }
    let [gap] = trace.gaps[..] else {
        panic!("{:?}", trace.gaps);
    };
    assert_eq!(gap.events, 1_000 - calls.len() as u64);
    assert_eq!(gap.end_ns, first);
    assert_eq!(gap.start_ns, first - 300 * gap.events);
}

/// By default so many short calls would be sampled.
fn every_call_is_timed() {
    let w = world();
    let session = recorded(10_000);
    for _ in 0..2_000 {
        inner(&w, &w.gpu.stream);
    }
    let trace = finish(&w, session);
    assert_eq!(gpu_spans(&trace, "inner").len(), 2_000);
}
