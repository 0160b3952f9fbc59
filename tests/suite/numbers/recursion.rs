//! Promise: in recursive functions totals count the outermost calls only; self times and call
//! counts include every call.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{gpu_profile, scope};
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, gpu, gpu_times, node, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        direct_recursion,
        mutual_recursion,
        branching_recursion,
        a_thousand_deep,
        on_another_stream_the_inner_call_is_outermost_there,
        on_the_same_several_streams_only_the_outermost_counts,
        a_scope_in_a_recursive_function,
    ]],
);

#[gpu_profile]
fn direct(w: &World, stream: &Arc<CudaStream>, depth: u32) {
    w.cpu(10);
    w.gpu.kernel_on(stream, 1_000);
    if depth > 1 {
        direct(w, stream, depth - 1);
    }
}

#[gpu_profile]
fn ping(w: &World, stream: &Arc<CudaStream>, left: u32) {
    w.cpu(10);
    w.gpu.kernel_on(stream, 1_000);
    if left > 0 {
        pong(w, stream, left - 1);
    }
}

#[gpu_profile]
fn pong(w: &World, stream: &Arc<CudaStream>, left: u32) {
    w.cpu(1);
    w.gpu.kernel_on(stream, 100);
    if left > 0 {
        ping(w, stream, left - 1);
    }
}

#[gpu_profile]
fn tree_shaped(w: &World, stream: &Arc<CudaStream>, depth: u32) {
    w.cpu(10);
    w.gpu.kernel_on(stream, 1_000);
    for _ in 1..depth {
        tree_shaped(w, stream, depth - 1);
    }
}

#[gpu_profile]
fn two_streams_in_turn(w: &World, a: &Arc<CudaStream>, b: &Arc<CudaStream>, depth: u32) {
    w.gpu.kernel_on(a, 1_000);
    if depth > 1 {
        two_streams_in_turn(w, b, a, depth - 1);
    }
}

#[gpu_profile(stream = [a, b])]
fn both_streams(w: &World, a: &Arc<CudaStream>, b: &Arc<CudaStream>, depth: u32) {
    w.gpu.kernel_on(a, 1_000);
    w.gpu.kernel_on(b, 3_000);
    if depth > 1 {
        both_streams(w, a, b, depth - 1);
    }
}

fn direct_recursion() {
    let w = world();
    let session = w.session();
    direct(&w, &w.gpu.stream, 3);
    direct(&w, &w.gpu.stream, 1);
    let profile = w.finish(session);
    // Calls of 30, 20, 10 and 10 ns; the outermost calls are those of 30 and of the second 10.
    assert_eq!(cpu_times(&profile, "direct"), (4, 40, 40));
    let cpu = &function(&profile, "direct").cpu;
    assert_eq!((cpu.min_ns, cpu.max_ns, cpu.mean_ns), (10, 30, 18));
    // The kernels follow each other without a gap. In the first call 10 ns of CPU time pass on an
    // idle stream before the kernel.
    let gpu = gpu(&profile, "direct");
    assert_eq!(gpu_times(&profile, "direct"), (4, 3_010 + 1_000, 4_010));
    assert_eq!((gpu.times.min_ns, gpu.times.max_ns), (1_000, 3_010));
    assert_eq!(gpu.timed_ns, 3_010 + 2_000 + 1_000 + 1_000);
    let deepest = node(&profile, &["direct", "direct", "direct"]);
    assert_eq!((deepest.calls, deepest.cpu_total_ns), (1, 10));
    assert_eq!(node(&profile, &["direct"]).calls, 2);
}

fn mutual_recursion() {
    let w = world();
    let session = w.session();
    // The calls are ping, pong, ping, pong, ping.
    ping(&w, &w.gpu.stream, 4);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "ping"), (3, 32, 30));
    // The outermost pong contains all CPU time except the 10 of the first ping itself.
    assert_eq!(cpu_times(&profile, "pong"), (2, 22, 2));
    // Kernels of 3 × 1,000 and 2 × 100, and 10 before the first kernel, because the stream is idle.
    assert_eq!(gpu_times(&profile, "ping"), (3, 3_210, 3_010));
    assert_eq!(gpu_times(&profile, "pong"), (2, 2_200, 200));
}

fn branching_recursion() {
    let w = world();
    let session = w.session();
    w.gpu.kernel(100_000);
    tree_shaped(&w, &w.gpu.stream, 4);
    let profile = w.finish(session);
    // calls(d) = 1 + (d − 1) · calls(d − 1): 1, 2, 5, 16.
    assert_eq!(cpu_times(&profile, "tree_shaped"), (16, 160, 160));
    assert_eq!(gpu_times(&profile, "tree_shaped"), (16, 16_000, 16_000));
}

fn a_thousand_deep() {
    let w = world();
    let session = w.session();
    w.gpu.kernel(100_000);
    direct(&w, &w.gpu.stream, 1_000);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "direct"), (1_000, 10_000, 10_000));
    assert_eq!(gpu_times(&profile, "direct"), (1_000, 1_000_000, 1_000_000));
    assert_eq!(profile.tree.len(), 1_000);
    // 1,000 + 2,000 + … + 1,000,000
    assert_eq!(gpu(&profile, "direct").timed_ns, 500_500_000);
}

fn on_another_stream_the_inner_call_is_outermost_there() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    two_streams_in_turn(&w, &a, &b, 4);
    let profile = w.finish(session);
    // On a the first and third call, 2,000 with a nested 1,000; on b the second and fourth, the
    // same.
    assert_eq!(
        gpu_times(&profile, "two_streams_in_turn"),
        (4, 4_000, 4_000)
    );
    assert_eq!(gpu(&profile, "two_streams_in_turn").timed_ns, 6_000);
}

fn on_the_same_several_streams_only_the_outermost_counts() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    both_streams(&w, &a, &b, 2);
    let profile = w.finish(session);
    // Stream b ends last, after 6,000. The inner call starts when a has run for 1,000 and ends with
    // b, 5,000 later.
    let gpu = gpu(&profile, "both_streams");
    assert_eq!((gpu.timed_calls, gpu.times.total_ns), (2, 6_000));
    assert_eq!((gpu.times.min_ns, gpu.times.max_ns), (5_000, 6_000));
}

fn a_scope_in_a_recursive_function() {
    let w = world();
    let session = w.session();
    fn nest(w: &World, depth: u32) {
        scope!("nest", &w.gpu.stream);
        w.cpu(5);
        if depth > 1 {
            nest(w, depth - 1);
        }
    }
    nest(&w, 10);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "nest"), (10, 50, 50));
    assert_eq!(gpu_times(&profile, "nest").1, 50);
}
