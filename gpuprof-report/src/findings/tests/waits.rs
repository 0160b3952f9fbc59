//! Rules about what the warps of a kernel wait for.

use super::*;
use crate::profile::{
    CounterMean, CounterValues, KernelStalls, MIN_STALL_SAMPLES, Metric, StallLine,
    StallReasonSamples, Stalls,
};

const REASONS: [(&str, &str); 6] = [
    ("memory-latency", "long_scoreboard"),
    ("math-throttle", "math_pipe_throttle"),
    ("barrier-wait", "barrier"),
    ("load-store-queue", "lg_throttle"),
    ("shared-memory-queue", "mio_throttle"),
    ("instruction-fetch", "no_instructions"),
];

fn reasons(of: &[(&str, u64)]) -> Vec<StallReasonSamples> {
    let reason = |(reason, samples): &(&str, u64)| StallReasonSamples {
        reason: (*reason).into(),
        samples: *samples,
    };
    of.iter().map(reason).collect()
}

fn line(number: u32, of: &[(&str, u64)]) -> StallLine {
    StallLine {
        file: "/home/me/kernels/gather.cu".into(),
        line: number,
        samples: of.iter().map(|(_, samples)| samples).sum(),
        reasons: reasons(of),
    }
}

/// Ten kernels of 8 ms of which a quarter of the warps fit, in a run of 200 ms.
fn waiting(of: &[(&str, u64)]) -> Profile {
    let mut gather = kernel("gather", 10, 8 * MS);
    gather.occupancy = Some(0.25);
    let mut profile = one(function("lookup", 10, 8 * MS).kernels([gather]), |_| ());
    profile.stalls = Some(Stalls {
        kernels: vec![KernelStalls {
            name: "gather".into(),
            samples: of.iter().map(|(_, samples)| samples).sum(),
            reasons: reasons(of),
            ..KernelStalls::default()
        }],
        ..Stalls::default()
    });
    profile
}

fn with(of: &[(&str, u64)], change: impl FnOnce(&mut Profile)) -> Profile {
    let mut profile = waiting(of);
    change(&mut profile);
    profile
}

#[test]
fn a_kernel_with_few_warps_that_waits_for_memory_is_found() {
    let mut profile = waiting(&[("long_scoreboard", 710), ("selected", 200), ("wait", 90)]);
    let finding = the("memory-latency", &profile);
    assert_eq!(
        finding.evidence,
        "89 % of GPU time: gather waits for global or local memory 71 %, occupancy ≤ 25 %"
    );
    assert_eq!(
        finding.advice,
        "keep more loads in flight: more warps, several loads per thread before their use"
    );
    assert_eq!(finding.function.as_deref(), Some("lookup"));
    assert_eq!(finding.gain_ns, 56_800_000, "71 % of 80 ms");
    // The line with the most samples is another one.
    profile.stalls.as_mut().unwrap().kernels[0].lines = vec![
        line(20, &[("selected", 300), ("long_scoreboard", 100)]),
        line(12, &[("long_scoreboard", 150)]),
        line(13, &[("wait", 90)]),
    ];
    assert_eq!(
        evidence("memory-latency", &profile),
        "gather waits for global or local memory 71 %, most at gather.cu:12, occupancy ≤ 25 %"
    );
}

#[test]
fn other_waits_are_found_whatever_the_occupancy() {
    let evidence_of = |rule, reason| {
        let of = [(reason, 450), ("selected", 550)];
        let profile = with(&of, |profile| profile.kernels[0].occupancy = Some(1.0));
        let finding = the(rule, &profile);
        assert_eq!(finding.gain_ns, 36 * MS, "45 % of 80 ms");
        (finding.evidence, finding.advice)
    };
    let found = REASONS[1..]
        .iter()
        .map(|(rule, reason)| evidence_of(rule, reason));
    let expected = [
        (
            "89 % of GPU time: gather waits for a busy arithmetic unit 45 %",
            "use other units too: fewer conversions and divisions, f32 or f16, tensor cores",
        ),
        (
            "89 % of GPU time: gather waits at a barrier of the block 45 %",
            "use fewer barriers, smaller blocks, equal work for all warps, __syncwarp in a warp",
        ),
        (
            "89 % of GPU time: gather waits for room in the queue of loads and stores 45 %",
            "load and store more bytes at once (float4), avoid repeated accesses and spills",
        ),
        (
            "89 % of GPU time: gather waits for room in the queue of shared memory and conversions \
             45 %",
            "use fewer, wider accesses to shared memory, fewer conversions, exp and sqrt",
        ),
        (
            "89 % of GPU time: gather waits for instructions 45 %",
            "make the code smaller: unroll less, inline less, split the kernel, branch less far",
        ),
    ];
    assert!(found.eq(expected.map(|(evidence, advice)| (evidence.into(), advice.into()))));
}

