//! Rules about the host and the idle time that it causes.

use super::*;

fn waiting(change: impl FnOnce(&mut Function)) -> Profile {
    let wait = api("cuStreamSynchronize", "sync", 100, 450 * US);
    let function = function("solve", 50, MS)
        .kernels([kernel("k", 100, 100 * US)])
        .calls_cuda([wait, api("cuLaunchKernel", "launch", 100, 4 * US)]);
    one(function, change)
}

#[test]
fn a_wait_in_a_function_that_launches_is_reported_as_far_as_the_gpu_is_idle() {
    let finding = the("synchronization", &waiting(|_| ()));
    assert_eq!(
        finding.evidence,
        "GPU 80 % idle around 100 waits, 2/call: cuStreamSynchronize, mean 450 µs"
    );
    assert_eq!(finding.gain_ns, 40 * MS, "45 ms of waits, 40 ms idle");
    let speaks = |change: fn(&mut Function)| speaks("synchronization", &waiting(change));
    assert!(speaks(|f| f.activity.idle_ns = Some(10 * MS)));
    assert!(
        !speaks(|f| f.activity.idle_ns = Some(9 * MS)),
        "5 % of wall"
    );
    assert!(!speaks(|f| f.cpu_only = true), "on purpose");
    assert!(!speaks(|f| *f = f.clone().kernels([])), "no work");
    assert!(!speaks(|f| f.activity.api[0].times.calls = 9), "rare");
    assert!(
        !speaks(|f| f.activity.api[0].times.total_ns = 9 * MS),
        "short"
    );
    assert!(
        !speaks(|f| f.activity.api[0].kind = "launch".into()),
        "no wait"
    );
}

#[test]
fn waits_outside_of_every_function_count_as_far_as_the_run_is_idle() {
    let waits_outside = |calls, idle_ns| {
        let mut profile = program(h200(), [beside(100 * US)], &[]);
        profile.api = vec![api("cuStreamSynchronize", "sync", calls, MS)];
        let records = BusyRecords {
            kernel_ns: 10 * MS,
            idle_host_ns: idle_ns,
            gaps: 100,
            ..BusyRecords::default()
        };
        busy_for(&mut profile, records);
        profile
    };
    let outside = |idle_ns| waits_outside(100, idle_ns);
    assert!(
        !speaks("synchronization", &waits_outside(99, 30 * MS)),
        "few"
    );
    assert_eq!(the("synchronization", &outside(30 * MS)).gain_ns, 30 * MS);
    assert_eq!(named("synchronization", &outside(30 * MS)), [""]);
    assert!(!speaks("synchronization", &outside(9 * MS)));
}

fn step(change: impl FnOnce(&mut Function)) -> Profile {
    let step = function("step", 100, 200 * US)
        .kernels([kernel("tiny", 1_000, 5 * US)])
        .calls_cuda([api("cuLaunchKernel", "launch", 1_000, 14 * US)]);
    one(step, change)
}

#[test]
fn launch_bound_needs_idle_time_many_launches_and_tiny_kernels() {
    let finding = the("launch-bound", &step(|_| ()));
    assert_eq!(
        finding.evidence,
        "GPU 75 % idle: 10 launches/call, median kernel 5.00 µs"
    );
    assert_eq!(finding.gain_ns, 15 * MS);
    let speaks = |change: fn(&mut Function)| speaks("launch-bound", &step(change));
    assert!(!speaks(|f| *f = f.clone().busy(15 * MS)), "busy");
    assert!(!speaks(|f| f.activity.launches = 700), "few launches");
    assert!(
        !speaks(|f| f.activity.kernels[0].times.p50_ns = 21 * US),
        "long"
    );
    assert!(
        !speaks(|f| f.activity.kernels[0].graph_calls = 600),
        "a graph"
    );
    assert!(!speaks(|f| f.activity.busy_calls = 19), "few calls");
    assert!(speaks(|f| f.activity.api[0].times.total_ns = 7_500 * US));
    assert!(
        !speaks(|f| f.activity.api[0].times.total_ns = 7_400 * US),
        "launches are not the cause"
    );
    assert!(!speaks(|f| f.activity.idle_ns = None), "not known");
    let waits = |f: &mut Function| {
        let wait = api("cuEventSynchronize", "sync", 1_000, 15 * US);
        f.activity.api.push(wait);
    };
    assert_eq!(found(&step(waits))[0].0, "synchronization");
    assert!(!speaks(waits), "a wait cannot be captured");
}

