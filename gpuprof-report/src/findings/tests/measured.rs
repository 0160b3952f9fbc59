//! Rules that hardware counters make more exact.

use super::*;
use crate::profile::{CounterMean, CounterValues, DoubleLine, Metric, Precision};

/// What was sampled: the share of the H200's bandwidth, of the instructions, and of the tensor
/// cores.
fn counters(memory: f64, issue: f64, tensor: f64) -> CounterValues {
    let mean = |metric, mean| CounterMean {
        metric,
        mean,
        ci95: 0.0,
    };
    CounterValues {
        samples: 1_000,
        sampled_ns: 50 * MS,
        is_divided: false,
        means: vec![
            mean(Metric::DramRead, memory * 4.814e12),
            mean(Metric::DramWrite, 0.0),
            mean(Metric::IssueRate, issue),
            mean(Metric::TensorActive, tensor),
        ],
        ..CounterValues::default()
    }
}

/// Ten kernels of 8 ms that move `bytes` each by what is stated.
fn sampled(counters: CounterValues, bytes: Option<f64>) -> Profile {
    let kernels = [kernel("update", 10, 8 * MS)];
    let update = function("update", 10, 8 * MS).kernels(kernels);
    one(update.states(bytes, None), |function| {
        function.activity.counters = Some(Box::new(counters));
    })
}

#[test]
fn a_function_that_keeps_nothing_busy_is_below_the_roofline_by_measurement() {
    let finding = the("below-roofline", &sampled(counters(0.12, 0.2, 0.0), None));
    assert_eq!(
        finding.evidence,
        "no unit near its peak, issue 20 %, memory 12 %, tensor 0 %: 89 % of GPU time"
    );
    assert_eq!(finding.gain_ns, 64 * MS, "at the instructions' peak");
    for busy in [
        counters(0.31, 0.0, 0.0),
        counters(0.0, 0.31, 0.0),
        counters(0.0, 0.0, 0.31),
    ] {
        assert!(!speaks("below-roofline", &sampled(busy, None)));
    }
    let divided = CounterValues {
        is_divided: true,
        ..counters(0.01, 0.01, 0.0)
    };
    assert!(!speaks("below-roofline", &sampled(divided, None)));
    // 80 % of the double-precision peak.
    let mut stated = sampled(counters(0.12, 0.2, 0.0), None);
    stated.functions[0].flops = Some(0.8 * 33.45e12 * 80e-3);
    assert!(!speaks("below-roofline", &stated), "double precision");
    stated.functions[0].precision = Some(Precision::F32);
    assert!(speaks("below-roofline", &stated));
    stated.functions[0].precision = None;
    let mut without = counters(0.12, 0.2, 0.0);
    without.means.push(CounterMean {
        metric: Metric::Fp64Active,
        mean: 0.0,
        ci95: 0.0,
    });
    stated.functions[0].activity.counters = Some(Box::new(without));
    assert!(speaks("below-roofline", &stated), "it is measured");
}

#[test]
fn more_bytes_than_stated_are_reported_where_the_memory_is_busy() {
    // 8 ms at 80 % of the bandwidth are 30.8 GB.
    let profile = |stated: f64| sampled(counters(0.8, 0.1, 0.0), Some(stated));
    let finding = the("measured-bytes", &profile(7.7e9));
    assert_eq!(
        finding.evidence,
        "4.0 times the stated bytes: memory at 80 % of its bandwidth, 89 % of GPU time"
    );
    assert_eq!(finding.gain_ns / MS, 60, "three quarters");
    assert!(!speaks("measured-bytes", &profile(20e9)), "some borders");
    assert!(!speaks("measured-bytes", &profile(90e9)), "cached");
    let idle = sampled(counters(0.4, 0.1, 0.0), Some(1e9));
    assert!(!speaks("measured-bytes", &idle), "the memory is not busy");
    assert!(!speaks(
        "measured-bytes",
        &sampled(counters(0.8, 0.1, 0.0), None)
    ));
}

#[test]
fn whether_a_product_uses_tensor_cores_is_measured_and_not_guessed() {
    let product = |name: &str, tensor: f64| {
        let mut kernel = kernel(name, 10, 8 * MS);
        kernel.counters = Some(Box::new(counters(0.4, 0.4, tensor)));
        let mut profile = one(function("multiply", 10, 8 * MS).kernels([kernel]), |_| ());
        profile.devices[0].compute_capability = "9.0".into();
        profile
    };
    let is_found = |name, tensor| speaks("no-tensor-cores", &product(name, tensor));
    assert!(is_found("my_gemm", 0.0));
    assert!(is_found("ampere_s16816gemm_bf16_128x64_ldg8_f2f_tn", 0.005));
    assert!(
        !is_found("ampere_sgemm_128x64_nn", 0.4),
        "the name is wrong"
    );
    assert!(!is_found("softmax", 0.0));
}

