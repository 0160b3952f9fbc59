//! Each rule speaks from its thresholds on, and not before.

use super::*;
use crate::profile::Throttle;

/// Something beside what is looked at, so that nothing is all of the time.
fn beside(each_ns: u64) -> Function {
    function("beside", 100, each_ns).kernels([kernel("beside", 100, each_ns)])
}

fn one(mut function: Function, change: impl FnOnce(&mut Function)) -> Profile {
    change(&mut function);
    program(h200(), [function, beside(100 * US)], &[])
}

fn speaks(rule: &str, profile: &Profile) -> bool {
    !named(rule, profile).is_empty()
}

#[test]
fn one_kernel_dominates_from_three_fifths_and_five_launches_on() {
    let with = |calls: u64, each: u64| {
        let hot = function("hot", calls, each).kernels([kernel("hot", calls, each)]);
        program(h200(), [hot, beside(100 * US)], &[])
    };
    // Beside it stand 10 ms.
    assert_eq!(named("one-kernel", &with(100, 151 * US)), ["hot"]);
    assert!(!speaks("one-kernel", &with(100, 149 * US)));
    assert!(speaks("one-kernel", &with(5, 4 * MS)));
    assert!(!speaks("one-kernel", &with(4, 5 * MS)));
    let text = evidence("one-kernel", &with(100, 300 * US));
    assert_eq!(
        text,
        "the kernel hot takes 75.0 % of the GPU's kernel and copy time: 100 launches of 300 µs on average."
    );
}

fn step(change: impl FnOnce(&mut Function)) -> Profile {
    let step = function("step", 100, 200 * US).kernels([kernel("tiny", 1_000, 5 * US)]);
    one(step, change)
}

#[test]
fn launch_bound_needs_idle_time_many_launches_and_tiny_kernels() {
    assert_eq!(named("launch-bound", &step(|_| ())), ["step"]);
    assert!(
        !speaks("launch-bound", &step(|f| *f = f.clone().busy(15 * MS))),
        "busy"
    );
    assert!(
        !speaks("launch-bound", &step(|f| f.activity.launches = 700)),
        "few launches"
    );
    assert!(
        !speaks(
            "launch-bound",
            &step(|f| f.activity.kernels[0].times.p50_ns = 21 * US)
        ),
        "long kernels"
    );
    assert!(
        !speaks(
            "launch-bound",
            &step(|f| f.activity.kernels[0].graph_calls = 600)
        ),
        "a graph"
    );
    assert!(
        !speaks("launch-bound", &step(|f| f.activity.busy_calls = 19)),
        "few calls"
    );
    assert!(
        speaks(
            "launch-bound",
            &step(|f| f.activity.idle_ns = Some(50 * MS))
        ) && !speaks(
            "launch-bound",
            &step(|f| f.activity.idle_ns = Some(51 * MS))
        ),
        "something else than launches keeps it waiting"
    );
    assert!(
        !speaks("launch-bound", &step(|f| f.activity.idle_ns = None)),
        "not known"
    );
    let mut lossy = step(|_| ());
    lossy.cupti.as_mut().unwrap().dropped_records = 11;
    assert!(!speaks("launch-bound", &lossy), "records are missing");
}

#[test]
fn idle_time_that_hardly_counts_is_not_told() {
    let mut profile = step(|_| ());
    profile.functions[1] = function("beside", 100, 4 * MS);
    assert!(!speaks("launch-bound", &profile));
}

fn waiting(change: impl FnOnce(&mut Function)) -> Profile {
    let wait = api("cuStreamSynchronize", "sync", 100, 150 * US);
    let function = function("solve", 50, MS)
        .kernels([kernel("k", 100, 100 * US)])
        .calls_cuda([wait, api("cuLaunchKernel", "launch", 100, 4 * US)]);
    one(function, change)
}

