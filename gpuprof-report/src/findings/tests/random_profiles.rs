//! Random profiles, for promises that hold whatever a profile says.

use fastrand::Rng;

use super::*;
use crate::findings::late_steps;
use crate::profile::NVTX_MODULE;
use crate::profile::{
    ApiKind, CollectiveProcess, CollectiveRanks, CopyKind, CounterMean, CounterValues,
    KernelStalls, LateSteps, Metric, RankProcess, RankSpread, RankStepWindow, Ranks, StallLine,
    StallReasonSamples, Stalls, Throttle, ThrottleReason,
};

/// Mostly small, sometimes 0, sometimes as large as it gets.
fn number(rng: &mut Rng) -> u64 {
    match rng.u8(..10) {
        0 => 0,
        1 => u64::MAX,
        2 => rng.u64(..),
        3..6 => rng.u64(..2_000),
        _ => rng.u64(..S),
    }
}

fn maybe<T>(rng: &mut Rng, make: impl FnOnce(&mut Rng) -> T) -> Option<T> {
    rng.bool().then(|| make(rng))
}

fn times(rng: &mut Rng) -> DurationStats {
    DurationStats {
        calls: number(rng),
        total_ns: number(rng),
        mean_ns: number(rng),
        p50_ns: number(rng),
        p99_ns: number(rng),
        ..DurationStats::default()
    }
}

/// Of kernels.
const NAMES: [&str; 4] = [
    "k",
    "volta_sgemm_128x64_nn",
    "a kernel of a very long name, longer than fits",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
];

fn random_kernel(rng: &mut Rng) -> KernelStats {
    let name = NAMES[rng.usize(..NAMES.len())];
    let sides = [0, 1, 33, 1_100, u32::MAX];
    let mut side = || sides[rng.usize(..sides.len())];
    let (grid, block) = ([side(), side(), side()], [side(), 256, 1]);
    KernelStats {
        grid,
        block,
        times: times(rng),
        shapes: rng.u32(..3),
        device: rng.u32(..3),
        registers: rng.u32(..300),
        graph_calls: number(rng),
        local_bytes_per_thread: number(rng) as u32,
        concurrent_ns: maybe(rng, number),
        counters: maybe(rng, random_counters),
        ..kernel(name, 1, 1)
    }
}

fn random_copies(rng: &mut Rng) -> CopyStats {
    CopyStats {
        kind: CopyKind::ALL[rng.usize(..CopyKind::ALL.len())],
        times: times(rng),
        bytes: number(rng),
        pageable_calls: number(rng),
        pageable_ns: number(rng),
        blocking_calls: number(rng),
        exposed_ns: maybe(rng, number),
        ..CopyStats::default()
    }
}

fn random_api(rng: &mut Rng) -> ApiStats {
    let names = ["cuLaunchKernel", "cuModuleLoadData", "cuMemFree_v2"];
    ApiStats {
        name: names[rng.usize(..names.len())].into(),
        kind: ApiKind::ALL[rng.usize(..ApiKind::ALL.len())],
        times: times(rng),
        failed: 0,
    }
}

fn several<T>(rng: &mut Rng, make: fn(&mut Rng) -> T) -> Vec<T> {
    (0..rng.usize(..4)).map(|_| make(rng)).collect()
}

fn random_function(rng: &mut Rng) -> Function {
    let mut random = function("f", 1, 1);
    random.calls = number(rng);
    random.cpu_only = rng.u8(..8) == 0;
    random.bytes = maybe(rng, |rng| number(rng) as f64 * 1e12);
    random.flops = maybe(rng, |rng| number(rng) as f64);
    for times in [&mut random.cpu, &mut random.gpu.as_mut().unwrap().times] {
        (times.total_ns, times.mean_ns) = (number(rng), number(rng));
        (times.p50_ns, times.p99_ns) = (number(rng), number(rng));
    }
    random.gpu.as_mut().unwrap().timed_calls = number(rng);
    random.activity = GpuActivity {
        kernels: several(rng, random_kernel),
        copies: several(rng, random_copies),
        api: several(rng, random_api),
        busy_ns: maybe(rng, number),
        idle_ns: maybe(rng, number),
        busy_calls: number(rng),
        activities: number(rng),
        launches: number(rng),
        work_streams: rng.u32(..3),
        first_call_ns: maybe(rng, number),
        counters: maybe(rng, random_counters),
        ..GpuActivity::default()
    };
    random
}

fn random_counters(rng: &mut Rng) -> Box<CounterValues> {
    let mut means = Vec::new();
    for &metric in Metric::ALL {
        let unit = match metric {
            Metric::AccessPasses => 32.0,
            metric if metric.is_bytes_per_s() => 5e12,
            _ => 1.0,
        };
        means.push(CounterMean {
            metric,
            mean: rng.f64() * unit,
            ci95: rng.f64(),
        });
    }
    Box::new(CounterValues {
        samples: number(rng),
        sampled_ns: number(rng),
        in_turn_samples: number(rng),
        in_turn_ns: number(rng),
        is_divided: rng.bool(),
        means,
        listed: Vec::new(),
    })
}

fn random_busy(rng: &mut Rng, device: u32) -> GpuBusy {
    let records = BusyRecords {
        kernel_ns: number(rng),
        copy_only_ns: number(rng),
        gaps: number(rng),
        idle_host_ns: number(rng),
        idle_launch_ns: number(rng),
        idle_queued_ns: number(rng),
    };
    GpuBusy {
        device,
        busy_ns: number(rng),
        records: (rng.u8(..4) > 0).then_some(records),
        ..GpuBusy::default()
    }
}