#[test]
fn gpuprofs_own_overhead_and_a_slow_first_call_are_not_the_programs() {
    let mut profile = step(|_| ());
    profile.diagnostics.overhead_ns_per_call = Some(20 * US);
    assert_eq!(the("launch-bound", &profile).gain_ns, 13 * MS);
    profile.functions[0].activity.first_call_ns = Some(2_200 * US);
    assert_eq!(the("launch-bound", &profile).gain_ns, 11 * MS);
}

#[test]
fn no_advice_saves_more_than_the_idle_time_of_the_run() {
    let mut profile = step(|_| ());
    let records = BusyRecords {
        kernel_ns: 188 * MS,
        ..BusyRecords::default()
    };
    busy_for(&mut profile, records);
    profile.functions[0].activity.api[0].times.total_ns = 15 * MS;
    assert_eq!(found(&profile), [], "a launch is between two activities");
    profile.gpu_busy[0].records.as_mut().unwrap().idle_launch_ns = 12 * MS;
    assert_eq!(the("launch-bound", &profile).gain_ns, 12 * MS);
}

fn one_launch_per_call(kernel_ns: u64) -> Profile {
    let scale = function("scale", 2_000, 12 * US)
        .kernels([kernel("scale", 2_000, kernel_ns)])
        .calls_cuda([api("cuLaunchKernel", "launch", 2_000, 6 * US)]);
    let mut profile = program(h200(), [scale], &[]);
    profile.wall_ns = 30 * MS;
    profile
}

#[test]
fn kernels_shorter_than_their_launches_are_reported() {
    let finding = the("short-kernels", &one_launch_per_call(2 * US));
    assert_eq!(
        finding.evidence,
        "GPU 83 % idle: median kernel 2.00 µs, its launch 6.00 µs, 2,000 launches"
    );
    assert_eq!(finding.gain_ns, 20 * MS);
    assert!(!speaks("short-kernels", &one_launch_per_call(6 * US)));
}

#[test]
fn short_kernels_outside_of_every_function_are_reported_for_the_program() {
    let mut profile = one_launch_per_call(2 * US);
    profile.functions.clear();
    profile.cupti.as_mut().unwrap().unattributed = 2_000;
    assert_eq!(named("short-kernels", &profile), [""]);
    assert_eq!(the("short-kernels", &profile).gain_ns, 12 * MS);
    profile.kernels[0].times.p50_ns = 7 * US;
    assert!(!speaks("short-kernels", &profile));
}

#[test]
fn a_launch_bound_function_is_named_and_not_short_kernels_inside_it() {
    let leaf = function("leaf", 1_000, 19 * US)
        .kernels([kernel("tiny", 1_000, 5 * US)])
        .calls_cuda([api("cuLaunchKernel", "launch", 1_000, 12 * US)]);
    let outer = function("outer", 100, 200 * US).launching(10).busy(5 * MS);
    let tree = [("outer", None, 100), ("leaf", Some(0), 1_000)];
    let mut profile = program(h200(), [outer, leaf], &tree);
    assert_eq!(found(&profile), [("launch-bound", "outer".into())]);
    profile.functions[0].activity.idle_ns = None;
    assert_eq!(named("short-kernels", &profile), ["leaf"]);
}

fn idle(records: BusyRecords) -> Profile {
    let mut profile = program(h200(), [beside(100 * US)], &[]);
    let gaps = 100;
    busy_for(&mut profile, BusyRecords { gaps, ..records });
    profile
}

