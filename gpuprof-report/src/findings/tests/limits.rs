//! Profiles just at the limits of rules, where other tests are far from them.

use super::*;
use crate::profile::Throttle;

/// Whether the rule speaks for a function with this change, in a run of this time.
fn at(rule: &str, wall_ns: u64, function: Function) -> bool {
    let mut profile = one(function, |_| ());
    profile.wall_ns = wall_ns;
    speaks(rule, &profile)
}

/// Each call launches this many kernels of 5 µs, in spans of 200 µs.
fn step(calls: u64, per_call: u64, busy_ns: u64) -> Function {
    let launches = calls * per_call;
    function("step", calls, 200 * US)
        .kernels([kernel("tiny", launches, 5 * US)])
        .busy(busy_ns)
        .calls_cuda([api("cuLaunchKernel", "launch", launches, 14 * US)])
}

#[test]
fn limits_of_launches() {
    let bound = |function| at("launch-bound", 30 * MS, function);
    assert!(bound(step(100, 10, 14 * MS)), "30 % idle");
    assert!(!bound(step(100, 10, 14_100 * US)));
    assert!(bound(step(20, 10, MS)), "20 calls");
    assert!(!bound(step(19, 10, MS)));
    let mut longer = step(100, 10, 5 * MS);
    longer.activity.kernels[0].times.p50_ns = 20 * US;
    assert!(bound(longer));
    let short = |function| at("short-kernels", 50 * MS, function);
    assert!(short(step(100, 1, 500 * US).calls_cuda([api(
        "cuLaunchKernel",
        "launch",
        100,
        150 * US
    )])));
    assert!(!short(step(99, 1, 500 * US).calls_cuda([api(
        "cuLaunchKernel",
        "launch",
        99,
        150 * US
    )])));
}

#[test]
fn limits_of_waits_and_host_code() {
    let waits = |calls| {
        let solve = function("solve", 50, MS)
            .kernels([kernel("k", 10, MS)])
            .calls_cuda([api("cuStreamSynchronize", "sync", calls, 4 * MS)]);
        at("synchronization", 200 * MS, solve)
    };
    assert!(waits(10) && !waits(9));
    let host = |launches, busy_ns| {
        let compute = function("compute", 1, 20 * MS)
            .kernels([kernel("k", launches, 5 * US)])
            .busy(busy_ns);
        at("host-bound", 100 * MS, compute)
    };
    assert!(host(20, MS) && !host(19, MS));
    assert!(host(20, 14 * MS) && !host(20, 14_100 * US));
}

#[test]
fn limits_of_loading() {
    let loads = |calls, loads| {
        let infer = function("infer", calls, 2 * MS)
            .kernels([kernel("k", 10, 400 * US)])
            .calls_cuda([api("cuModuleLoadData", "module", loads, MS)]);
        at("module-loads", 100 * MS, infer)
    };
    assert!(loads(20, 10) && !loads(21, 10), "half of the calls");
    assert!(loads(10, 10) && !loads(10, 9), "ten loads");
    let first = |calls, wall_ns| {
        let mut first =
            function("f", calls, MS).calls_cuda([api("cuLaunchKernel", "launch", calls, US)]);
        first.activity.first_call_ns = Some(30 * MS);
        at("first-call", wall_ns, first)
    };
    assert!(first(10, 200 * MS) && !first(9, 200 * MS));
    assert!(first(20, 1_450 * MS) && !first(20, 1_460 * MS), "29 ms");
}

#[test]
fn limits_of_copies_and_memsets() {
    let upload = |pageable_ns| {
        let upload = CopyStats {
            pageable_ns,
            ..copies("HtoD", 10, 200 * US, 1 << 20)
        };
        at(
            "host-copies",
            200 * MS,
            function("upload", 10, 300 * US).copied([upload]),
        )
    };
    assert!(upload(MS) && !upload(990 * US));
    let pieces = |each_ns| {
        let pieces = function("pipeline", 2, 5 * MS)
            .kernels([kernel("k", 10, 300 * US)])
            .copied([copies("HtoD", 100, each_ns, 1 << 20)]);
        at("one-stream", 100 * MS, pieces)
    };
    assert!(pieces(10 * US) && !pieces(9_900));
    let small = |calls| {
        let read = function("read", calls, 100 * US)
            .kernels([kernel("k", calls, US)])
            .copied([copies("DtoH", calls, US, 4)])
            .calls_cuda([api("cuMemcpyDtoH_v2", "copy", calls, 90 * US)]);
        at("small-copies", 100 * MS, read)
    };
    assert!(small(100) && !small(99));
    let cleared = |calls| {
        let product = function("product", calls, 200 * US)
            .kernels([kernel("matmul", calls, 100 * US)])
            .copied([copies("memset", calls, 50 * US, 4_096)]);
        at("memsets", 20 * MS, product)
    };
    assert!(cleared(20) && !cleared(19));
}

