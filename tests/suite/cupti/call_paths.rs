//! Promise: the nodes of the call tree have the kernels and copies that their own calls launched,
//! and the busy and idle time of these calls.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile};
use support::cupti_world::{Tier, all_kernels, tier, work};
use support::suite::Module;
use support::{node, tests, until};

use crate::graph_objects::{capture, launch};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        each_path_of_a_function_has_its_own_kernels,
        copies_and_memsets_are_those_of_their_path,
        a_replay_has_its_kernels_where_it_was_captured,
        each_level_of_a_recursion_is_busy,
        a_call_in_progress_has_its_kernels,
    ]],
)
.with_subscriber_calls();

/// A kernel on both sides of a pause.
#[gpu_profile]
fn product(t: &Tier, stream: &Arc<CudaStream>, kernel_ns: u64, pause_ns: u64) {
    t.gpu.kernel_on(stream, kernel_ns);
    t.cpu(pause_ns);
    t.gpu.kernel_on(stream, kernel_ns);
}

#[gpu_profile]
fn forward(t: &Tier, stream: &Arc<CudaStream>) {
    product(t, stream, 100, 300);
}

#[gpu_profile]
fn backward(t: &Tier, stream: &Arc<CudaStream>) {
    product(t, stream, 10, 50);
    t.cpu(500);
    product(t, stream, 10, 50);
}

#[gpu_profile]
fn load(stream: &Arc<CudaStream>, host: &[f32]) {
    let mut device = stream.alloc_zeros::<f32>(host.len()).expect("memset");
    stream.memcpy_htod(host, &mut device).expect("copy");
}

#[gpu_profile]
fn step(t: &Tier, stream: &Arc<CudaStream>, host: &[f32]) {
    load(stream, host);
    t.gpu.kernel_on(stream, 1_000);
}

#[gpu_profile]
fn layer(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 1_000);
}

#[gpu_profile]
fn model(t: &Tier, stream: &Arc<CudaStream>) {
    layer(t, stream);
    t.gpu.kernel_on(stream, 1_000);
    layer(t, stream);
}

#[gpu_profile]
fn recursive(t: &Tier, stream: &Arc<CudaStream>, depth: u32) {
    t.gpu.kernel_on(stream, 100);
    t.cpu(150);
    if depth > 1 {
        recursive(t, stream, depth - 1);
    }
}

/// `(name, calls, time)` of what the node of this path launched.
fn activities<'a>(profile: &'a Profile, path: &[&str]) -> Vec<(&'a str, u64, u64)> {
    let activities = node(profile, path).activities.iter();
    activities
        .map(|activity| {
            let name = match (activity.kernel, activity.copies) {
                (Some(kernel), None) => profile.kernels[kernel as usize].name.as_str(),
                (None, Some(copies)) => profile.copies[copies as usize].kind.as_str(),
                both => panic!("{both:?}"),
            };
            (name, activity.calls, activity.total_ns)
        })
        .collect()
}

/// Busy and idle time of the node of this path.
fn times(profile: &Profile, path: &[&str]) -> (Option<u64>, Option<u64>) {
    let node = node(profile, path);
    (node.busy_ns, node.idle_ns)
}

fn each_path_of_a_function_has_its_own_kernels() {
    let t = tier();
    let stream = &t.gpu.stream;
    let session = t.session();
    forward(&t, stream);
    t.synchronize();
    backward(&t, stream);
    let profile = t.finish(session);
    let (in_forward, in_backward) = (["forward", "product"], ["backward", "product"]);
    assert_eq!(activities(&profile, &in_forward), [("saxpy", 2, 200)]);
    assert_eq!(activities(&profile, &in_backward), [("saxpy", 4, 40)]);
    assert!(activities(&profile, &["forward"]).is_empty());
    assert_eq!(times(&profile, &in_forward), (Some(200), Some(200)));
    assert_eq!(times(&profile, &in_backward), (Some(40), Some(80)));
    assert_eq!(times(&profile, &["forward"]), (Some(200), Some(200)));
    // From the start of the first kernel to the end of the last one are 610 ns.
    assert_eq!(times(&profile, &["backward"]), (Some(40), Some(570)));
    let product = work(&profile, "product");
    assert_eq!((product.busy_ns, product.idle_ns), (Some(240), Some(280)));
    assert_eq!(product.kernels[0].times.calls, 6);
}