fn random_profile(rng: &mut Rng) -> Profile {
    let functions: Vec<Function> = (0..rng.usize(..6)).map(|_| random_function(rng)).collect();
    let node = |id: u32, rng: &mut Rng| TreeNode {
        id,
        parent: maybe(rng, |rng| rng.u32(..8)).filter(|parent| *parent < id),
        // Of a document that gpuprof did not write: functions that there are not.
        function: maybe(rng, |rng| rng.u32(..7)),
        calls: number(rng),
        ..TreeNode::default()
    };
    let tree = (0..rng.u32(..8)).map(|id| node(id, rng)).collect();
    let mut profile = program(h200(), [], &[]);
    let inside = functions.iter().flat_map(|f| f.activity.kernels.clone());
    profile.kernels.extend(inside);
    profile.functions = functions;
    profile.tree = tree;
    profile.wall_ns = number(rng);
    profile.kernels.extend(several(rng, random_kernel));
    profile.copies.extend(several(rng, random_copies));
    profile.api.extend(several(rng, random_api));
    profile.gpu_busy = (0..rng.u32(..3)).map(|at| random_busy(rng, at)).collect();
    profile.diagnostics.overhead_ns_per_call = maybe(rng, number);
    let cupti = profile.cupti.as_mut().unwrap();
    (cupti.unattributed, cupti.unattributed_ns) = (number(rng), number(rng));
    profile.throttled = vec![Throttle {
        reasons: vec![ThrottleReason::PowerCap],
        sm_clock_mhz: maybe(rng, |rng| rng.u32(..3_000)),
        max_sm_clock_mhz: Some(1_980),
        throttled_ns: number(rng),
        sampled_ns: number(rng),
        ..Throttle::default()
    }];
    profile.ranks = maybe(rng, random_ranks);
    profile.stalls = maybe(rng, random_stalls);
    profile
}

/// Of each kernel one reason and one line.
fn random_stalls(rng: &mut Rng) -> Stalls {
    let reasons = [
        "long_scoreboard",
        "math_pipe_throttle",
        "barrier",
        "lg_throttle",
        "mio_throttle",
        "no_instructions",
        "selected",
        "of a newer chip",
    ];
    let kernels = NAMES.map(|name| {
        let reason = StallReasonSamples {
            reason: reasons[rng.usize(..reasons.len())].into(),
            samples: number(rng),
        };
        let line = StallLine {
            file: "a/very/long/path/of/a/file/kernels.cu".into(),
            line: rng.u32(..),
            samples: number(rng),
            reasons: vec![reason.clone()],
        };
        KernelStalls {
            name: name.into(),
            samples: number(rng),
            reasons: vec![reason],
            lines: maybe(rng, |_| line).into_iter().collect(),
            ..KernelStalls::default()
        }
    });
    Stalls {
        kernels: kernels.into(),
        ..Stalls::default()
    }
}

fn random_ranks(rng: &mut Rng) -> Ranks {
    let profiles = rng.u32(..9);
    let collectives = maybe(rng, |rng| CollectiveRanks {
        profiles,
        calls: maybe(rng, number),
        min_ns: number(rng),
        mean_ns: number(rng),
        max_ns: number(rng),
        least_other_ns: number(rng),
        other: RankSpread {
            mean_ns: number(rng),
            ..RankSpread::default()
        },
        ..CollectiveRanks::default()
    });
    let listed = (0..profiles).map(|_| CollectiveProcess {
        process: RankProcess::default(),
        wall_ns: number(rng),
        collective_ns: number(rng),
        other_ns: number(rng),
        window_ns: (0..3).map(|_| number(rng)).collect(),
    });
    let collective_processes = listed.collect();
    let windows = (0..3).map(|_| RankStepWindow {
        first_step: number(rng),
        steps: number(rng),
        wall_ns: number(rng),
        collectives: maybe(rng, number),
    });
    let step_windows = windows.collect();
    let late = (0..rng.usize(..3)).map(|_| LateSteps {
        first_step: number(rng),
        steps: number(rng),
        late_ns: number(rng),
        ..LateSteps::default()
    });
    let mut ranks = Ranks {
        profiles,
        collective_processes,
        collectives,
        step_windows,
        late_steps: late.collect(),
        ..Ranks::default()
    };
    ranks.late_steps.extend(late_steps(&ranks));
    ranks
}

#[test]
fn no_gain_exceeds_the_wall_time_and_the_largest_comes_first() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..20_000 {
        let profile = random_profile(&mut Rng::with_seed(seed));
        let found = findings(&profile);
        let gains: Vec<u64> = found.iter().map(|finding| finding.gain_ns).collect();
        assert!(gains.is_sorted_by(|a, b| a >= b), "{seed}: {gains:?}");
        assert!(gains.iter().all(|gain| *gain <= profile.wall_ns), "{seed}");
        for finding in &found {
            assert!(!finding.evidence.ends_with('.'), "{seed}: {finding:?}");
            assert!(finding.advice.chars().count() <= 90, "{seed}: {finding:?}");
        }
        seen.extend(found.iter().map(|finding| finding.rule));
        // A program in any language, whose functions are NVTX ranges.
        let mut foreign = profile;
        for function in &mut foreign.functions {
            NVTX_MODULE.clone_into(&mut function.module);
        }
        for finding in findings(&foreign) {
            let advice = &finding.advice;
            let of_rust = [
                "CudaStream",
                "CudaContext",
                "CudaGraph",
                "CudaSlice",
                "gpu_profile",
            ];
            let found = of_rust.iter().find(|name| advice.contains(**name));
            assert_eq!(found, None, "{seed}: {advice}");
        }
    }
    // The profiles reach every rule.
    let missing = super::super::RULES
        .iter()
        .map(|rule| rule.id)
        .filter(|id| !seen.contains(id));
    assert_eq!(missing.collect::<Vec<_>>(), []);
}