#[test]
fn a_wait_in_a_function_that_launches_is_told_with_the_call_and_its_time() {
    let text = evidence("synchronization", &waiting(|_| ()));
    assert_eq!(
        text,
        "cuStreamSynchronize called 100 times, 2 per call of the function: 15.0 ms in all, 7.5 % of the wall time."
    );
    let on_eight = waiting(|f| {
        f.threads = 8;
        f.activity.api[0].times.total_ns = 1_600 * MS;
    });
    let text = evidence("synchronization", &on_eight);
    assert!(
        text.ends_with(": 1.60 s in all of its 8 threads together, 800.0 % of the wall time."),
        "{text}"
    );
    assert!(
        !speaks("synchronization", &waiting(|f| f.cpu_only = true)),
        "on purpose"
    );
    assert!(
        !speaks("synchronization", &waiting(|f| *f = f.clone().kernels([]))),
        "no work"
    );
    assert!(
        !speaks(
            "synchronization",
            &waiting(|f| f.activity.api[0].times.calls = 9)
        ),
        "rare"
    );
    assert!(
        !speaks(
            "synchronization",
            &waiting(|f| f.activity.api[0].times.total_ns = 9 * MS)
        ),
        "short"
    );
    assert!(
        !speaks(
            "synchronization",
            &waiting(|f| f.activity.api[0].kind = "launch".into())
        ),
        "no wait"
    );
}

fn copying(change: impl FnOnce(&mut CopyStats)) -> Profile {
    let mut copies = pageable("HtoD", 10, 200 * US, 1 << 20);
    change(&mut copies);
    one(function("upload", 10, 300 * US).copied([copies]), |_| ())
}

#[test]
fn pageable_copies_are_told_and_page_locked_ones_are_not() {
    let text = evidence("host-copies", &copying(|_| ()));
    assert_eq!(
        text,
        "HtoD copies take 16.7 % of the GPU's kernel and copy time: 2.00 ms in 10 copies, 5.24 GB/s (10 from or to pageable memory, 0 \
         blocking)."
    );
    let page_locked = |c: &mut CopyStats| (c.pageable_calls, c.pageable_ns) = (0, 0);
    assert!(!speaks("host-copies", &copying(page_locked)));
    assert!(
        !speaks("host-copies", &copying(|c| c.kind = "DtoD".into())),
        "within the device"
    );
    assert!(
        !speaks("host-copies", &copying(|c| c.bytes = 10 * 60_000)),
        "small ones"
    );
    assert!(
        !speaks("host-copies", &copying(|c| c.times.total_ns = MS)),
        "a small share"
    );
}

#[test]
fn blocking_copies_are_told_and_so_are_any_from_half_of_the_time_on() {
    let blocking =
        |c: &mut CopyStats| (c.pageable_calls, c.pageable_ns, c.blocking_calls) = (0, 0, 6);
    let profile = copying(blocking);
    assert!(
        the("host-copies", &profile)
            .advice
            .starts_with("Queue the copy on a stream")
    );
    assert!(speaks("host-copies", &profile));
    let many = |ns| {
        let copies = copies("DtoH", 10, ns, 1 << 20);
        one(function("download", 10, 2 * MS).copied([copies]), |_| ())
    };
    assert!(!speaks("host-copies", &many(990 * US)));
    assert!(speaks("host-copies", &many(MS)));
}

fn small(change: impl FnOnce(&mut KernelStats)) -> Profile {
    let mut kernel = kernel("small", 10, 400 * US);
    kernel.grid = [33, 3, 1];
    change(&mut kernel);
    one(function("f", 10, 500 * US).kernels([kernel]), |_| ())
}

#[test]
fn a_grid_that_leaves_multiprocessors_empty_is_told() {
    let text = evidence("underused-gpu", &small(|_| ()));
    assert_eq!(
        text,
        "the kernel small has 99 blocks for 132 multiprocessors; 400 µs on average, 28.6 % of the GPU's kernel and copy time."
    );
    assert_eq!(
        the("underused-gpu", &small(|_| ())).weight_ns,
        MS,
        "a quarter of 4 ms"
    );
    assert!(
        !speaks("underused-gpu", &small(|k| k.grid = [128, 1, 1])),
        "nearly full"
    );
    assert!(
        !speaks("underused-gpu", &small(|k| k.streams = 2)),
        "perhaps several at once"
    );
    assert!(
        !speaks("underused-gpu", &small(|k| k.times.mean_ns = 9 * US)),
        "too short"
    );
    assert!(
        !speaks("underused-gpu", &small(|k| k.times.calls = 4)),
        "rare"
    );
    assert!(
        !speaks("underused-gpu", &small(|k| k.times.total_ns = MS)),
        "a small share"
    );
}

#[test]
fn low_occupancy_is_told_as_a_possible_reason() {
    let occupied = |occupancy| {
        small(|kernel| {
            kernel.grid = [4_096, 1, 1];
            kernel.occupancy = occupancy;
            kernel.registers = 255;
        })
    };
    let text = evidence("underused-gpu", &occupied(Some(0.125)));
    assert!(
        text.contains("at most 12.5 % of the device's warps")
            && text.ends_with("That may cost it speed."),
        "{text}"
    );
    assert!(!speaks("underused-gpu", &occupied(Some(0.25))));
    assert!(!speaks("underused-gpu", &occupied(None)));
}