fn copies_and_memsets_are_those_of_their_path() {
    let t = tier();
    t.sim.set_kernel_ns("memset", 30);
    t.sim.set_kernel_ns("memcpy", 200);
    let session = t.session();
    step(&t, &t.gpu.stream, &[1.0; 64]);
    load(&t.gpu.stream, &[1.0; 64]);
    load(&t.gpu.stream, &[1.0; 64]);
    let profile = t.finish(session);
    let expected = [("HtoD", 1, 200), ("memset", 1, 30)];
    assert_eq!(activities(&profile, &["step", "load"]), expected);
    assert_eq!(activities(&profile, &["step"]), [("saxpy", 1, 1_000)]);
    let expected = [("HtoD", 2, 400), ("memset", 2, 60)];
    assert_eq!(activities(&profile, &["load"]), expected);
    assert_eq!(times(&profile, &["load"]).0, Some(460));
}

fn a_replay_has_its_kernels_where_it_was_captured() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    model(&t, &stream);
    let graph = capture(&stream, || model(&t, &stream));
    launch(&t, &graph, 1_000);
    launch(&t, &graph, 1_000);
    let profile = t.finish(session);
    let replayed = ["captured", "model", "layer"];
    assert!(activities(&profile, &replayed[..1]).is_empty());
    let one = [("saxpy", 2, 2_000)];
    assert_eq!(activities(&profile, &replayed[..2]), one);
    assert_eq!(activities(&profile, &replayed), [("saxpy", 4, 4_000)]);
    assert_eq!(times(&profile, &replayed), (Some(4_000), None));
    // The call that captured nothing.
    assert_eq!(activities(&profile, &replayed[1..]), one);
    assert_eq!(times(&profile, &replayed[1..]), (Some(2_000), Some(0)));
}

fn each_level_of_a_recursion_is_busy() {
    let t = tier();
    let session = t.session();
    recursive(&t, &t.gpu.stream, 3);
    let profile = t.finish(session);
    let path = ["recursive"; 3];
    let levels = [1, 2, 3].map(|depth| times(&profile, &path[..depth]));
    // Each kernel is followed by 50 ns of the host.
    let expected = [(300, 150), (200, 100), (100, 50)].map(|(busy, idle)| (Some(busy), Some(idle)));
    assert_eq!(levels, expected);
    assert_eq!(work(&profile, "recursive").busy_ns, Some(300));
}

fn a_call_in_progress_has_its_kernels() {
    let t = tier();
    let session = t.session();
    let snapshot = in_progress(&t, &t.gpu.stream, &session);
    let path = ["in_progress", "layer"];
    assert_eq!(activities(&snapshot, &path[..1]), [("saxpy", 1, 70)]);
    assert_eq!(activities(&snapshot, &path), [("saxpy", 1, 1_000)]);
    assert_eq!(times(&snapshot, &path[..1]).0, None, "it is not over");
    assert_eq!(times(&snapshot, &path).0, Some(1_000));
    let profile = t.finish(session);
    assert_eq!(activities(&profile, &path[..1]), [("saxpy", 1, 70)]);
    assert_eq!(times(&profile, &path[..1]).0, Some(1_070));
}

#[gpu_profile]
fn in_progress(t: &Tier, stream: &Arc<CudaStream>, session: &gpuprof::Session) -> Profile {
    t.gpu.kernel_on(stream, 70);
    layer(t, stream);
    t.synchronize();
    until(|| all_kernels(&session.snapshot()) == (2, 1_070));
    session.snapshot()
}
