//! Hardware counters.

use gpuprof_report::profile::*;

use super::MS;

/// The first two functions and the first kernel were sampled: one is near the memory bandwidth, the
/// other shares its samples. The device was busy for others too, and its interval was doubled.
pub(crate) fn with_counters(mut profile: Profile) -> Profile {
    let mut device = DeviceCounters::default();
    (device.device, device.chip) = (0, "GH100".into());
    (device.interval_ns, device.start_ns) = (100_000, 429 * MS);
    device.metrics = vec![
        Metric::DramRead,
        Metric::DramWrite,
        Metric::SmActive,
        Metric::TensorActive,
        Metric::IssueRate,
    ];
    device.omitted = vec![Metric::NvlinkReceived, Metric::NvlinkSent];
    (device.samples, device.sampled_ns) = (12_345, 1_234_500_000);
    device.unattributed_ns = 234_500_000;
    device.dram_bytes = Some(4_000_000_000);
    device.unattributed_dram_bytes = 400_000_000;
    (device.gap_ns, device.overflows) = (200 * MS, 1);
    profile.counters = vec![device];

    let near_bandwidth = values(2_000, [2_790.0, 1_210.0], [0.98, 0.0, 0.125]);
    let mut shared = values(40, [310.0, 90.0], [0.5, 0.625, 0.75]);
    shared.is_divided = true;
    let [first, second, ..] = profile.functions.as_mut_slice() else {
        panic!("a profile without functions");
    };
    first.activity.counters = Some(Box::new(near_bandwidth.clone()));
    second.activity.counters = Some(Box::new(shared));
    let kernel = profile.kernels.first_mut().unwrap();
    kernel.counters = Some(Box::new(near_bandwidth));
    profile
}

/// The same, of a program whose user listed four metrics. That with the shared samples has no hit
/// rate, because nothing was looked up in its samples.
pub(crate) fn with_listed_counters(profile: Profile) -> Profile {
    let mut profile = with_counters(profile);
    let listed = |scale: f64| {
        [
            (
                "sm__warps_active.avg.pct_of_peak_sustained_elapsed",
                MetricUnit::Share,
                0.5,
            ),
            ("lts__t_sectors.sum", MetricUnit::PerS, 8e9),
            ("l1tex__t_bytes.sum", MetricUnit::BytesPerS, 2e12),
            ("lts__t_sector_hit_rate.ratio", MetricUnit::Ratio, 0.875),
        ]
        .map(|(name, unit, mean)| {
            let mut of = ListedMean::default();
            (of.name, of.unit) = (name.into(), unit);
            (of.mean, of.ci95) = (scale * mean, 0.01 * scale * mean);
            of
        })
    };
    profile.counters[0].listed = listed(1.0).map(|of| of.name).to_vec();
    for (function, scale, count) in [(0, 1.0, 4), (1, 0.25, 3)] {
        let counters = profile.functions[function].activity.counters.as_mut();
        counters.unwrap().listed = listed(scale)[..count].to_vec();
    }
    profile.kernels[0].counters.as_mut().unwrap().listed = listed(1.0).to_vec();
    profile
}

/// GB/s read and written; shares of busy multiprocessors, tensor cores and issued instructions.
fn values(samples: u64, gb_per_s: [f64; 2], shares: [f64; 3]) -> CounterValues {
    let [read, write] = gb_per_s.map(|rate| rate * 1e9);
    let [sms, tensor, issue] = shares;
    let means = [
        (Metric::DramRead, read),
        (Metric::DramWrite, write),
        (Metric::SmActive, sms),
        (Metric::TensorActive, tensor),
        (Metric::IssueRate, issue),
    ];
    let mut values = CounterValues::default();
    (values.samples, values.sampled_ns) = (samples, samples * 50_000);
    values.means = means
        .into_iter()
        .map(|(metric, mean)| {
            let mut of = CounterMean::default();
            (of.metric, of.mean, of.ci95) = (metric, mean, 0.01 * mean);
            of
        })
        .collect();
    values
}

/// Of a device of 4,800 GB/s, kernels in turn: one is limited by conversions, one by memory and one
/// by nothing that was sampled; the samples of the fourth are divided. One function was sampled.
pub(crate) fn with_limits(mut profile: Profile) -> Profile {
    let limits = [
        [0.4683, 0.1172, 0.288, 0.938, 0.0, 0.0402, 0.7223, 0.028],
        [0.125, 0.0, 0.0901, 0.0, 0.0, 0.31, 0.204, 0.8333],
        [0.0512, 0.0, 0.041, 0.0, 0.0, 0.4217, 0.0402, 0.1],
        [0.849, 0.0, 0.2, 0.0, 0.007, 0.2, 0.7233, 0.237],
    ];
    profile.devices[0].peak_bytes_per_s = Some(4_800_000_000_000);
    for (kernel, shares) in profile.kernels.iter_mut().zip(limits.into_iter().cycle()) {
        kernel.counters = Some(Box::new(limited(shares)));
    }
    let divided = &mut profile.kernels[3].counters;
    divided.as_mut().unwrap().is_divided = true;
    profile.functions[0].activity.counters = Some(Box::new(limited(limits[0])));
    profile
}

/// Shares of issue, FP64, ALU, XU, tensor, L2, L1 and memory.
fn limited(shares: [f64; 8]) -> CounterValues {
    let [issue, fp64, alu, xu, tensor, l2, l1, memory] = shares;
    let mut values = values(500, [memory * 4_800.0, 0.0], [1.0, tensor, issue]);
    for (metric, mean) in [
        (Metric::Fp64Active, fp64),
        (Metric::AluActive, alu),
        (Metric::XuActive, xu),
        (Metric::L2Throughput, l2),
        (Metric::L1Throughput, l1),
    ] {
        let mut of = CounterMean::default();
        (of.metric, of.mean) = (metric, mean);
        values.means.push(of);
    }
    values
}