#[test]
fn short_waits_are_no_finding() {
    let least: [u64; REASONS.len()] = [500, 300, 300, 300, 300, 300];
    for ((rule, reason), least) in REASONS.into_iter().zip(least) {
        let of = |samples| {
            let of = [(reason, samples), ("selected", 1_000 - samples)];
            speaks(rule, &waiting(&of))
        };
        assert!(of(least), "{rule}");
        assert!(!of(least - 1), "{rule}");
        let second = [("wait", 505), (reason, 495)];
        assert!(
            !speaks(rule, &waiting(&second)),
            "{rule} is not the longest"
        );
        let selected = [("selected", 405), ("not_selected", 95), (reason, 500)];
        assert!(
            speaks(rule, &waiting(&selected)),
            "{rule} is the longest wait"
        );
    }
}

#[test]
fn a_wait_must_be_worth_a_change() {
    for (rule, reason) in REASONS {
        let change = |change: fn(&mut Profile)| {
            let of = [(reason, 900), ("selected", 100)];
            speaks(rule, &with(&of, change))
        };
        assert!(change(|_| ()), "{rule}");
        let few = |samples| {
            let of = [(reason, samples)];
            speaks(rule, &waiting(&of))
        };
        assert!(few(MIN_STALL_SAMPLES) && !few(MIN_STALL_SAMPLES - 1));
        assert!(!change(|profile| profile.stalls = None));
        // Ten milliseconds of other kernels are beside it.
        assert!(change(
            |profile| profile.kernels[0].times.total_ns = 1_120 * US
        ));
        assert!(!change(
            |profile| profile.kernels[0].times.total_ns = 1_110 * US
        ));
        assert!(change(|profile| profile.kernels[0].times.mean_ns = 10 * US));
        assert!(!change(|profile| profile.kernels[0].times.mean_ns = 9_999));
        // Other kernels run beside it, so that it is no finding by itself.
        let is_of_nccl = |profile: &mut Profile| {
            let kernel = &mut profile.kernels[0];
            kernel.symbol = "ncclDevKernel_Generic".into();
            kernel.concurrent_ns = Some(kernel.times.total_ns);
        };
        assert!(!change(is_of_nccl), "it waits for other ranks");
    }
}

#[test]
fn waiting_for_memory_is_no_finding_where_there_are_warps_or_traffic() {
    let is_found = |change: &dyn Fn(&mut Profile)| {
        let of = [("long_scoreboard", 900), ("selected", 100)];
        speaks("memory-latency", &with(&of, change))
    };
    let warps = |occupancy| is_found(&|profile| profile.kernels[0].occupancy = occupancy);
    assert!(warps(Some(0.5)) && !warps(Some(0.51)) && !warps(None));
    // 132 multiprocessors hold 270,336 threads.
    let blocks = |blocks| {
        is_found(&|profile| {
            let kernel = &mut profile.kernels[0];
            (kernel.occupancy, kernel.grid) = (Some(1.0), [blocks, 1, 1]);
        })
    };
    assert!(blocks(528) && !blocks(529), "half of the warps");
    // 80 ms at the peak are 385 GB.
    let stated = |bytes| is_found(&|profile| profile.functions[0].bytes = Some(bytes));
    assert!(stated(190e9) && !stated(194e9), "half of the bandwidth");
    let measured = |memory: f64, divided| {
        is_found(&|profile| {
            let means = [
                (Metric::DramRead, memory * 4.814e12),
                (Metric::DramWrite, 0.0),
            ];
            let means = means.into_iter().chain([(Metric::IssueRate, 0.1)]);
            let mean = |(metric, mean)| CounterMean {
                metric,
                mean,
                ci95: 0.0,
            };
            profile.kernels[0].occupancy = Some(1.0);
            profile.kernels[0].counters = Some(Box::new(CounterValues {
                samples: 1_000,
                sampled_ns: 50 * MS,
                is_divided: divided,
                means: means.map(mean).collect(),
                ..CounterValues::default()
            }));
        })
    };
    assert!(measured(0.59, false), "no unit is near its peak");
    assert!(!measured(0.61, false), "the memory is");
    assert!(!measured(0.1, true), "the samples are of others, too");
}

#[test]
fn a_rule_that_says_why_comes_before_one_that_says_for_what() {
    let spilling = |local_bytes| {
        let of = [("long_scoreboard", 800), ("selected", 200)];
        found(&with(&of, |profile| {
            let kernel = &mut profile.kernels[0];
            (kernel.local_bytes_per_thread, kernel.registers) = (local_bytes, 64);
        }))
    };
    // 384 bytes are 60 % of the registers and local memory of a thread, 64 bytes 20 %.
    assert_eq!(spilling(384), [("local-memory", "lookup".into())]);
    assert_eq!(spilling(64), [("memory-latency", "lookup".into())]);
}
