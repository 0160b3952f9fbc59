//! Eight ranks give what one process that did all their work would have reported.

use fastrand::Rng;

use crate::histogram::Histogram;
use crate::merge::Merger;
use crate::profile::{
    Device, DurationStats, Function, GpuActivity, GpuSpanStats, KernelStats, LabelStats,
    NodeActivity, Profile, SCHEMA, SpanStats, TreeNode,
};

/// A call: on the CPU, on the GPU and in its kernel, ns.
type Call = [u64; 3];

/// Random calls of three functions, whose times spread over nine octaves.
fn calls(rng: &mut Rng, number: usize) -> Vec<(usize, Call)> {
    let mut time = |octaves: std::ops::Range<u32>| {
        let octave = rng.u32(octaves);
        rng.u64(1 << octave..2 << octave)
    };
    let calls = (0..number).map(|at| (at % 3, [time(9..18), time(12..21), time(11..15)]));
    calls.collect()
}

fn spans(samples: &[u64]) -> SpanStats {
    let Some((min, max)) = samples.iter().min().zip(samples.iter().max()) else {
        return SpanStats::default();
    };
    let mut histogram = Histogram::default();
    samples.iter().for_each(|ns| histogram.record(*ns));
    let sum: u64 = samples.iter().sum();
    let mean = sum as f64 / samples.len() as f64;
    let squares = samples.iter().map(|ns| (*ns as f64 - mean).powi(2));
    let quantile = |share| histogram.quantile(share, *min, *max);
    SpanStats {
        total_ns: sum,
        self_ns: sum / 2,
        sum_ns: sum,
        mean_ns: mean.round() as u64,
        min_ns: *min,
        max_ns: *max,
        stddev_ns: (squares.sum::<f64>() / samples.len() as f64).sqrt().round() as u64,
        p50_ns: quantile(0.50),
        p90_ns: quantile(0.90),
        p95_ns: quantile(0.95),
        p99_ns: quantile(0.99),
        histogram: histogram.buckets().collect(),
    }
}

fn durations(samples: &[u64]) -> DurationStats {
    let stats = spans(samples);
    DurationStats {
        calls: samples.len() as u64,
        total_ns: stats.total_ns,
        mean_ns: stats.mean_ns,
        min_ns: stats.min_ns,
        max_ns: stats.max_ns,
        p50_ns: stats.p50_ns,
        p99_ns: stats.p99_ns,
        histogram: stats.histogram,
    }
}

const NAMES: [&str; 3] = ["copy", "norm", "step"];

fn function(at: usize, calls: &[(usize, Call)]) -> Function {
    let of = |which: usize| -> Vec<u64> {
        let own = calls.iter().filter(|(function, _)| *function == at);
        own.map(|(_, call)| call[which]).collect()
    };
    let (cpu, gpu, kernel) = (of(0), of(1), of(2));
    let sum = |times: &[u64]| times.iter().sum::<u64>();
    Function {
        name: NAMES[at].into(),
        module: "train".into(),
        file: "src/main.rs".into(),
        line: at as u32,
        calls: cpu.len() as u64,
        cpu: SpanStats {
            self_ns: sum(&cpu),
            ..spans(&cpu)
        },
        gpu: Some(GpuSpanStats {
            device: Some(0),
            timed_calls: gpu.len() as u64,
            timed_ns: sum(&gpu),
            timed_bytes: Some(gpu.len() as f64 * 4_096.0),
            times: SpanStats {
                self_ns: sum(&gpu),
                ..spans(&gpu)
            },
            ..GpuSpanStats::default()
        }),
        bytes: Some(gpu.len() as f64 * 4_096.0),
        has_stream: true,
        labels: vec![LabelStats {
            label: "a".into(),
            calls: cpu.len() as u64,
            cpu_total_ns: sum(&cpu),
            cpu_self_ns: sum(&cpu),
            cpu_mean_ns: spans(&cpu).mean_ns,
            cpu_max_ns: spans(&cpu).max_ns,
            ..LabelStats::default()
        }],
        activity: GpuActivity {
            kernels: vec![self::kernel(at, &kernel)],
            busy_ns: Some(sum(&kernel)),
            idle_ns: Some(sum(&gpu)),
            busy_calls: kernel.len() as u64,
            launch_latency: Some(durations(&kernel)),
            ..GpuActivity::default()
        },
        ..Function::default()
    }
}

fn kernel(at: usize, samples: &[u64]) -> KernelStats {
    KernelStats {
        name: format!("{}_kernel", NAMES[at]),
        full_name: format!("{}_kernel(float*)", NAMES[at]),
        symbol: format!("_Z{}", NAMES[at]),
        times: durations(samples),
        launch_latency: durations(samples),
        grid: [64, 1, 1],
        concurrent_ns: Some(0),
        ..KernelStats::default()
    }
}