#[test]
fn a_gpu_that_is_idle_for_most_of_the_run_is_reported_with_what_it_waited_for() {
    let split = BusyRecords {
        kernel_ns: 40 * MS,
        copy_only_ns: 20 * MS,
        idle_host_ns: 90 * MS,
        idle_launch_ns: 20 * MS,
        idle_queued_ns: 10 * MS,
        ..BusyRecords::default()
    };
    let finding = the("gpu-idle", &idle(split));
    assert_eq!(
        finding.evidence,
        "GPU idle 70 %: 45 % waiting for the host, 10 % in launches, 10 % only copies"
    );
    assert_eq!(finding.gain_ns, 120 * MS);
    assert!(finding.advice.starts_with("annotate the host code"));
    let mut without_functions = idle(split);
    without_functions.functions.clear();
    let finding = the("gpu-idle", &without_functions);
    assert!(
        finding
            .advice
            .starts_with("move host work between launches to")
    );
    let queued = BusyRecords {
        idle_host_ns: 0,
        idle_queued_ns: 90 * MS,
        copy_only_ns: 9 * MS,
        ..split
    };
    assert_eq!(
        evidence("gpu-idle", &idle(queued)),
        "GPU idle 76 %: 45 % queued, 20 % before and after its work"
    );
    let advice = the("gpu-idle", &idle(queued)).advice;
    assert!(advice.starts_with("remove CudaStream::wait"), "{advice}");
    let launches = BusyRecords {
        idle_host_ns: 10 * MS,
        idle_launch_ns: 90 * MS,
        ..split
    };
    let advice = the("gpu-idle", &idle(launches)).advice;
    assert!(advice.starts_with("queue work ahead"), "{advice}");
    let idle_for = |idle_host_ns| BusyRecords {
        idle_host_ns,
        ..split
    };
    assert!(speaks("gpu-idle", &idle(idle_for(30 * MS))));
    assert!(
        !speaks("gpu-idle", &idle(idle_for(29 * MS))),
        "busier than idle"
    );
    let mut little = idle(idle_for(30 * MS));
    little.wall_ns = 301 * MS;
    assert!(
        !speaks("gpu-idle", &little),
        "less than a fifth of the wall"
    );
}

#[test]
fn a_run_that_mostly_does_other_things_is_reported_as_advice_about_measuring() {
    let mut profile = idle(BusyRecords {
        kernel_ns: 900 * MS,
        ..BusyRecords::default()
    });
    profile.wall_ns = 1_890 * MS;
    assert!(!speaks("gpu-idle", &profile), "0.99 s");
    profile.wall_ns = 1_900 * MS;
    let finding = the("gpu-idle", &profile);
    assert_eq!(
        finding.evidence,
        "GPU idle 53 %: 53 % of the run before and after its work"
    );
    assert_eq!(finding.gain_ns, 0);
    profile.devices[0].simulated = true;
    assert!(!speaks("gpu-idle", &profile), "the simulation");
    profile.devices[0].simulated = false;
    profile.gpu_busy[0].busy_ns = 1_100 * MS;
    profile.wall_ns = 2_190 * MS;
    assert!(!speaks("gpu-idle", &profile), "half of the run");
}

#[test]
fn idle_time_that_a_finding_about_a_function_explains_is_reported_once() {
    let mut profile = step(|_| ());
    profile.wall_ns = 60 * MS;
    let records = BusyRecords {
        kernel_ns: 15 * MS,
        idle_launch_ns: 31 * MS,
        gaps: 1_000,
        ..BusyRecords::default()
    };
    busy_for(&mut profile, records);
    assert_eq!(the("gpu-idle", &profile).gain_ns, 16 * MS, "31 - 15");
    profile.functions[0].activity.idle_ns = Some(20 * MS);
    assert!(!speaks("gpu-idle", &profile), "11 of 60 ms");
}

#[test]
fn an_async_function_whose_calls_overlap_is_not_host_bound() {
    let request = |is_async| {
        let mut request = function("request", 30, 2 * MS).kernels([kernel("k", 60, 20 * US)]);
        request.is_async = is_async;
        named("host-bound", &program(h200(), [request], &[]))
    };
    assert_eq!(request(false), ["request"]);
    assert_eq!(request(true), [""; 0]);
}

#[test]
fn of_causes_with_nearly_the_same_gain_the_wait_comes_first() {
    // The host's own code takes 20 ms, which is all of the idle time.
    let waits_for = |each_ns| {
        let solve = function("solve", 100, 400 * US)
            .kernels([kernel("k", 100, 200 * US)])
            .calls_cuda([api("cuStreamSynchronize", "sync", 100, each_ns)]);
        let mut profile = program(h200(), [solve], &[]);
        profile.functions[0].cpu.total_ns = 20 * MS + 100 * each_ns;
        found(&profile)
    };
    assert_eq!(waits_for(200 * US), [("synchronization", "solve".into())]);
    assert_eq!(waits_for(140 * US), [("synchronization", "solve".into())]);
    assert_eq!(waits_for(139 * US), [("host-bound", "solve".into())]);
}

