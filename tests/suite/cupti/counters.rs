//! Promise: with `GPUPROF_COUNTERS=on`, what the hardware counters measured while a function's
//! kernels ran is reported with the function; what cannot be attributed or was not sampled is
//! counted.

use gpuprof::gpu_profile;
use gpuprof::profile::{CounterValues, MIN_COUNTER_SAMPLES, Metric};
use support::cupti_world::work;
use support::sampled_world::{
    INTERVAL_NS, KERNEL_NS, assert_mean, begin, device, first, sampled_world, second, session,
    values,
};
use support::suite::Module;
use support::{Gpu, tests};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_function_has_the_rates_of_its_kernels,
        kernels_shorter_than_the_interval_have_the_rate_while_they_run,
        functions_in_the_same_samples_divide_them_and_are_marked,
        a_function_with_enough_samples_of_its_own_needs_no_division,
        too_few_samples_show_nothing,
        what_other_processes_do_is_not_attributed,
        copies_are_no_kernel_time,
        copies_in_the_same_samples_do_not_lower_what_kernels_use,
        calls_of_one_function_on_two_paths_divide_nothing,
        kernels_launched_before_a_window_are_this_programs,
        a_reset_begins_again,
    ]],
);

fn a_function_has_the_rates_of_its_kernels() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    // 3 GB/s and 1 GB/s; 1.5 GB/s and 0.5 GB/s.
    first(&t.gpu, KERNEL_NS);
    t.synchronize();
    t.cpu(2 * INTERVAL_NS);
    second(&t.gpu, 2 * KERNEL_NS);
    let profile = t.finish(session);
    // The kernel of the discarded sample has none, and the last sample was not over.
    let (of_first, of_second) = (values(&profile, "first"), values(&profile, "second"));
    for (values, ns, gb_per_s) in [(of_first, KERNEL_NS, 1.0), (of_second, 2 * KERNEL_NS, 0.5)] {
        assert!(!values.is_divided);
        let samples = ns / INTERVAL_NS;
        assert!(
            (samples..=samples + 1).contains(&values.samples),
            "{values:?}"
        );
        assert!(ns - values.sampled_ns < INTERVAL_NS, "{values:?}");
        assert_mean(values, Metric::DramRead, 3.0 * gb_per_s * 1e9);
        assert_mean(values, Metric::DramWrite, gb_per_s * 1e9);
        assert_mean(values, Metric::SmActive, 0.75);
        assert_mean(values, Metric::TensorActive, 0.25);
        assert_mean(values, Metric::IssueRate, 0.5);
        assert_mean(values, Metric::Fp64Active, 0.125);
        assert_mean(values, Metric::L2Throughput, 0.375);
        assert_mean(values, Metric::L1Throughput, 0.625);
        assert_mean(values, Metric::AluActive, 0.0625);
        assert_mean(values, Metric::XuActive, 0.875);
        assert_mean(values, Metric::PcieRead, 0.0);
        assert_eq!(values.mean(Metric::NvlinkSent), None, "the chip has none");
        let widths = values
            .means
            .iter()
            .map(|mean| mean.ci95 / mean.mean.max(1.0));
        assert!(
            widths.into_iter().all(|width| width < 1e-6),
            "all samples are alike"
        );
    }
    let kernel = &profile.kernels[0];
    let of_kernel = kernel.counters.as_ref().expect("it has samples");
    assert_eq!(of_kernel.samples, of_first.samples + of_second.samples);
    // As often at 4 GB/s as at 2 GB/s for twice as long.
    let mean = of_kernel.dram_bytes_per_s().expect("it was sampled");
    assert!((2.6e9..2.7e9).contains(&mean), "{mean}");
    let device = device(&profile);
    assert_eq!(
        (device.chip.as_str(), device.interval_ns),
        ("simulated", INTERVAL_NS)
    );
    let lacking = [Metric::NvlinkReceived, Metric::NvlinkSent];
    assert_eq!(
        (&device.omitted[..], &device.lacking[..]),
        (&lacking[..], &lacking[..])
    );
    assert!(device.without_room.is_empty());
    assert_eq!((device.gap_ns, device.overflows, device.late_ns), (0, 0, 0));
    assert_eq!(device.unattributed_dram_bytes, 0);
}

fn kernels_shorter_than_the_interval_have_the_rate_while_they_run() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    for _ in 0..50 {
        // 300 GB/s for 20 of 80 µs.
        first(&t.gpu, 20_000);
        t.synchronize();
        t.cpu(60_000);
    }
    let profile = t.finish(session);
    let values = values(&profile, "first");
    assert_mean(values, Metric::DramRead, 300e9);
    assert_mean(values, Metric::SmActive, 0.75);
    assert!(
        (980_000..=1_000_000).contains(&values.sampled_ns),
        "{values:?}"
    );
    // The device was idle for most of the time, but not for a whole sample after the first one.
    let device = device(&profile);
    assert!(device.unattributed_ns <= 2 * INTERVAL_NS, "{device:?}");
}

fn functions_in_the_same_samples_divide_them_and_are_marked() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    for _ in 0..50 {
        first(&t.gpu, 20_000);
        second(&t.gpu, 60_000);
    }
    let profile = t.finish(session);
    let both = [values(&profile, "first"), values(&profile, "second")];
    assert!(both.iter().all(|values| values.is_divided));
    // Each pair reads 12 MB in 80 µs; what of it is whose cannot be told.
    let bytes = |values: &CounterValues| {
        let mean = values.mean(Metric::DramRead).expect("enough samples");
        mean * values.sampled_ns as f64 / 1e9
    };
    let sampled_ns: u64 = both.iter().map(|values| values.sampled_ns).sum();
    let all = both.map(bytes).iter().sum::<f64>();
    let expected = 12e6 * sampled_ns as f64 / 80_000.0;
    assert!((all / expected - 1.0).abs() < 0.01, "{all} of {expected}");
}

