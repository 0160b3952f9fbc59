//! Promise: CUDA calls are reported with their CPU time, for the calling function and for the
//! program; copies with their bytes; kernels with their launch latency.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use gpuprof::profile::{ApiKind, ApiStats, CopyStats};
use gpuprof::{CuptiMode, Profile, gpu_profile};
use support::cupti_world::{Tier, builder, cupti, move_bytes, tier, work};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_wait_inside_a_span_is_told_with_what_it_took,
        a_call_that_fails_is_counted_and_runs_nothing,
        frequent_calls_that_cause_no_work_are_recorded_on_request,
        variants_of_a_function_are_one_row,
        launch_latency_is_from_the_call_to_the_kernel,
        copies_have_a_direction_bytes_and_kind_of_memory,
        copies_and_memsets_of_no_bytes_are_calls_without_work,
    ]],
)
.with_subscriber_calls();

#[gpu_profile]
fn waits_inside(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 1_000);
    stream.synchronize().expect("synchronize");
}

#[gpu_profile]
fn queued(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 1_000);
    t.gpu.kernel_on(stream, 1_000);
}

#[gpu_profile]
fn copies(stream: &Arc<CudaStream>, host: &[f32]) -> Vec<f32> {
    let device = stream.clone_htod(host).expect("copy");
    let other = stream.clone_dtod(&device).expect("copy");
    let _zeros = stream.alloc_zeros::<f32>(host.len()).expect("memset");
    stream.clone_dtoh(&other).expect("copy")
}

#[gpu_profile]
fn moves(stream: &Arc<CudaStream>, device: &mut [CudaSlice<u8>; 2], bytes: usize) {
    move_bytes(stream, device, bytes);
}

fn call<'a>(calls: &'a [ApiStats], name: &str) -> &'a ApiStats {
    let found = calls.iter().find(|call| call.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {calls:?}"))
}

fn copied<'a>(copies: &'a [CopyStats], kind: &str) -> &'a CopyStats {
    let found = copies.iter().find(|copies| copies.kind.as_str() == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {copies:?}"))
}

fn a_wait_inside_a_span_is_told_with_what_it_took() {
    let t = tier();
    t.sim.set_call_ns("cuLaunchKernel", 50);
    let session = t.session();
    waits_inside(&t, &t.gpu.stream);
    waits_inside(&t, &t.gpu.stream);
    t.gpu.stream.synchronize().expect("synchronize");
    let profile = t.finish(session);
    let inside = &work(&profile, "waits_inside").api;
    let wait = call(inside, "cuStreamSynchronize");
    assert_eq!((wait.kind, wait.times.calls), (ApiKind::Sync, 2));
    // The kernel begins when the launch returns.
    assert_eq!(wait.times.total_ns, 2_000);
    let launch = call(inside, "cuLaunchKernel");
    assert_eq!((launch.kind, launch.times.total_ns), (ApiKind::Launch, 100));
    assert_eq!((launch.times.mean_ns, launch.failed), (50, 0));
    assert_eq!(call(&profile.api, "cuStreamSynchronize").times.calls, 3);
}

fn a_call_that_fails_is_counted_and_runs_nothing() {
    let t = tier();
    let session = t.session();
    // CUDA_ERROR_INVALID_VALUE.
    t.sim.fail("cuLaunchKernel", 2, 1, 1);
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        queued(&t, &t.gpu.stream);
    }));
    assert!(failed.is_err());
    let profile = t.finish(session);
    let launch = call(&work(&profile, "queued").api, "cuLaunchKernel");
    assert_eq!((launch.times.calls, launch.failed), (2, 1));
    assert_eq!(work(&profile, "queued").launches, 1);
}

fn frequent_calls_that_cause_no_work_are_recorded_on_request() {
    let t = tier();
    let host = vec![1.0_f32; 1_000];
    let run = |mode| {
        t.cpu(1_000);
        let session = builder().cupti(mode).start().expect("no other session");
        copies(&t.gpu.stream, &host);
        let module = cudarc::nvrtc::Ptx::from_src(kernels::SPIN_PTX);
        let module = t.gpu.context.load_module(module).expect("a module");
        module.load_function(kernels::SPIN).expect("a kernel");
        t.finish(session)
    };
    let count = |profile: &Profile, name: &str| {
        let calls = profile.api.iter().filter(|call| call.name == name);
        calls.map(|call| call.times.calls).sum::<u64>()
    };
    let all = run(CuptiMode::Full);
    let optional = ["cuMemAllocAsync", "cuMemFreeAsync", "cuModuleGetFunction"];
    assert_eq!(optional.map(|name| count(&all, name)), [3, 3, 1]);
    let always = [
        "cuMemcpyHtoDAsync",
        "cuMemcpyDtoDAsync",
        "cuMemsetD8Async",
        "cuMemcpyDtoHAsync",
        "cuModuleLoadData",
    ];
    let expected = always.map(|name| count(&all, name));
    assert_eq!(expected, [1; 5], "{:?}", all.api);
    // The sessions after it are without them again.
    let some = run(CuptiMode::On);
    assert_eq!(optional.map(|name| count(&some, name)), [0; 3]);
    assert_eq!(always.map(|name| count(&some, name)), expected);
    assert_eq!(some.copies.len(), all.copies.len());
    for (profile, has_all) in [(all, true), (some, false)] {
        assert_eq!(cupti(&profile).all_calls, has_all);
        let table = profile.to_string();
        assert_eq!(
            table.contains("GPUPROF_CUPTI=full adds"),
            !has_all,
            "{table}"
        );
    }
}