/// Calls of nothing but this, which take the function's whole span, and of `k` for 1 ms in all.
fn calling(name: &str, kind: &str, calls: u64, each_ns: u64) -> Function {
    function("f", calls, each_ns)
        .kernels([kernel("k", 10, 100 * US)])
        .calls_cuda([api(name, kind, calls, each_ns)])
}

#[test]
fn the_idle_time_of_the_run_is_that_of_the_device_that_was_busy_for_the_longest() {
    let mut profile = step(|_| ());
    assert_eq!(the("launch-bound", &profile).gain_ns, 15 * MS);
    let mut other = profile.gpu_busy[0];
    (other.device, other.busy_ns) = (1, 188 * MS);
    profile.gpu_busy.push(other);
    assert_eq!(the("launch-bound", &profile).gain_ns, 12 * MS);
}

#[test]
fn a_wait_inside_a_function_marked_cpu_is_on_purpose_for_its_callers_too() {
    let wait = function("wait", 100, 450 * US)
        .on_the_cpu()
        .calls_cuda([api("cuStreamSynchronize", "sync", 100, 450 * US)]);
    let outer = function("outer", 50, MS).kernels([kernel("k", 19, 100 * US)]);
    let tree = [("outer", None, 50), ("wait", Some(0), 100)];
    let mut profile = program(h200(), [outer, wait], &tree);
    assert!(!speaks("synchronization", &profile));
    profile.functions[1].cpu_only = false;
    assert_eq!(named("synchronization", &profile), ["outer"]);
}

#[test]
fn a_function_without_idle_time_of_its_own_is_limited_by_the_one_around_it() {
    let mut inner = calling("cuMemAlloc_v2", "alloc", 100, 400 * US);
    inner.activity.idle_ns = None;
    let outer = |idle_ns| {
        let mut outer = function("outer", 100, 500 * US);
        outer.activity.idle_ns = Some(idle_ns);
        let tree = [("outer", None, 100), ("f", Some(0), 100)];
        let mut profile = program(h200(), [outer, inner.clone()], &tree);
        profile.functions[0].cpu.total_ns = 0;
        let gains = findings(&profile).into_iter();
        let churn = gains.filter(|finding| finding.rule.as_str() == "allocation-churn");
        churn.map(|finding| finding.gain_ns).collect::<Vec<_>>()
    };
    assert_eq!(outer(30 * MS), [30 * MS]);
    assert_eq!(outer(MS), [0; 0]);
}

#[test]
fn waits_and_host_code_save_no_time_before_the_first_activity() {
    let between = |mut function: Function, idle_ns| {
        function.activity.idle_ns = function.activity.idle_ns.map(|_| 40 * MS);
        let mut profile = program(h200(), [function], &[]);
        let records = BusyRecords {
            kernel_ns: MS,
            idle_host_ns: idle_ns,
            ..BusyRecords::default()
        };
        busy_for(&mut profile, records);
        findings(&profile)
            .first()
            .map(|finding| (finding.rule.as_str(), finding.gain_ns))
    };
    let mut waits = calling("cuStreamSynchronize", "sync", 100, 400 * US);
    waits.activity.idle_ns = None;
    assert_eq!(
        between(waits.clone(), 11 * MS),
        Some(("synchronization", 11 * MS))
    );
    assert_eq!(between(waits, 9 * MS), None);
    let host = function("host", 100, 410 * US).kernels([kernel("k", 20, 50 * US)]);
    assert_eq!(
        between(host.clone(), 11 * MS),
        Some(("host-bound", 11 * MS))
    );
    assert_eq!(between(host, 9 * MS), None);
}

#[test]
fn a_graph_saves_no_time_of_waits() {
    let waits = |f: &mut Function| {
        let wait = api("cuEventSynchronize", "sync", 9, 500 * US);
        f.activity.api.push(wait);
    };
    assert_eq!(the("launch-bound", &step(waits)).gain_ns, 10_500 * US);
}
