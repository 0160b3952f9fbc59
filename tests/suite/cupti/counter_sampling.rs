//! Promise: every device that the program uses is sampled, at an interval that is doubled and
//! reported if samples come too fast.

use std::time::{Duration, Instant};

use gpuprof::profile::Metric;
use support::cupti_world::tier_with;
use support::sampled_world::{
    INTERVAL_NS, KERNEL_NS, assert_mean, begin, device, first, sampled_world, second, session,
    values, with_counters,
};
use support::suite::Module;
use support::{Gpu, tests};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_full_buffer_doubles_the_interval_and_is_counted,
        samples_that_come_too_fast_double_the_interval,
        samples_beyond_the_room_for_decoded_ones_double_the_interval,
        a_device_without_the_time_trigger_is_sampled_by_its_clock,
        metrics_without_room_are_omitted_from_the_last,
        an_overflow_is_counted_in_its_window,
        a_device_that_no_profiled_function_uses_is_sampled,
        each_device_has_samples_of_its_own,
    ]],
);

fn a_full_buffer_doubles_the_interval_and_is_counted() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    assert_eq!(gpuprof::collect().counters[0].overflows, 0);
    // More than 32,768 samples.
    first(&t.gpu, 2_000 * KERNEL_NS);
    t.synchronize();
    assert_eq!(gpuprof::collect().counters[0].overflows, 1);
    t.cpu(4 * INTERVAL_NS);
    second(&t.gpu, 4 * KERNEL_NS);
    let profile = t.finish(session);
    let device = device(&profile);
    assert_eq!(device.overflows, 1);
    // All that the buffer held.
    let lost = 1_990 * KERNEL_NS..2_010 * KERNEL_NS;
    assert!(lost.contains(&device.gap_ns), "{device:?}");
    let values = values(&profile, "second");
    assert_mean(values, Metric::DramRead, 0.75e9);
    let samples = 4 * KERNEL_NS / (2 * INTERVAL_NS);
    assert!(
        (samples - 1..=samples + 1).contains(&values.samples),
        "{values:?}"
    );
}

fn samples_that_come_too_fast_double_the_interval() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    t.cupti.fail("cuptiPmSamplingDecodeData", 1, 1, 8);
    assert_eq!(gpuprof::collect().counters[0].overflows, 1);
    t.cpu(4 * INTERVAL_NS);
    first(&t.gpu, 4 * KERNEL_NS);
    let profile = t.finish(session);
    assert_mean(values(&profile, "first"), Metric::DramRead, 0.75e9);
    assert_eq!(device(&profile).interval_ns, 2 * INTERVAL_NS);
    assert!(
        profile.diagnostics.notes.is_empty(),
        "{:?}",
        profile.diagnostics.notes
    );
}

fn samples_beyond_the_room_for_decoded_ones_double_the_interval() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    // 4,000 samples at once, of which 2,000 have room.
    first(&t.gpu, 200 * KERNEL_NS);
    t.synchronize();
    assert_eq!(gpuprof::collect().counters[0].overflows, 1);
    t.cpu(4 * INTERVAL_NS);
    second(&t.gpu, 4 * KERNEL_NS);
    let profile = t.finish(session);
    let device = device(&profile);
    assert!(
        (98 * KERNEL_NS..102 * KERNEL_NS).contains(&device.gap_ns),
        "{device:?}"
    );
    assert_mean(values(&profile, "second"), Metric::DramRead, 0.75e9);
}

fn a_device_without_the_time_trigger_is_sampled_by_its_clock() {
    let t = sampled_world();
    t.cupti.fail("cuptiPmSamplingSetConfig", 1, 1, 27);
    let session = session(&t);
    begin(&t);
    first(&t.gpu, KERNEL_NS);
    let profile = t.finish(session);
    assert_mean(values(&profile, "first"), Metric::DramRead, 3e9);
    assert_eq!(device(&profile).interval_ns, INTERVAL_NS);
    assert_eq!(t.cupti.calls("cuptiPmSamplingSetConfig"), 2);
}

fn metrics_without_room_are_omitted_from_the_last() {
    let t = sampled_world();
    t.cupti.set_metrics_per_pass(3);
    let session = session(&t);
    begin(&t);
    first(&t.gpu, KERNEL_NS);
    let profile = t.finish(session);
    let sampled = [Metric::DramRead, Metric::DramWrite, Metric::SmActive];
    let device = device(&profile);
    assert_eq!(device.metrics, sampled);
    assert_eq!(device.omitted.len(), 11);
    assert_eq!(device.lacking, [Metric::NvlinkReceived, Metric::NvlinkSent]);
    let (without_room, lacking) = device.omitted.split_at(9);
    assert_eq!(device.without_room, without_room);
    assert_eq!(device.lacking, lacking);
    let means = values(&profile, "first").means.iter();
    assert!(means.map(|mean| mean.metric).eq(sampled));
}

fn an_overflow_is_counted_in_its_window() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    t.cupti.fail("cuptiPmSamplingDecodeData", 1, 1, 8);
    let before = gpuprof::collect();
    assert!(before.counters[0].start_ns > 0);
    assert_eq!(before.counters[0].overflows, 1);
    gpuprof::reset();
    first(&t.gpu, KERNEL_NS);
    assert_eq!(device(&t.finish(session)).overflows, 0);
}

fn a_device_that_no_profiled_function_uses_is_sampled() {
    let t = sampled_world();
    let session = session(&t);
    let began = Instant::now();
    // From the first record on, by another thread.
    while gpuprof::collect().counters.is_empty() {
        t.gpu.kernel(KERNEL_NS);
        t.synchronize();
        assert!(began.elapsed() < Duration::from_secs(60));
    }
    t.cpu(2 * INTERVAL_NS);
    t.gpu.kernel(4 * KERNEL_NS);
    let profile = t.finish(session);
    assert!(device(&profile).samples >= 4 * KERNEL_NS / INTERVAL_NS);
    let of_kernel = profile.kernels[0].counters.as_ref();
    assert!(of_kernel.expect("it has samples").samples >= 4 * KERNEL_NS / INTERVAL_NS - 1);
}

fn each_device_has_samples_of_its_own() {
    let t = with_counters(tier_with(2));
    let other = Gpu::new(t.sim, 1);
    let session = session(&t);
    begin(&t);
    second(&other, 1_000);
    other.context.synchronize().expect("synchronize");
    t.cpu(2 * INTERVAL_NS);
    first(&t.gpu, KERNEL_NS);
    second(&other, 2 * KERNEL_NS);
    other.context.synchronize().expect("synchronize");
    t.gpu.context.bind_to_thread().expect("bind");
    let profile = t.finish(session);
    assert_mean(values(&profile, "first"), Metric::DramRead, 3e9);
    assert_mean(values(&profile, "second"), Metric::DramRead, 1.5e9);
    let devices: Vec<u32> = profile.counters.iter().map(|of| of.device).collect();
    assert_eq!(devices, [0, 1]);
}