fn pieces(change: impl FnOnce(&mut Function)) -> Profile {
    let function = function("pipeline", 2, 5 * MS)
        .kernels([kernel("k", 10, 300 * US)])
        .copied([copies("HtoD", 10, 100 * US, 1 << 20)]);
    one(function, change)
}

#[test]
fn copies_and_kernels_in_pieces_on_one_stream_are_told() {
    let text = evidence("one-stream", &pieces(|_| ()));
    assert_eq!(
        text,
        "each call has all its work on one stream: about 3.00 ms of kernels and 1.00 ms of copies between host and device, of \
         which 1.00 ms while no kernel ran. They might overlap."
    );
    let alone = |each_ns, exposed_ns| {
        pieces(|f| {
            let copies = copies("HtoD", 10, each_ns, 1 << 20);
            f.activity.copies[0] = CopyStats {
                exposed_ns,
                ..copies
            };
        })
    };
    let partly = the("one-stream", &alone(100 * US, Some(700 * US)));
    assert_eq!(partly.weight_ns, 700 * US);
    assert!(
        !speaks("one-stream", &alone(100 * US, Some(690 * US))),
        "little to win"
    );
    assert!(speaks("one-stream", &alone(400 * US, Some(1_200 * US))));
    assert!(
        !speaks("one-stream", &alone(400 * US, Some(1_190 * US))),
        "kernels ran beside most of them"
    );
    assert!(!speaks("one-stream", &alone(100 * US, None)), "not known");
    assert!(
        !speaks("one-stream", &pieces(|f| f.activity.work_streams = 2)),
        "two streams"
    );
    assert!(
        !speaks("one-stream", &pieces(|f| f.activity.busy_calls = 3)),
        "three copies a call"
    );
    assert!(
        !speaks("one-stream", &pieces(|f| f.activity.launches = 6)),
        "three kernels a call"
    );
    assert!(
        !speaks(
            "one-stream",
            &pieces(|f| f.activity.copies[0].times.total_ns = 90 * US)
        ),
        "tiny copies"
    );
    assert!(
        !speaks(
            "one-stream",
            &pieces(|f| f.activity.copies[0].kind = "memset".into())
        ),
        "nothing to copy"
    );
    let mut little = pieces(|_| ());
    little.kernels.push(kernel("other", 1, 100 * MS));
    assert!(!speaks("one-stream", &little), "a small share");
}

fn rated(change: impl FnOnce(&mut Function)) -> Profile {
    // 1 TFLOP/s and 100 GB/s: 1.5 % and 2.1 % of the peaks.
    let function = function("rated", 10, MS)
        .kernels([kernel("rated", 10, MS)])
        .states(Some(1e8), Some(1e9));
    one(function, change)
}

#[test]
fn far_below_both_peaks_is_told() {
    let text = evidence("below-roofline", &rated(|_| ()));
    assert_eq!(
        text,
        "by the work that it states its kernels reach 2.1 % of the memory bandwidth and 1.5 % of the single-precision peak; they \
         take 50.0 % of the GPU's kernel and copy time."
    );
    assert!(
        !speaks(
            "below-roofline",
            &rated(|f| *f = f.clone().states(Some(5e8), None))
        ),
        "a tenth"
    );
    assert!(
        !speaks(
            "below-roofline",
            &rated(|f| *f = f.clone().states(None, None))
        ),
        "states nothing"
    );
    assert!(
        !speaks(
            "below-roofline",
            &rated(|f| f.activity.kernels[0].times.calls = 1_000)
        ),
        "tiny kernels"
    );
    assert!(
        !speaks(
            "below-roofline",
            &rated(|f| f.gpu.as_mut().unwrap().timed_calls = 4)
        ),
        "few calls"
    );
    let mut little = rated(|_| ());
    little.kernels.push(kernel("other", 1, 100 * MS));
    assert!(!speaks("below-roofline", &little), "a small share");
    let copied = |f: &mut Function| *f = f.clone().copied([copies("HtoD", 10, 2 * MS, 1 << 20)]);
    assert!(!speaks("below-roofline", &rated(copied)), "mostly copies");
}