/// A kernel of 99 blocks, in a run in which others take 10 ms.
fn small(change: impl FnOnce(&mut KernelStats)) -> Function {
    let mut kernel = kernel("small", 10, 400 * US);
    kernel.grid = [99, 1, 1];
    change(&mut kernel);
    function("f", 10, 500 * US).kernels([kernel])
}

#[test]
fn limits_of_kernels() {
    let underused = |change: fn(&mut KernelStats)| at("underused-gpu", 100 * MS, small(change));
    assert!(
        underused(|k| k.times.total_ns = 1_120 * US),
        "a tenth of 11.12 ms"
    );
    assert!(!underused(|k| k.times.total_ns = 1_110 * US));
    assert!(underused(|k| k.times.calls = 5));
    assert!(underused(|k| k.times.mean_ns = 10 * US));
    assert!(
        underused(|k| k.concurrent_ns = Some(2 * MS)),
        "half of 4 ms"
    );
    assert!(!underused(|k| k.concurrent_ns = Some(2_010 * US)));
    let tail = |change: fn(&mut KernelStats)| at("tail-wave", 100 * MS, small(change));
    assert!(tail(
        |k| (k.grid, k.times.mean_ns) = ([1_100, 1, 1], 20 * US)
    ));
    let local = |change: fn(&mut KernelStats)| at("local-memory", 50 * MS, small(change));
    assert!(local(
        |k| (k.local_bytes_per_thread, k.registers, k.grid) = (100, 225, [4_096, 1, 1])
    ));
    assert!(!local(|k| (
        k.local_bytes_per_thread,
        k.registers,
        k.grid
    ) = (99, 225, [4_096, 1, 1])));
}

#[test]
fn limits_of_rates() {
    let rated = |change: &dyn Fn(&mut Profile)| {
        let function = function("rated", 10, MS)
            .kernels([kernel("rated", 10, MS)])
            .states(Some(1e8), Some(1e9));
        let mut profile = one(function, |_| ());
        change(&mut profile);
        speaks("below-roofline", &profile)
    };
    let beside = |ns| rated(&|profile| profile.kernels.push(kernel("other", 1, ns)));
    assert!(beside(80 * MS) && !beside(81 * MS), "10 of 100 ms");
    let launches =
        |calls| rated(&|profile| profile.functions[0].activity.kernels[0].times.calls = calls);
    assert!(launches(500) && !launches(501), "20 µs each");
    let copying = |ns| {
        rated(&|profile| {
            profile.functions[0].activity.copies = vec![copies("HtoD", 1, ns, 1 << 20)];
        })
    };
    assert!(
        copying(10 * MS) && !copying(10_100 * US),
        "half of its time"
    );
    let timed =
        |calls| rated(&|profile| profile.functions[0].gpu.as_mut().unwrap().timed_calls = calls);
    assert!(timed(5) && !timed(4));
}

#[test]
fn limits_of_the_run() {
    let mut spread = function("varied", 100, 100 * US);
    let times = &mut spread.gpu.as_mut().unwrap().times;
    (times.p50_ns, times.p99_ns) = (80 * US, 500 * US);
    spread.activity.idle_ns = Some(4_900 * US);
    let mut profile = one(spread, |_| ());
    profile.wall_ns = 40 * MS;
    profile.diagnostics.event_overhead_ns = Some(8 * US);
    assert!(speaks("wide-spread", &profile));
    let throttled = |clock| {
        let mut profile = program(h200(), [beside(100 * US)], &[]);
        profile.throttled = vec![Throttle {
            reasons: vec!["power cap".into()],
            sm_clock_mhz: Some(clock),
            max_sm_clock_mhz: Some(2_000),
            ..Throttle::default()
        }];
        speaks("clocks-throttled", &profile)
    };
    assert!(throttled(1_900) && !throttled(1_902));
    let mut lossy = examples::training_on_h200();
    lossy.cupti.as_mut().unwrap().dropped_records = 10;
    assert!(speaks("launch-bound", &lossy), "1 % of 1,000");
    let copying = |copy_only_ns| {
        let mut profile = program(h200(), [beside(100 * US)], &[]);
        let records = BusyRecords {
            copy_only_ns,
            idle_host_ns: 150 * MS,
            ..BusyRecords::default()
        };
        busy_for(&mut profile, records);
        evidence("gpu-idle", &profile).ends_with("only copies")
    };
    assert!(copying(10 * MS) && !copying(9_900 * US), "5 % of 200 ms");
}
