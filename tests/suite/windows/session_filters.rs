//! Promise: a session's filter removes functions from its call tree and its list, at no cost of
//! their calls in the driver.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, Session, gpu_profile};
use support::profile_lookups::{functions, local_name};
use support::suite::Module;
use support::tests;
use support::{World, function, node, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        what_is_filtered_out_is_no_place_in_the_tree,
        functions_never_called_are_listed_and_filtered_ones_are_not,
        what_is_filtered_out_costs_no_call_of_the_driver,
    ]],
);

#[gpu_profile]
fn step(w: &World, stream: &Arc<CudaStream>, ns: u64) {
    w.cpu(ns);
    w.gpu.kernel_on(stream, 10 * ns);
}

#[gpu_profile]
fn around(w: &World, _stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    w.cpu(1_000);
    inside();
    w.cpu(30);
}

#[gpu_profile(cpu)]
fn counted() {}

#[expect(dead_code, reason = "it is never called")]
#[gpu_profile]
fn never_called() {}

fn is_listed(profile: &Profile, name: &str) -> bool {
    functions(profile).any(|function| local_name(&function.name) == name)
}

fn what_is_filtered_out_is_no_place_in_the_tree() {
    let w = world();
    let session = Session::builder()
        .filter("^session_filters::(around|counted)$")
        .start()
        .expect("start");
    around(&w, &w.gpu.stream, || {
        #[gpu_profile]
        fn between(inside: impl FnOnce()) {
            inside();
        }
        between(counted);
    });
    let profile = w.finish(session);
    assert_eq!(node(&profile, &["around", "counted"]).calls, 1);
    assert_eq!(profile.tree.len(), 2);
}

fn functions_never_called_are_listed_and_filtered_ones_are_not() {
    let w = world();
    let session = w.session();
    let profile = w.finish(session);
    let never = function(&profile, "never_called");
    assert_eq!((never.calls, never.threads, never.line > 0), (0, 0, true));
    assert!(never.file.ends_with("session_filters.rs"), "{}", never.file);
    let session = Session::builder()
        .filter("^session_filters::never")
        .start()
        .expect("start");
    let profile = w.finish(session);
    assert!(is_listed(&profile, "never_called") && !is_listed(&profile, "step"));
}

fn what_is_filtered_out_costs_no_call_of_the_driver() {
    let w = world();
    w.warm_up(|| step(&w, &w.gpu.stream, 1));
    let session = Session::builder()
        .filter("^session_filters::counted$")
        .start()
        .expect("start");
    w.sim.reset_calls();
    step(&w, &w.gpu.stream, 100);
    let here: Vec<(&str, u64)> = [
        "cuEventRecord",
        "cuStreamIsCapturing",
        "cuCtxPushCurrent_v2",
    ]
    .map(|symbol| (symbol, w.sim.calls_here(symbol)))
    .into();
    assert!(here.iter().all(|(_, calls)| *calls == 0), "{here:?}");
    // Only the program's own launch reaches the driver.
    assert_eq!(w.sim.calls_here("cuLaunchKernel"), 1);
    let profile = w.finish(session);
    assert!(!is_listed(&profile, "step"));
    assert_eq!((profile.diagnostics.calls, profile.tree.len()), (0, 0));
}
