//! Promise: each device's busy time counts once however many streams are busy, its idle time is
//! divided by what it waited for, and a kernel's concurrent time is that beside other kernels.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::profile::BusyRecords;
use gpuprof::{Profile, gpu_profile};
use support::cupti_world::{Tier, tier, tier_with, work};
use support::suite::Module;
use support::{Gpu, tests};

use crate::graph_objects::{capture, launch};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        streams_that_are_busy_at_once_count_once,
        an_idle_period_is_divided_at_the_call_that_ended_it,
        a_launch_in_progress_is_what_an_idle_device_waits_for,
        copies_and_memsets_end_idle_periods_too,
        a_graph_launch_ends_one_idle_period,
        each_device_has_its_own_times,
        without_records_no_device_has_a_time,
        a_device_that_ran_nothing_is_not_busy_for_its_spans,
    ]],
);

#[gpu_profile(cpu)]
fn work_on(t: &Tier, stream: &Arc<CudaStream>, ns: u64) {
    t.gpu.kernel_on(stream, ns);
}

#[gpu_profile(cpu)]
fn beside(t: &Tier, stream: &Arc<CudaStream>, ns: u64) {
    t.gpu.kernel_on(stream, ns);
}

/// A memset of 30 ns, then a copy of 200 ns.
#[gpu_profile(cpu)]
fn load(stream: &Arc<CudaStream>, memory: &mut cudarc::driver::CudaSlice<f32>) {
    stream.memset_zeros(memory).expect("memset");
    stream.memcpy_htod(&[1.0; 64], memory).expect("copy");
}

/// The busy time of a device, and its parts.
fn device(profile: &Profile, ordinal: u32) -> (u64, BusyRecords) {
    let found = profile.gpu_busy.iter().find(|busy| busy.device == ordinal);
    let busy = found.unwrap_or_else(|| panic!("no device {ordinal}: {:?}", profile.gpu_busy));
    assert_eq!((busy.busy_ci95_ns, busy.is_upper_bound), (None, false));
    (
        busy.busy_ns,
        busy.records.expect("the records are complete"),
    )
}

/// The idle periods: their number, and their time by what the device waited for.
fn idle(records: &BusyRecords) -> (u64, [u64; 3]) {
    let BusyRecords {
        gaps,
        idle_host_ns,
        idle_launch_ns,
        idle_queued_ns,
        ..
    } = *records;
    (gaps, [idle_host_ns, idle_launch_ns, idle_queued_ns])
}

/// Of the only kernel of a function.
fn concurrent(profile: &Profile, name: &str) -> Option<u64> {
    work(profile, name).kernels[0].concurrent_ns
}

fn streams_that_are_busy_at_once_count_once() {
    let t = tier();
    t.sim.set_kernel_ns("memcpy", 200);
    t.sim.set_kernel_ns("memset", 30);
    let (a, b) = (t.gpu.another_stream(), t.gpu.another_stream());
    let mut memory = b.alloc_zeros::<f32>(64).expect("memory");
    t.synchronize();
    let session = t.session();
    // From 0 to 1,000 ns and from 400 to 1,100 ns.
    work_on(&t, &a, 1_000);
    t.cpu(400);
    beside(&t, &b, 700);
    t.cpu(600);
    // From 1,000 to 1,050 ns, and behind `beside` until 1,330 ns.
    work_on(&t, &a, 50);
    load(&b, &mut memory);
    let profile = t.finish(session);
    let (busy_ns, records) = device(&profile, 0);
    assert_eq!(busy_ns, 1_330);
    assert_eq!((records.kernel_ns, records.copy_only_ns), (1_100, 230));
    assert_eq!(idle(&records), (0, [0; 3]));
    assert_eq!(concurrent(&profile, "work_on"), Some(600 + 50));
    assert_eq!(concurrent(&profile, "beside"), Some(600 + 50));
    assert_eq!(profile.kernels[0].concurrent_ns, Some(2 * 650));
    let exposed = profile.copies.iter().map(|copies| copies.exposed_ns);
    assert_eq!(exposed.collect::<Vec<_>>(), [Some(200), Some(30)]);
}

fn an_idle_period_is_divided_at_the_call_that_ended_it() {
    let t = tier();
    let stream = t.gpu.another_stream();
    t.sim.set_call_ns("cuLaunchKernel", 40);
    t.sim.set_event_ns(70);
    let session = t.session();
    work_on(&t, &stream, 1_000);
    t.synchronize();
    t.cpu(300);
    // A gap of 300 ns until the call, and of 40 ns in the call.
    work_on(&t, &stream, 500);
    // The next kernel is launched at once and runs after this event.
    let _event = stream.record_event(None).expect("an event");
    work_on(&t, &stream, 500);
    let profile = t.finish(session);
    let (busy_ns, records) = device(&profile, 0);
    assert_eq!(
        (busy_ns, records.kernel_ns, records.copy_only_ns),
        (2_000, 2_000, 0)
    );
    assert_eq!(idle(&records), (2, [300, 40, 70]));
    assert_eq!(concurrent(&profile, "work_on"), Some(0));
}

