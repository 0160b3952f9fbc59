//! Promise: each device's times are reported separately, no time is measured across devices, and
//! the program's current context is unchanged.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::profile::Profile;
use gpuprof::{Session, gpu_profile};
use promises::contexts::the_current_one_stays;
use promises::devices::separate_times;
use promises::{Tolerance, assert_kept};
use support::executor::{pause, poll};
use support::report_text::{cells, full_report, rows};
use support::suite::Module;
use support::tests;
use support::{Gpu, World, function, gpu, gpu_times, until, world_with};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        one_function_and_one_call_on_two_devices,
        the_table_has_a_row_for_each_device_where_a_function_ran_on_several,
        the_devices_used_are_listed,
        a_child_on_another_device_is_not_subtracted,
        the_same_null_handle_on_two_devices_is_two_streams,
        a_call_that_shares_streams_of_two_devices_counts_once,
        a_call_of_which_one_device_cannot_be_read_is_untimed_as_a_whole,
        the_threads_current_context_stays_what_it_was,
        a_context_that_ended_and_one_in_its_place_do_not_mix,
    ]],
);

#[gpu_profile]
fn on(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) {
    gpu.kernel_on(stream, ns);
}

#[gpu_profile]
fn around(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

#[gpu_profile(stream = [a, b])]
fn on_two_devices(gpus: [&Gpu; 2], a: &Arc<CudaStream>, b: &Arc<CudaStream>, ns: [u64; 2]) {
    gpus[0].kernel_on(a, ns[0]);
    gpus[1].kernel_on(b, ns[1]);
}

#[gpu_profile(stream = [a, b])]
async fn on_two_in_turn(gpus: [&Gpu; 2], a: &Arc<CudaStream>, b: &Arc<CudaStream>) {
    gpus[0].kernel_on(a, 1_000);
    gpus[1].kernel_on(b, 5_000);
    pause().await;
}

#[gpu_profile]
fn touches_nothing(_stream: &Arc<CudaStream>) {}

fn two() -> (World, Gpu) {
    let w = world_with(2);
    let second = Gpu::new(w.sim, 1);
    (w, second)
}

/// Lets both devices finish and ends the session.
fn finish(w: &World, second: &Gpu, session: Session) -> Profile {
    second.context.synchronize().expect("synchronize");
    w.finish(session)
}

/// `(ordinal, timed calls, total, self)` of each device.
fn by_device(profile: &Profile, name: &str) -> Vec<(u32, u64, u64, u64)> {
    let parts = function(profile, name).gpu_on_each_device();
    let row = |gpu: &gpuprof::profile::GpuSpanStats| {
        (
            gpu.device.expect("one device"),
            gpu.timed_calls,
            gpu.times.total_ns,
            gpu.times.self_ns,
        )
    };
    parts.iter().map(row).collect()
}

fn one_function_and_one_call_on_two_devices() {
    let (w, second) = two();
    assert_kept(separate_times([&w.gpu, &second], 4, Tolerance::EXACT));
}

fn the_table_has_a_row_for_each_device_where_a_function_ran_on_several() {
    let (w, second) = two();
    let session = w.session();
    on(&w.gpu, &w.gpu.stream, 1_000);
    on(&second, &second.stream, 70_000);
    around(&w.gpu.stream, || w.gpu.kernel(500));
    let profile = finish(&w, &second, session);
    let report = full_report(&profile);
    let row = |name| cells(&report, "Function, all paths", name);
    // Calls, GPU, GPU self, average.
    assert_eq!(row("on")[..4], ["2", "71.0", "71.0", "35.5"]);
    let rows = rows(&report, "Function, all paths");
    let part = |device: &str| {
        let row = rows.iter().find(|row| row.contains(device)).expect("a row");
        let cells: Vec<&str> = row.split_whitespace().skip(3).collect();
        cells[..4].join(" ")
    };
    assert_eq!(part("├─ GPU 0"), "1 1.00 1.00 1.00");
    assert_eq!(part("└─ GPU 1"), "1 70.0 70.0 70.0");
    assert_eq!(row("around")[..3], ["1", "0.500", "0.500"], "{report}");
}

fn the_devices_used_are_listed() {
    let (w, second) = two();
    let session = w.session();
    on(&w.gpu, &w.gpu.stream, 1_000);
    on(&second, &second.stream, 1_000);
    let profile = finish(&w, &second, session);
    let ordinals: Vec<u32> = profile
        .devices
        .iter()
        .map(|device| device.ordinal)
        .collect();
    assert_eq!(ordinals, [0, 1]);
    assert!(profile.devices.iter().all(|device| device.simulated));
    assert_ne!(profile.devices[0].uuid, profile.devices[1].uuid);
    assert_eq!(profile.diagnostics.event_overhead_ns, Some(0));
}

fn a_child_on_another_device_is_not_subtracted() {
    let (w, second) = two();
    let session = w.session();
    around(&w.gpu.stream, || {
        w.gpu.kernel(1_000);
        on(&second, &second.stream, 5_000);
        on(&w.gpu, &w.gpu.stream, 300);
    });
    let profile = finish(&w, &second, session);
    assert_eq!(gpu_times(&profile, "around"), (1, 1_300, 1_000));
    assert_eq!(by_device(&profile, "around"), [(0, 1, 1_300, 1_000)]);
    assert_eq!(
        by_device(&profile, "on"),
        [(0, 1, 300, 300), (1, 1, 5_000, 5_000)]
    );
    assert_eq!(function(&profile, "around").gpu_nested_ns, 5_300);
}

fn the_same_null_handle_on_two_devices_is_two_streams() {
    let (w, second) = two();
    let (null, other) = (
        w.gpu.context.default_stream(),
        second.context.default_stream(),
    );
    let session = w.session();
    around(&null, || {
        on(&w.gpu, &null, 1_000);
        on(&second, &other, 9_000);
    });
    let profile = finish(&w, &second, session);
    assert_eq!(gpu_times(&profile, "around"), (1, 1_000, 0));
    assert_eq!(
        by_device(&profile, "on"),
        [(0, 1, 1_000, 1_000), (1, 1, 9_000, 9_000)]
    );
}

fn a_call_that_shares_streams_of_two_devices_counts_once() {
    let (w, second) = two();
    let (a, b) = (&w.gpu.stream, &second.stream);
    let session = w.session();
    // The first of three calls has ended when the others begin, which share both streams.
    for calls in [1, 2] {
        let mut open: Vec<_> = (0..calls)
            .map(|_| Box::pin(on_two_in_turn([&w.gpu, &second], a, b)))
            .collect();
        assert!(open.iter_mut().all(|call| poll(call.as_mut()).is_pending()));
        assert!(open.iter_mut().all(|call| poll(call.as_mut()).is_ready()));
        second.context.synchronize().expect("synchronize");
    }
    let profile = finish(&w, &second, session);
    let found = function(&profile, "on_two_in_turn");
    assert_eq!(gpu(&profile, "on_two_in_turn").timed_calls, 3);
    assert_eq!(found.gpu_divided_calls, 2);
    let parts = by_device(&profile, "on_two_in_turn");
    assert_eq!(parts, [(0, 3, 4_000, 3_000), (1, 3, 20_000, 15_000)]);
}

fn a_call_of_which_one_device_cannot_be_read_is_untimed_as_a_whole() {
    let (w, second) = two();
    w.warm_up(|| touches_nothing(&second.stream));
    w.warm_up(|| touches_nothing(&w.gpu.stream));
    let session = w.session();
    // The first device's time can be read; reading the second's fails with INVALID_HANDLE (400).
    w.sim.fail("cuEventElapsedTime_v2", 2, 100, 400);
    on_two_devices(
        [&w.gpu, &second],
        &w.gpu.stream,
        &second.stream,
        [2_000, 9_000],
    );
    second.context.synchronize().expect("synchronize");
    let profile = w.finish(session);
    let both = function(&profile, "on_two_devices");
    assert_eq!(both.gpu, None);
    assert_eq!((both.untimed_calls, both.untimed.cuda_error), (1, 1));
    assert_eq!(profile.diagnostics.errors.len(), 1);
}

fn the_threads_current_context_stays_what_it_was() {
    let (w, second) = two();
    assert_kept(the_current_one_stays([&w.gpu, &second], 4));
    let session = w.session();
    for current in [&w.gpu.context, &second.context] {
        current.bind_to_thread().expect("bind");
        w.sim.reset_calls();
        around(&w.gpu.stream, || touches_nothing(&second.stream));
        assert_eq!(w.sim.calls("cuCtxSetCurrent"), 0);
    }
    finish(&w, &second, session);
}

fn a_context_that_ended_and_one_in_its_place_do_not_mix() {
    let w = world_with(2);
    let session = w.session();
    for ns in [1_000, 20_000] {
        let before = w.sim.live_contexts();
        {
            // The device's primary context has the same handle each time, but all objects in it are
            // new.
            let second = Gpu::new(w.sim, 1);
            assert_eq!(w.sim.live_contexts(), before + 1);
            on(&second, &second.stream, ns);
            second.context.synchronize().expect("synchronize");
        }
        // gpuprof holds the context until the times are read, and releases it then.
        drop(gpuprof::collect());
        until(|| w.sim.live_contexts() == before);
    }
    let profile = w.finish(session);
    assert_eq!(by_device(&profile, "on"), [(1, 2, 21_000, 21_000)]);
    assert_eq!(profile.diagnostics.errors, []);
}