/// What one process reports of its calls.
fn profile(calls: &[(usize, Call)]) -> Profile {
    let functions: Vec<Function> = (0..3).map(|at| function(at, calls)).collect();
    let mut kernels: Vec<(usize, KernelStats)> = (0..3)
        .map(|at| (at, functions[at].activity.kernels[0].clone()))
        .collect();
    kernels.sort_by_key(|(_, kernel)| std::cmp::Reverse(kernel.times.total_ns));
    let tree = functions.iter().enumerate().map(|(at, function)| {
        let gpu = function.gpu.as_ref().unwrap();
        let place = kernels.iter().position(|(of, _)| *of == at).unwrap();
        let times = &kernels[place].1.times;
        TreeNode {
            id: at as u32,
            parent: (at > 0).then_some(0),
            name: function.name.clone(),
            function: Some(at as u32),
            calls: function.calls,
            cpu_total_ns: function.cpu.total_ns,
            cpu_self_ns: function.cpu.self_ns,
            gpu_total_ns: Some(gpu.times.total_ns),
            gpu_self_ns: Some(gpu.times.self_ns),
            busy_ns: function.activity.busy_ns,
            activities: vec![NodeActivity {
                kernel: Some(place as u32),
                copies: None,
                calls: times.calls,
                total_ns: times.total_ns,
            }],
            ..TreeNode::default()
        }
    });
    let mut profile = Profile {
        schema: SCHEMA.into(),
        program: "train".into(),
        host: "node1".into(),
        started_at: "2026-11-22T17:59:00Z".into(),
        wall_ns: 1_000_000,
        devices: vec![Device {
            uuid: "GPU-6f0c8f1e-0000-0000-0000-000000000000".into(),
            ..Device::default()
        }],
        tree: tree.collect(),
        kernels: kernels.into_iter().map(|(_, kernel)| kernel).collect(),
        ..Profile::default()
    };
    profile.diagnostics.calls = calls.len() as u64;
    profile.functions = functions;
    profile
}

/// Checks that standard deviations are within 1 ns, and makes them equal.
fn align_deviations(merged: &mut Profile, expected: &Profile) {
    let functions = merged.functions.iter_mut().zip(&expected.functions);
    for (function, of) in functions {
        let gpu = &mut function.gpu.as_mut().unwrap().times;
        for (found, of) in [
            (&mut function.cpu, &of.cpu),
            (gpu, &of.gpu.as_ref().unwrap().times),
        ] {
            assert!(found.stddev_ns.abs_diff(of.stddev_ns) <= 1, "{found:?}");
            found.stddev_ns = of.stddev_ns;
        }
    }
}

/// Names the first line of JSON that differs.
fn assert_same(found: &Profile, expected: &Profile) {
    let [found, expected] = [found, expected].map(crate::json::to_string);
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {number}");
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn eight_ranks_are_what_one_process_would_have_reported() {
    for seed in 0..20 {
        let calls = calls(&mut Rng::with_seed(seed), 3_000);
        let expected = profile(&calls);
        let mut merger = Merger::default();
        // Every rank calls every function, as often as chance has it.
        let mut rng = Rng::with_seed(seed + 100);
        let mut ranks = vec![Vec::new(); 8];
        for call in calls {
            ranks[rng.usize(..8)].push(call);
        }
        for (rank, calls) in ranks.iter().enumerate() {
            let mut profile = profile(calls);
            profile.rank = Some(rank as u32);
            merger.add(&profile);
        }
        let mut merged = merger.finish();
        let ranks = merged.ranks.take().unwrap();
        assert_eq!((ranks.profiles, ranks.hosts), (8, 1));
        align_deviations(&mut merged, &expected);
        assert_same(&merged, &expected);
    }
}

#[test]
fn merging_merged_profiles_is_merging_all() {
    let calls = calls(&mut Rng::with_seed(7), 1_200);
    let parts: Vec<Profile> = calls.chunks(300).map(profile).collect();
    let merge = |profiles: &[Profile]| {
        let mut merger = Merger::default();
        profiles.iter().for_each(|profile| merger.add(profile));
        merger.finish()
    };
    let at_once = merge(&parts);
    let mut in_steps = merge(&[merge(&parts[..2]), merge(&parts[2..])]);
    align_deviations(&mut in_steps, &at_once);
    let (found, expected) = (
        in_steps.ranks.take().unwrap(),
        at_once.ranks.clone().unwrap(),
    );
    assert_eq!(found.profiles, 4);
    for (found, expected) in found.functions.iter().zip(&expected.functions) {
        assert_eq!(found.cpu.min_ns, expected.cpu.min_ns);
        assert_eq!(found.cpu.max_ns, expected.cpu.max_ns);
        assert!(found.cpu.mean_ns.abs_diff(expected.cpu.mean_ns) <= 1);
    }
    in_steps.ranks = at_once.ranks.clone();
    assert_same(&in_steps, &at_once);
}