/// What [`counters`] measures, and further shares.
fn with_shares<const N: usize>(memory: f64, shares: [(Metric, f64); N]) -> CounterValues {
    let mut counters = counters(memory, 0.55, 0.0);
    let means = shares.map(|(metric, mean)| CounterMean {
        metric,
        mean,
        ci95: 0.0,
    });
    counters.means.extend(means);
    counters
}

fn with_units(fp64: f64, xu: f64) -> CounterValues {
    with_shares(0.1, [(Metric::Fp64Active, fp64), (Metric::XuActive, xu)])
}

/// `convolve`, which states flops if `states`, and another kernel beside it.
fn convolution(counters: CounterValues, states: Option<Precision>, other: f64) -> Profile {
    let mut convolve = kernel("convolve", 10, 8 * MS);
    convolve.counters = Some(Box::new(counters));
    let mut scale = kernel("scale", 10, MS);
    scale.counters = Some(Box::new(with_units(other, 0.0)));
    let mut profile = one(
        function("convolution", 10, 9 * MS).kernels([convolve, scale]),
        |_| (),
    );
    profile.functions[0].precision = states;
    profile.functions[0].flops = states.map(|_| 1e9);
    profile
}

#[test]
fn double_precision_in_a_function_of_single_precision_is_found() {
    let f32 = Some(Precision::F32);
    let finding = the(
        "double-precision",
        &convolution(with_units(0.095, 0.76), f32, 0.0),
    );
    assert_eq!(
        finding.evidence,
        "80 % of GPU time: convolve uses double precision: FP64 9.5 %, XU 76 %"
    );
    assert_eq!(finding.gain_ns, 60_800_000, "76 % of 80 ms");
    // Whatever the other kernels do, if flops are stated; else only if they do not use it.
    let is_found = |fp64, states, other| {
        speaks(
            "double-precision",
            &convolution(with_units(fp64, 0.2), states, other),
        )
    };
    assert!(is_found(0.011, f32, 0.5));
    assert!(is_found(0.011, None, 0.0));
    assert!(!is_found(0.011, None, 0.5), "it may be meant");
    assert!(!is_found(0.009, f32, 0.0), "next to nothing");
    assert!(!is_found(0.9, Some(Precision::F64), 0.0), "it is stated");
    let divided = CounterValues {
        is_divided: true,
        ..with_units(0.5, 0.5)
    };
    assert!(!speaks("double-precision", &convolution(divided, f32, 0.0)));
}

#[test]
fn the_lines_with_double_precision_are_named() {
    let line = |kernel: &str, number, instructions, names: &[&str]| DoubleLine {
        kernel: kernel.into(),
        file: "/home/me/kernels/convolution.cu".into(),
        line: number,
        instructions,
        names: names.iter().map(|name| (*name).into()).collect(),
    };
    let mut profile = convolution(with_units(0.095, 0.76), Some(Precision::F32), 0.0);
    let conversions = &["DFMA", "F2F.F64.F32"];
    profile.double_lines = vec![
        line("convolve", 12, 3, conversions),
        line("scale", 1, 9, &[]),
    ];
    assert_eq!(
        evidence("double-precision", &profile),
        "convolve uses double precision at convolution.cu:12 (DFMA, F2F.F64.F32): FP64 9.5 %, XU \
         76 %"
    );
    let names = &["DADD", "DMUL", "DFMA", "DSETP"];
    let more = [line("convolve", 14, 4, &[]), line("convolve", 9, 5, names)];
    profile.double_lines.extend(more);
    assert_eq!(
        evidence_of("double-precision", "convolution", &profile),
        "convolve uses double precision at convolution.cu:9 (DADD, DMUL, DFMA) and \
         convolution.cu:14: FP64 9.5 %, XU 76 %"
    );
}

