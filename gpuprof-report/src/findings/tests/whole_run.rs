//! Rules about the program as a whole.

use super::*;
use crate::profile::{FindingRule, GpuSpanStats, LaunchLine, LaunchStacks, Throttle};

fn spread(change: impl FnOnce(&mut SpanStats)) -> Profile {
    let varied = |f: &mut Function| {
        let times = &mut f.gpu.as_mut().unwrap().times;
        (times.p50_ns, times.p99_ns, times.max_ns) = (80 * US, 500 * US, MS);
        change(times);
    };
    let mut profile = one(function("varied", 100, 100 * US), varied);
    profile.wall_ns = 40 * MS;
    profile
}

#[test]
fn a_wide_spread_is_reported() {
    let finding = the("wide-spread", &spread(|_| ()));
    assert_eq!(
        finding.evidence,
        "p99 500 µs on the GPU, median 80.0 µs, longest 1.00 ms"
    );
    assert_eq!(finding.gain_ns, 2 * MS, "20 of 100 µs");
    assert!(
        !speaks("wide-spread", &spread(|t| t.p99_ns = 399 * US)),
        "less than five times"
    );
    assert!(
        !speaks("wide-spread", &spread(|t| t.mean_ns = 81 * US)),
        "only a few"
    );
    let mut idle = spread(|_| ());
    idle.functions[0].activity.idle_ns = Some(5 * MS);
    assert!(!speaks("wide-spread", &idle), "the host varies");
    let mut long = spread(|_| ());
    long.wall_ns = 41 * MS;
    assert!(!speaks("wide-spread", &long), "less than 5 %");
    let mut few = spread(|_| ());
    few.functions[0].gpu.as_mut().unwrap().timed_calls = 99;
    assert!(!speaks("wide-spread", &few));
    let mut floor = spread(|_| ());
    floor.diagnostics.event_overhead_ns = Some(8_100);
    assert!(!speaks("wide-spread", &floor), "near the event overhead");
}

#[test]
fn the_difference_of_two_devices_is_no_spread() {
    let mut two = spread(|_| ());
    let gpu = two.functions[0].gpu.as_mut().unwrap();
    gpu.timed_calls = 200;
    let part = |device, each_ns| GpuSpanStats {
        device: Some(device),
        timed_calls: 100,
        times: SpanStats {
            total_ns: 100 * each_ns,
            mean_ns: each_ns,
            p50_ns: each_ns,
            p99_ns: each_ns,
            max_ns: each_ns,
            ..SpanStats::default()
        },
        ..GpuSpanStats::default()
    };
    two.functions[0].gpu_by_device = vec![part(0, 80 * US), part(1, 500 * US)];
    assert!(!speaks("wide-spread", &two), "one device is slower");
    // The second device has a spread of its own: 20 of 100 µs in 100 calls.
    let times = &mut two.functions[0].gpu_by_device[1].times;
    (times.total_ns, times.mean_ns, times.p50_ns) = (10 * MS, 100 * US, 80 * US);
    let finding = the("wide-spread", &two);
    assert_eq!(
        finding.evidence,
        "p99 500 µs on GPU 1, median 80.0 µs, longest 500 µs"
    );
    assert_eq!(finding.gain_ns, 2 * MS);
}

#[test]
fn work_outside_of_functions_is_reported() {
    let outside = |number, ns| {
        let mut profile = program(h200(), [beside(100 * US)], &[]);
        let cupti = profile.cupti.as_mut().unwrap();
        (cupti.unattributed, cupti.unattributed_ns) = (number, ns);
        profile
    };
    let finding = the("outside", &outside(10, MS));
    assert_eq!((finding.function, finding.gain_ns), (None, 0));
    assert_eq!(
        finding.evidence,
        "10 % of GPU time outside any profiled function: 10 kernels, copies and memsets"
    );
    assert!(finding.advice.ends_with("GPUPROF_STACKS=on names them"));
    // Nobody can annotate a program that is not built with gpuprof.
    let mut without_functions = outside(10, MS);
    without_functions.functions.clear();
    let found = findings(&without_functions);
    assert!(
        found
            .iter()
            .all(|finding| finding.rule != FindingRule::Outside),
        "{found:?}"
    );
    let mut with_lines = outside(10, MS);
    let framework = LaunchLine {
        function: "cubecl::launch".into(),
        in_framework: true,
        total_ns: 400,
        ..LaunchLine::default()
    };
    let own = LaunchLine {
        function: "app::warm_up".into(),
        file: Some("src/main.rs".into()),
        line: Some(12),
        ..LaunchLine::default()
    };
    for (own_ns, share) in [
        (600, "most of the sampled part is from there, 60 %"),
        (400, "50 % of the sampled part is from there"),
        (100, "20 % of the sampled part is from there"),
    ] {
        let own = LaunchLine {
            total_ns: own_ns,
            ..own.clone()
        };
        with_lines.stacks = Some(LaunchStacks {
            unattributed: vec![framework.clone(), own],
            ..LaunchStacks::default()
        });
        assert_eq!(
            the("outside", &with_lines).advice,
            format!("annotate app::warm_up at src/main.rs:12 with #[gpu_profile]: {share}")
        );
    }
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
            ..Throttle::default()
        }];
        profile
    };
    let profile = throttled(Some(990), &["power cap", "thermal slowdown"]);
    assert_eq!(
        evidence("clocks-throttled", &profile),
        "990 of 1980 MHz on device 0 for 100 % of the time: power cap, thermal slowdown"
    );
    let finding = the("clocks-throttled", &profile);
    assert_eq!(finding.gain_ns, 5 * MS, "half of 10 ms");
    let mut shorter = throttled(Some(990), &["power cap"]);
    let throttle = &mut shorter.throttled[0];
    throttle.mean_sm_clock_mhz = Some(1_485);
    (throttle.throttled_ns, throttle.sampled_ns) = (MS, 2 * MS);
    let finding = the("clocks-throttled", &shorter);
    assert_eq!(finding.gain_ns, 1_250_000, "a quarter, in half of the time");
    shorter.throttled[0].sampled_ns = 6 * MS;
    assert!(!speaks("clocks-throttled", &shorter), "a moment");
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