/// As in a program that links libraries with and without per-thread default streams.
fn variants_of_a_function_are_one_row() {
    let t = tier();
    t.sim.set_call_ns("cuLaunchKernel", 50);
    let session = t.session();
    queued(&t, &t.gpu.stream);
    t.cupti.launch_per_thread(true);
    queued(&t, &t.gpu.stream);
    let profile = t.finish(session);
    for calls in [&work(&profile, "queued").api, &profile.api] {
        let launches = calls.iter().filter(|call| call.kind == ApiKind::Launch);
        let launches: Vec<_> = launches
            .map(|call| (&*call.name, call.times.calls, call.times.total_ns))
            .collect();
        assert_eq!(launches, [("cuLaunchKernel", 4, 200)]);
    }
}

fn launch_latency_is_from_the_call_to_the_kernel() {
    let t = tier();
    t.sim.set_call_ns("cuLaunchKernel", 50);
    let session = t.session();
    queued(&t, &t.gpu.stream);
    let profile = t.finish(session);
    let latency = work(&profile, "queued")
        .launch_latency
        .as_ref()
        .expect("there were launches");
    // The second kernel waits for the first: launched at 50, it starts at 1,050.
    assert_eq!(
        (latency.calls, latency.min_ns, latency.max_ns),
        (2, 50, 1_000)
    );
    assert_eq!(work(&profile, "queued").kernels[0].launch_latency, *latency);
}

fn copies_have_a_direction_bytes_and_kind_of_memory() {
    let t = tier();
    let host = vec![1.0_f32; 1_000];
    let session = t.session();
    assert_eq!(copies(&t.gpu.stream, &host), host);
    let profile = t.finish(session);
    for of in [&work(&profile, "copies").copies, &profile.copies] {
        let counts = ["HtoD", "DtoD", "memset", "DtoH"].map(|kind| {
            let copies = copied(of, kind);
            (copies.times.calls, copies.bytes, copies.pageable_calls)
        });
        assert_eq!(
            counts,
            [(1, 4_000, 1), (1, 4_000, 0), (1, 4_000, 0), (1, 4_000, 1)]
        );
    }
    let down = copied(&profile.copies, "DtoH");
    assert_eq!((down.pageable_ns, down.streams), (down.times.total_ns, 1));
    assert_eq!(cupti(&profile).unattributed, 0);
    let activities = work(&profile, "copies").activities;
    assert_eq!((activities, work(&profile, "copies").launches), (4, 0));
}

fn copies_and_memsets_of_no_bytes_are_calls_without_work() {
    let t = tier();
    let stream = &t.gpu.stream;
    let mut device = [(); 2].map(|()| stream.alloc_zeros::<u8>(500).expect("memory"));
    t.synchronize();
    let session = t.session();
    moves(stream, &mut device, 0);
    move_bytes(stream, &mut device, 0);
    moves(stream, &mut device, 500);
    moves(stream, &mut device, 0);
    // None is unfinished.
    let profile = t.finish(session);
    let function = work(&profile, "moves");
    for (calls, count) in [(&function.api, 3), (&profile.api, 4)] {
        let counts = [
            "cuMemcpyHtoDAsync",
            "cuMemcpyDtoDAsync",
            "cuMemsetD8Async",
            "cuMemcpyDtoHAsync",
            "cuMemcpyHtoD",
            "cuMemcpyDtoD",
            "cuMemsetD8",
            "cuMemcpyDtoH",
        ]
        .map(|name| (call(calls, name).times.calls, call(calls, name).failed));
        assert_eq!(counts, [(count, 0); 8]);
    }
    for of in [&function.copies, &profile.copies] {
        let counts = ["HtoD", "DtoD", "memset", "DtoH"].map(|kind| {
            let copies = copied(of, kind);
            (copies.times.calls, copies.bytes)
        });
        assert_eq!((counts, of.len()), ([(2, 1_000); 4], 4));
    }
    assert_eq!((function.activities, function.busy_calls), (8, 3));
    assert_eq!(cupti(&profile).unattributed, 0);
}