#[test]
fn a_cache_that_is_the_limit_is_found() {
    let profile = |memory, l2, l1, fp64| {
        let shares = [
            (Metric::L2Throughput, l2),
            (Metric::L1Throughput, l1),
            (Metric::Fp64Active, fp64),
        ];
        let mut transpose = kernel("transpose", 10, 8 * MS);
        transpose.counters = Some(Box::new(with_shares(memory, shares)));
        one(function("matrix", 10, 8 * MS).kernels([transpose]), |_| ())
    };
    let finding = the("cache-bound", &profile(0.15, 0.75, 0.2, 0.0));
    assert_eq!(
        finding.evidence,
        "89 % of GPU time: transpose has L2 at 75 % of its peak, memory at 15 %"
    );
    assert!(finding.advice.contains("neighbouring addresses"));
    assert_eq!(finding.gain_ns, 68 * MS, "85 % of 80 ms");
    let finding = the("cache-bound", &profile(0.0, 0.2, 0.99, 0.0));
    assert!(
        finding.evidence.contains("L1/shared at 99 %"),
        "{finding:?}"
    );
    assert!(finding.advice.contains("registers"));
    for (memory, l2, l1, fp64) in [
        (0.15, 0.59, 0.2, 0.0),
        (0.55, 0.75, 0.2, 0.0),
        (0.15, 0.75, 0.2, 0.9),
        (0.9, 0.75, 0.2, 0.0),
    ] {
        let profile = profile(memory, l2, l1, fp64);
        assert!(
            !speaks("cache-bound", &profile),
            "{memory} {l2} {l1} {fp64}"
        );
    }
}

/// `work`, for which these were measured beside a memory at 10 % and an issue rate of 55 %.
fn measured<const N: usize>(shares: [(Metric, f64); N]) -> Profile {
    let mut work = kernel("work", 10, 8 * MS);
    work.counters = Some(Box::new(with_shares(0.1, shares)));
    one(function("all", 10, 8 * MS).kernels([work]), |_| ())
}

fn shared(path: f64, shared: f64, conflicts: f64) -> Profile {
    measured([
        (Metric::L1Throughput, path),
        (Metric::SharedThroughput, shared),
        (Metric::SharedConflicts, conflicts),
    ])
}

#[test]
fn bank_conflicts_that_limit_a_kernel_are_found() {
    let finding = the("bank-conflicts", &shared(1.0, 1.0, 0.96875));
    assert_eq!(
        finding.evidence,
        "89 % of GPU time: work repeats 97 % of the passes of shared memory, which is at 100 % of \
         its peak"
    );
    assert!(finding.advice.contains("pad rows"));
    assert_eq!(finding.gain_ns, 36 * MS, "the issue rate is 55 % of 80 ms");
    assert!(
        !speaks("cache-bound", &shared(1.0, 1.0, 0.96875)),
        "it is said once"
    );
    assert!(speaks("cache-bound", &shared(1.0, 1.0, 0.0)));
    for (path, of_it, conflicts, why) in [
        (1.0, 1.0, 0.75, "16 bytes per thread"),
        (0.59, 0.59, 0.97, "no limit"),
        (0.9, 0.3, 0.97, "the L1 cache is"),
    ] {
        assert!(
            !speaks("bank-conflicts", &shared(path, of_it, conflicts)),
            "{why}"
        );
    }
}

#[test]
fn addresses_that_are_far_apart_are_found() {
    let access = |passes: f64, path: f64, fp64: f64| {
        measured([
            (Metric::L1Throughput, path),
            (Metric::SharedThroughput, 0.05),
            (Metric::AccessPasses, passes),
            (Metric::Fp64Active, fp64),
            (Metric::L2Throughput, 0.75),
        ])
    };
    let finding = the("uncoalesced-access", &access(16.0, 0.2, 0.0));
    assert_eq!(
        finding.evidence,
        "89 % of GPU time: work loads and stores in 16.0 passes each: addresses in a warp are far \
         apart"
    );
    assert_eq!(finding.gain_ns, 36 * MS, "the issue rate is 55 % of 80 ms");
    for (passes, path, fp64, why) in [
        (4.0, 0.2, 0.0, "16 bytes per thread"),
        (16.0, 0.14, 0.0, "few accesses"),
        (16.0, 0.2, 0.9, "arithmetic is the limit"),
    ] {
        assert!(
            !speaks("uncoalesced-access", &access(passes, path, fp64)),
            "{why}"
        );
    }
}

#[test]
fn threads_that_wait_for_the_other_branch_are_found() {
    let branch = |threads: f64, alu: f64| {
        measured([
            (Metric::ThreadsActive, threads),
            (Metric::AluActive, alu),
            (Metric::L2Throughput, 0.2),
        ])
    };
    let finding = the("divergence", &branch(0.0625, 0.8));
    assert_eq!(
        finding.evidence,
        "89 % of GPU time: work executes its instructions for 2.0 of 32 threads, with ALU at 80 % \
         of its peak"
    );
    assert_eq!(finding.gain_ns, 60 * MS, "L2 is at 20 of 80 %");
    assert!(
        !speaks("divergence", &branch(0.5, 0.8)),
        "half of the threads work"
    );
    assert!(
        !speaks("divergence", &branch(0.0625, 0.5)),
        "instructions are no limit"
    );
}