/// Each call begins while the kernel before it runs, and takes longer than that.
fn a_launch_in_progress_is_what_an_idle_device_waits_for() {
    let t = tier();
    let stream = t.gpu.another_stream();
    t.sim.set_call_ns("cuLaunchKernel", 40);
    let session = t.session();
    (0..5).for_each(|_| work_on(&t, &stream, 10));
    let profile = t.finish(session);
    let (busy_ns, records) = device(&profile, 0);
    assert_eq!((busy_ns, idle(&records)), (50, (4, [0, 120, 0])));
}

fn copies_and_memsets_end_idle_periods_too() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let mut memory = stream.alloc_zeros::<f32>(64).expect("memory");
    t.sim.set_kernel_ns("memset", 30);
    t.sim.set_kernel_ns("memcpy", 200);
    t.sim.set_call_ns("cuMemsetD8Async", 6);
    t.synchronize();
    let session = t.session();
    for _ in 0..3 {
        load(&stream, &mut memory);
        t.synchronize();
        t.cpu(1_000);
    }
    let profile = t.finish(session);
    let (busy_ns, records) = device(&profile, 0);
    assert_eq!((busy_ns, records.copy_only_ns), (690, 690));
    assert_eq!(idle(&records), (2, [2_000, 12, 0]));
}

fn a_graph_launch_ends_one_idle_period() {
    let t = tier();
    let stream = t.gpu.another_stream();
    t.sim.set_call_ns("cuGraphLaunch", 60);
    t.sim.set_event_ns(7);
    let session = t.session();
    let graph = capture(&stream, || {
        work_on(&t, &stream, 1_000);
        work_on(&t, &stream, 1_000);
    });
    launch(&t, &graph, 1_000);
    t.synchronize();
    t.cpu(400);
    launch(&t, &graph, 1_000);
    let _event = stream.record_event(None).expect("an event");
    launch(&t, &graph, 1_000);
    let profile = t.finish(session);
    let (busy_ns, records) = device(&profile, 0);
    assert_eq!(busy_ns, 6_000);
    assert_eq!(idle(&records), (2, [400, 60, 7]));
}

fn each_device_has_its_own_times() {
    let t = tier_with(2);
    let other = Gpu::new(t.sim, 1);
    let session = t.session();
    other.kernel(700);
    t.cpu(100);
    t.gpu.context.bind_to_thread().expect("bind");
    work_on(&t, &t.gpu.stream, 1_000);
    t.synchronize();
    t.cpu(50);
    work_on(&t, &t.gpu.stream, 10);
    other.context.synchronize().expect("synchronize");
    t.gpu.context.bind_to_thread().expect("bind");
    let profile = t.finish(session);
    let devices: Vec<u32> = profile.gpu_busy.iter().map(|busy| busy.device).collect();
    assert_eq!(devices, [0, 1]);
    let (busy_ns, records) = device(&profile, 0);
    assert_eq!((busy_ns, idle(&records)), (1_010, (1, [50, 0, 0])));
    let (busy_ns, records) = device(&profile, 1);
    assert_eq!((busy_ns, idle(&records)), (700, (0, [0; 3])));
    // Kernels on another device are not beside it.
    assert_eq!(concurrent(&profile, "work_on"), Some(0));
}

fn without_records_no_device_has_a_time() {
    let t = tier();
    let session = t.session();
    t.cpu(100);
    let profile = t.finish(session);
    assert!(profile.gpu_busy.is_empty(), "{:?}", profile.gpu_busy);
}

/// Launches nothing on its stream.
#[gpu_profile]
fn around(stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    let _ = stream;
    inside();
}

fn a_device_that_ran_nothing_is_not_busy_for_its_spans() {
    let t = tier_with(2);
    let other = Gpu::new(t.sim, 1);
    let session = t.session();
    around(&other.stream, || t.cpu(300));
    t.gpu.context.bind_to_thread().expect("bind");
    work_on(&t, &t.gpu.stream, 1_000);
    t.synchronize();
    let profile = t.finish(session);
    assert_eq!(device(&profile, 0).0, 1_000);
    assert_eq!(device(&profile, 1), (0, BusyRecords::default()));
}