/// Two functions of the same work, and what is different in the slow one.
fn twins(slow_ns: u64, change: impl FnOnce(&mut Function)) -> Profile {
    let version = |name: &str, each: u64| {
        function(name, 10, each)
            .kernels([kernel(name, 10, each)])
            .states(Some(1e8), Some(2e10))
    };
    let mut slow = version("slow", slow_ns);
    change(&mut slow);
    program(h200(), [slow, version("fast", MS)], &[])
}

#[test]
fn a_slower_twin_is_suspected_of_double_precision_only_where_that_would_explain_it() {
    const RULE: &str = "double-precision-suspect";
    assert_eq!(named(RULE, &twins(1_250 * US, |_| ())), ["slow"]);
    assert!(!speaks(RULE, &twins(1_190 * US, |_| ())), "hardly slower");
    assert!(speaks(RULE, &twins(2_190 * US, |_| ())));
    assert!(
        !speaks(RULE, &twins(2_210 * US, |_| ())),
        "slower than double precision makes it"
    );
    let suspect = |change: fn(&mut Function)| speaks(RULE, &twins(1_500 * US, change));
    assert!(suspect(|_| ()));
    assert!(
        !suspect(|f| f.activity.kernels[0].grid = [64, 64, 2]),
        "another grid"
    );
    assert!(
        !suspect(|f| f.activity.kernels[0].block = [128, 1, 1]),
        "another block"
    );
    assert!(
        !suspect(|f| f.activity.kernels[0].static_shared_bytes = 2_048),
        "shared memory"
    );
    assert!(
        !suspect(|f| f.activity.kernels[0].symbol = "fast".into()),
        "the same kernel"
    );
    assert!(
        !suspect(|f| *f = f.clone().states(Some(1e8), Some(1.9e10))),
        "other flops"
    );
    assert!(
        !suspect(|f| *f = f.clone().states(Some(1.1e8), Some(2e10))),
        "other bytes"
    );
    assert!(
        !suspect(|f| *f = f.clone().states(Some(1e8), Some(6e10))),
        "faster than double precision is"
    );
    let with_another = |share_ns| {
        let profile = twins(1_500 * US, |f| {
            f.activity.kernels.push(kernel("another", 10, share_ns));
        });
        speaks(RULE, &profile)
    };
    assert!(with_another(370 * US));
    assert!(!with_another(380 * US), "whose flops are they");
}

#[test]
fn a_rate_just_below_a_low_double_precision_peak_is_suspected() {
    const RULE: &str = "double-precision-suspect";
    let at = |share: f64, bytes: f64, device: Device| {
        let f64_peak = device.peak_flops_f64.unwrap() as f64;
        let function = function("f", 10, MS)
            .kernels([kernel("k", 10, MS)])
            .states(Some(bytes), Some(share * f64_peak / 1e3));
        program(device, [function, beside(10 * US)], &[])
    };
    assert!(speaks(RULE, &at(0.75, 1e6, simulated())));
    assert!(!speaks(RULE, &at(0.65, 1e6, simulated())), "well below");
    assert!(!speaks(RULE, &at(1.02, 1e6, simulated())), "above");
    assert!(
        !speaks(RULE, &at(0.75, 1.7e8, simulated())),
        "memory explains it"
    );
    assert!(
        !speaks(RULE, &at(0.75, 1e6, h200())),
        "double precision is fast there"
    );
}

fn started(change: impl FnOnce(&mut Function)) -> Profile {
    let mut function = function("f", 20, MS).calls_cuda([
        api("cuLaunchKernel", "launch", 20, 4 * US),
        api("cuLibraryLoadData", "module", 2, 8 * MS),
    ]);
    function.activity.first_call_ns = Some(30 * MS);
    one(function, change)
}

#[test]
fn a_slow_first_call_is_told_with_what_was_loaded() {
    let text = evidence("first-call", &started(|_| ()));
    assert_eq!(
        text,
        "the first call took 30.0 ms on the CPU, half of the calls at most 1.00 ms. In all its calls and those inside, 2 CUDA \
         calls that load modules or kernels took 16.0 ms; whether the first call made them is not told."
    );
    let unknown = evidence("first-call", &started(|f| f.activity.api.truncate(1)));
    assert!(
        unknown.ends_with("the profile does not say why."),
        "{unknown}"
    );
    assert!(
        !speaks(
            "first-call",
            &started(|f| f.activity.first_call_ns = Some(9 * MS))
        ),
        "nine times"
    );
    assert!(
        !speaks("first-call", &started(|f| f.activity.first_call_ns = None)),
        "not seen"
    );
    assert!(
        !speaks("first-call", &started(|f| f.calls = 9)),
        "few calls"
    );
    assert!(
        !speaks("first-call", &started(|f| f.activity.api.clear())),
        "no CUDA"
    );
    let mut long = started(|_| ());
    long.wall_ns = 2 * S;
    assert!(!speaks("first-call", &long), "a small share");
    let soon = |first| {
        let mut profile = started(|f| {
            f.cpu.p50_ns = 50 * US;
            f.activity.first_call_ns = Some(first);
        });
        profile.wall_ns = 10 * MS;
        speaks("first-call", &profile)
    };
    assert!(
        soon(1_050 * US) && !soon(1_040 * US),
        "less than a millisecond"
    );
}