fn a_function_with_enough_samples_of_its_own_needs_no_division() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    for _ in 0..3 {
        first(&t.gpu, KERNEL_NS);
        second(&t.gpu, 2 * KERNEL_NS);
    }
    let profile = t.finish(session);
    let both = [values(&profile, "first"), values(&profile, "second")];
    assert!(both.iter().all(|values| !values.is_divided), "{both:?}");
    assert_mean(both[0], Metric::DramRead, 3e9);
    assert_mean(both[1], Metric::DramRead, 1.5e9);
    // Of 6 and 12 ms, less than two samples for each change of kernels.
    let sampled = [(both[0], 3 * KERNEL_NS), (both[1], 6 * KERNEL_NS)];
    assert!(
        sampled
            .iter()
            .all(|(values, ns)| ns - values.sampled_ns < 12 * INTERVAL_NS)
    );
}

fn too_few_samples_show_nothing() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    second(&t.gpu, (MIN_COUNTER_SAMPLES - 2) * INTERVAL_NS);
    let profile = t.finish(session);
    let values = values(&profile, "second");
    assert!(
        (1..MIN_COUNTER_SAMPLES).contains(&values.samples),
        "{values:?}"
    );
    assert!(values.means.is_empty());
}

fn what_other_processes_do_is_not_attributed() {
    let t = sampled_world();
    t.cupti.set_other_process(2.0);
    let session = session(&t);
    begin(&t);
    t.cpu(40 * INTERVAL_NS);
    first(&t.gpu, KERNEL_NS);
    let profile = t.finish(session);
    let device = device(&profile);
    assert!(device.unattributed_ns >= 40 * INTERVAL_NS, "{device:?}");
    assert_eq!(device.unattributed_dram_bytes, 2 * device.unattributed_ns);
    assert!(
        device.unattributed_ns > device.sampled_ns * 6 / 10,
        "{device:?}"
    );
    // Beside a kernel it cannot be told apart.
    let mean = values(&profile, "first").mean(Metric::DramRead);
    assert!(
        (5e9..5.2e9).contains(&mean.expect("it was sampled")),
        "{mean:?}"
    );
}

#[gpu_profile]
fn copies(stream: &std::sync::Arc<cudarc::driver::CudaStream>, host: &[f32]) {
    drop(stream.clone_htod(host).expect("copy"));
}

fn copies_are_no_kernel_time() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    t.sim.set_kernel_ns("memcpy", KERNEL_NS);
    copies(&t.gpu.stream, &[1.0; 1_024]);
    let profile = t.finish(session);
    assert_eq!(work(&profile, "copies").counters, None);
    // But something ran.
    let device = device(&profile);
    assert!(device.unattributed_ns < 4 * INTERVAL_NS, "{device:?}");
    assert!(
        device.dram_bytes.expect("it was sampled") > 4_000,
        "{device:?}"
    );
}

fn copies_in_the_same_samples_do_not_lower_what_kernels_use() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    t.sim.set_kernel_ns("memcpy", 40_000);
    for _ in 0..50 {
        first(&t.gpu, 40_000);
        copies(&t.gpu.stream, &[1.0; 1_024]);
        t.synchronize();
    }
    let profile = t.finish(session);
    let values = values(&profile, "first");
    assert!(
        values.is_divided,
        "no sample has a kernel alone: {values:?}"
    );
    assert_mean(values, Metric::SmActive, 0.75);
    assert_mean(values, Metric::TensorActive, 0.25);
    // Copies use the L2 cache too: what they had of it cannot be told.
    let l2 = values.mean(Metric::L2Throughput).expect("it was sampled");
    assert!(
        (0.18..0.20).contains(&l2),
        "half of the time of 0.375: {l2}"
    );
}

#[gpu_profile]
fn outer(gpu: &Gpu, ns: u64) {
    second(gpu, ns);
}

fn calls_of_one_function_on_two_paths_divide_nothing() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    for _ in 0..50 {
        second(&t.gpu, 20_000);
        outer(&t.gpu, 20_000);
    }
    let profile = t.finish(session);
    let values = values(&profile, "second");
    assert!(!values.is_divided, "{values:?}");
    // 6 MB in 20 µs.
    assert_mean(values, Metric::DramRead, 300e9);
    assert!((19..=22).contains(&values.samples), "{values:?}");
}

fn kernels_launched_before_a_window_are_this_programs() {
    let t = sampled_world();
    let before = session(&t);
    begin(&t);
    t.finish(before);
    first(&t.gpu, 20 * KERNEL_NS);
    let after = session(&t);
    t.synchronize();
    let sampled = device(&t.finish(after)).clone();
    assert!(sampled.sampled_ns >= 19 * KERNEL_NS, "{sampled:?}");
    assert!(sampled.unattributed_ns <= 4 * INTERVAL_NS, "{sampled:?}");
}

fn a_reset_begins_again() {
    let t = sampled_world();
    let session = session(&t);
    begin(&t);
    first(&t.gpu, KERNEL_NS);
    t.synchronize();
    gpuprof::reset();
    second(&t.gpu, 2 * KERNEL_NS);
    let profile = t.finish(session);
    assert_eq!(work(&profile, "first").counters, None);
    assert_mean(values(&profile, "second"), Metric::DramRead, 1.5e9);
    let device = device(&profile);
    assert!((39..=41).contains(&device.samples), "{device:?}");
    assert_eq!(device.start_ns, 0, "it was started before");
}
