//! Promise: activity is reported by device, and idle time only if the GPU span and the activity can
//! be compared.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile};
use support::cupti_world::{Tier, busy, tier_with, work};
use support::suite::Module;
use support::tests;
use support::{Gpu, gpu_times};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        two_devices_have_no_idle_time_in_common,
        calls_on_different_devices_have_none_either,
        work_that_no_span_has_is_not_set_against_spans,
        a_call_whose_span_is_not_read_leaves_no_idle_time_to_tell,
    ]],
)
.with_subscriber_calls();

fn tier() -> Tier {
    tier_with(2)
}

#[gpu_profile(stream = [a.stream, b.stream])]
fn on_both(t: &Tier, a: &Gpu, b: &Gpu) {
    a.kernel(1_000);
    t.cpu(5_000);
    b.kernel(1_000);
}

#[gpu_profile(stream = gpu.stream)]
fn on_one(gpu: &Gpu) {
    gpu.kernel(1_000);
}

#[gpu_profile(stream = a.stream)]
fn with_another_inside(t: &Tier, a: &Gpu, b: &Gpu) {
    a.kernel(1_000);
    on_one(b);
    t.cpu(9_000);
    a.kernel(1_000);
}

#[gpu_profile(stream = t.gpu.stream)]
fn with_a_pause(t: &Tier) {
    t.gpu.kernel(1_000);
    t.cpu(9_000);
    t.gpu.kernel(1_000);
}

#[gpu_profile]
fn beside(t: &Tier, stream: &Arc<CudaStream>, other: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 100);
    t.gpu.kernel_on(other, 1_000);
}

fn finish(t: &Tier, session: gpuprof::Session, other: &Gpu) -> Profile {
    other.context.synchronize().expect("synchronize");
    t.gpu.context.bind_to_thread().expect("bind");
    t.finish(session)
}

fn two_devices_have_no_idle_time_in_common() {
    let t = tier();
    let other = Gpu::new(t.sim, 1);
    let session = t.session();
    on_both(&t, &t.gpu, &other);
    with_another_inside(&t, &t.gpu, &other);
    let profile = finish(&t, session, &other);
    assert_eq!(work(&profile, "on_both").idle_ns, None);
    assert_eq!(busy(&profile, "on_both"), (2_000, 1, 2, 2));
    let devices = work(&profile, "on_both").kernels.iter();
    let mut devices: Vec<_> = devices.map(|kernel| kernel.device).collect();
    devices.sort_unstable();
    assert_eq!(devices, [0, 1]);
    // The call has kernels on two devices, but its span is on one.
    assert_eq!(work(&profile, "with_another_inside").idle_ns, None);
    assert_eq!(work(&profile, "on_one").idle_ns, Some(0));
}

fn calls_on_different_devices_have_none_either() {
    let t = tier();
    let other = Gpu::new(t.sim, 1);
    let session = t.session();
    on_one(&t.gpu);
    on_one(&other);
    let profile = finish(&t, session, &other);
    assert_eq!(busy(&profile, "on_one").1, 2);
    assert_eq!(work(&profile, "on_one").idle_ns, None);
}

fn work_that_no_span_has_is_not_set_against_spans() {
    let t = tier();
    let stream = t.gpu.another_stream();
    let session = t.session();
    beside(&t, &t.gpu.stream, &stream);
    let profile = t.finish(session);
    assert_eq!(gpu_times(&profile, "beside").1, 100);
    assert_eq!(busy(&profile, "beside").0, 1_000);
    assert_eq!(work(&profile, "beside").idle_ns, None);
}

fn a_call_whose_span_is_not_read_leaves_no_idle_time_to_tell() {
    let t = tier();
    let session = t.session();
    with_a_pause(&t);
    t.synchronize();
    let one = gpuprof::collect();
    assert_eq!(work(&one, "with_a_pause").idle_ns, Some(8_000));
    t.sim.fail("cuEventElapsedTime_v2", 1, 1, 999);
    with_a_pause(&t);
    t.synchronize();
    let profile = t.finish(session);
    assert_eq!(busy(&profile, "with_a_pause").1, 2);
    assert_eq!(work(&profile, "with_a_pause").idle_ns, None);
}