#[test]
fn of_nested_functions_with_a_slow_first_call_the_inner_one_is_told() {
    let slow = |name: &str, first| {
        let mut function =
            function(name, 20, MS).calls_cuda([api("cuLaunchKernel", "launch", 20, 4 * US)]);
        function.activity.first_call_ns = Some(first);
        function
    };
    let tree = [("outer", None, 20), ("inner", Some(0), 20)];
    let nested = |inner| {
        program(
            h200(),
            [slow("outer", 40 * MS), slow("inner", inner)],
            &tree,
        )
    };
    assert_eq!(named("first-call", &nested(30 * MS)), ["inner"]);
    assert_eq!(named("first-call", &nested(20 * MS)), ["outer"]);
}

fn spread(change: impl FnOnce(&mut SpanStats)) -> Profile {
    let varied = |f: &mut Function| {
        let times = &mut f.gpu.as_mut().unwrap().times;
        (times.p50_ns, times.p99_ns, times.max_ns) = (80 * US, 500 * US, MS);
        change(times);
    };
    one(function("varied", 100, 100 * US), varied)
}

#[test]
fn a_wide_spread_is_told() {
    let text = evidence("wide-spread", &spread(|_| ()));
    assert_eq!(
        text,
        "on the GPU half of its calls take at most 80.0 µs, one in a hundred at least 500 µs, the longest 1.00 ms."
    );
    assert!(
        !speaks("wide-spread", &spread(|t| t.p99_ns = 399 * US)),
        "less than five times"
    );
    assert!(
        !speaks("wide-spread", &spread(|t| t.mean_ns = 81 * US)),
        "only a few"
    );
    let mut few = spread(|_| ());
    few.functions[0].gpu.as_mut().unwrap().timed_calls = 99;
    assert!(!speaks("wide-spread", &few));
    let mut floor = spread(|_| ());
    floor.diagnostics.event_overhead_ns = Some(8_100);
    assert!(!speaks("wide-spread", &floor), "near the event floor");
}

#[test]
fn work_outside_of_functions_is_told() {
    let outside = |number, ns| {
        let mut profile = program(h200(), [beside(100 * US)], &[]);
        let cupti = profile.cupti.as_mut().unwrap();
        (cupti.unattributed, cupti.unattributed_ns) = (number, ns);
        profile
    };
    assert_eq!(named("outside", &outside(10, MS)), [""]);
    assert!(!speaks("outside", &outside(9, MS)), "a few");
    assert!(!speaks("outside", &outside(10, 990 * US)), "a small share");
}

#[test]
fn clocks_that_are_held_down_are_told() {
    let throttled = |clock, reasons: &[&str]| {
        let mut profile = program(h200(), [beside(100 * US)], &[]);
        profile.throttled = vec![Throttle {
            device: 0,
            reasons: reasons.iter().map(|reason| (*reason).into()).collect(),
            sm_clock_mhz: clock,
            max_sm_clock_mhz: Some(1_980),
        }];
        profile
    };
    let profile = throttled(Some(990), &["power cap", "thermal slowdown"]);
    assert_eq!(
        evidence("clocks-throttled", &profile),
        "device 0 was seen at 990 of 1980 MHz (power cap, thermal slowdown)."
    );
    let finding = the("clocks-throttled", &profile);
    assert_eq!(finding.weight_ns, 5 * MS, "half of 10 ms");
    assert!(
        !speaks("clocks-throttled", &throttled(Some(1_900), &["power cap"])),
        "hardly"
    );
    assert!(
        !speaks("clocks-throttled", &throttled(Some(990), &[])),
        "no reason"
    );
    assert!(
        !speaks("clocks-throttled", &throttled(None, &["power cap"])),
        "not known"
    );
}
