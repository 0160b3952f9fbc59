//! Documents of profiles with everything that a profile can hold.

// Each test uses its own part of this.
#![allow(dead_code)]

use gpuprof_report::json;
use gpuprof_report::profile::{
    CollectiveProcess, CollectiveRanks, Function, FunctionRanks, LateSteps, MetaPair, Profile,
    RankSpread, RankStepWindow, Ranks, SpanStats, Throttle, ToolCommand, UntimedReasons,
};
use gpuprof_report::setting_values::Sampling;
use serde_json::{Map, Value, json};

use super::profiles::{
    convolution, digits, graphs, layers, partly_timed, quickstart, training, trouble,
    with_launch_lines, with_listed_counters, with_stalls, with_steps, without_gpu, without_stream,
};

pub(crate) fn text(profile: &Profile) -> String {
    let mut out = Vec::new();
    json::write(profile, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn document(profile: &Profile) -> Value {
    serde_json::from_str(&text(profile)).unwrap()
}

/// Some figures at the ends of their ranges.
pub(crate) fn extreme() -> Profile {
    let mut profile = trouble();
    profile.diagnostics.sampling = Sampling::AUTO;
    profile.wall_ns = u64::MAX;
    for function in &mut profile.functions {
        let mut longest = SpanStats::default();
        longest.total_ns = u64::MAX;
        longest.max_ns = u64::MAX;
        longest.stddev_ns = u64::MAX;
        (function.cpu, function.bytes) = (longest, Some(f64::MAX));
        // Not a number has no place in JSON and becomes null.
        function.flops = Some(f64::NAN);
    }
    profile
}

pub(crate) fn all() -> [Profile; 15] {
    [
        training(),
        trouble(),
        quickstart(),
        partly_timed(),
        graphs(),
        layers(),
        without_stream(),
        without_gpu(),
        convolution(),
        digits(),
        with_launch_lines(digits()),
        with_stalls(digits()),
        with_listed_counters(digits()),
        extreme(),
        serde_json::from_value(everything()).unwrap(),
    ]
}

/// Gives the profile, and its first function, what CUPTI could have told of another one.
pub(crate) fn add_kernel_tier(profile: &mut Profile) {
    let seen = digits();
    let worked = |function: &&Function| !function.activity.kernels.is_empty();
    profile.functions[0].activity = seen.functions.iter().find(worked).unwrap().activity.clone();
    profile.functions[0].activity.copies = seen.copies.clone();
    (profile.cupti, profile.kernels, profile.copies) = (seen.cupti, seen.kernels, seen.copies);
    (profile.api, profile.findings) = (seen.api, seen.findings);
    profile.kernels[0].times.histogram = vec![(136, 2).into()];
    profile.throttled = vec![{
        let mut throttle = Throttle::default();
        throttle.device = 0;
        throttle.reasons = vec!["power cap".into()];
        throttle.sm_clock_mhz = Some(1_350);
        throttle.max_sm_clock_mhz = Some(1_980);
        throttle
    }];
}

/// One object of every kind that a document may hold, of [`everything`].
pub(crate) const OBJECTS: [&str; 51] = [
    "",
    "/devices/0",
    "/cupti",
    "/kernels/0",
    "/kernels/0/launch_latency",
    "/copies/0",
    "/api/0",
    "/throttled/0",
    "/meta/0",
    "/ranks",
    "/ranks/functions/0",
    "/ranks/functions/0/gpu",
    "/ranks/collectives",
    "/ranks/collectives/least",
    "/ranks/collectives/other",
    "/ranks/collective_processes/0",
    "/ranks/collective_processes/0/process",
    "/ranks/step_windows/0",
    "/ranks/late_steps/0",
    "/ranks/late_steps/0/process",
    "/commands/0",
    "/findings/0",
    "/functions/0/kernels/0",
    "/functions/0/kernels/0/launch_latency",
    "/functions/0/copies/0",
    "/functions/0/api/0",
    "/functions/0/launch_latency",
    "/functions/0",
    "/functions/0/cpu",
    "/functions/0/wall",
    "/functions/0/gpu",
    "/functions/0/gpu/estimate",
    "/functions/0/labels/0",
    "/functions/0/labels/0/gpu",
    "/functions/0/untimed",
    "/tree/0",
    "/diagnostics",
    "/diagnostics/untimed",
    "/diagnostics/errors/0",
    "/steps",
    "/steps/slowest/0",
    "/steps/windows/0",
    "/stalls",
    "/stalls/kernels/0",
    "/stalls/kernels/0/reasons/0",
    "/stalls/kernels/0/lines/0",
    "/stalls/kernels/0/lines/0/reasons/0",
    "/stalls/kernels/1",
    "/stalls/kernels/1/instructions/0",
    "/stalls/kernels/1/instructions/0/reasons/0",
    "/double_lines/0",
];

/// A document with one of everything, so that no object of [`OBJECTS`] is missing or null.
pub(crate) fn everything() -> Value {
    let mut profile = trouble();
    profile.tree = training().tree;
    let mut command = ToolCommand::default();
    command.what = "the time line of the program".into();
    command.line = "nsys profile -t cuda,nvtx".into();
    profile.commands = vec![command];
    let estimated = |function: &&Function| {
        let gpu = function.gpu.as_ref();
        gpu.is_some_and(|gpu| gpu.estimate.is_some())
    };
    let mut function = partly_timed()
        .functions
        .iter()
        .find(estimated)
        .unwrap()
        .clone();
    function.wall = Some(function.cpu.clone());
    function.labels = layers().functions.swap_remove(1).labels;
    function.untimed = each_reason_once();
    profile.diagnostics.untimed = each_reason_once();
    profile.functions.insert(0, function);
    add_kernel_tier(&mut profile);
    profile.meta = vec![MetaPair::new("commit", "1f2e3d4")];
    profile.ranks = Some(ranks());
    profile = with_stalls(with_steps(profile));
    let slowest = profile
        .steps
        .iter_mut()
        .flat_map(|steps| &mut steps.slowest);
    slowest.for_each(|slow| slow.rank = Some(3));
    document(&profile)
}

fn ranks() -> Ranks {
    let mut spread = RankSpread::default();
    (spread.min_ns, spread.mean_ns, spread.max_ns) = (1, 2, 3);
    (spread.imbalance, spread.slowest_rank) = (Some(1.5), Some(7));
    spread.slowest_host = "node7".into();
    let mut function = FunctionRanks::default();
    (function.gpu, function.busy) = (Some(spread.clone()), Some(spread.clone()));
    let mut collectives = CollectiveRanks::default();
    (collectives.profiles, collectives.calls) = (2, Some(100));
    (collectives.min_ns, collectives.mean_ns, collectives.max_ns) = (46, 223, 400);
    (collectives.least.rank, collectives.most.rank) = (Some(1), Some(0));
    collectives.other = spread;
    function.collectives = Some(Box::new(collectives.clone()));
    let mut ranks = Ranks::default();
    ranks.collectives = Some(collectives);
    let mut process = CollectiveProcess::default();
    process.window_ns = vec![46];
    ranks.collective_processes = vec![process];
    let mut window = RankStepWindow::default();
    (window.first_step, window.steps, window.collectives) = (1, 16, Some(16));
    ranks.step_windows = vec![window];
    ranks.late_steps = vec![LateSteps::default()];
    ranks.functions = vec![function];
    ranks
}

pub(crate) fn each_reason_once() -> UntimedReasons {
    let reasons = [
        "no_stream",
        "sampled_out",
        "pool_exhausted",
        "queue_full",
        "cuda_error",
        "unavailable",
        "unfinished",
        "stream_unsafe",
        "crossed_reset",
    ];
    let reasons: Map<String, Value> = reasons
        .map(|name| (name.into(), json!(1)))
        .into_iter()
        .collect();
    let untimed: UntimedReasons = serde_json::from_value(Value::Object(reasons)).unwrap();
    assert_eq!(untimed.sum(), 9);
    untimed
}

/// The fields of the object at `pointer`.
pub(crate) fn fields<'a>(document: &'a mut Value, pointer: &str) -> &'a mut Map<String, Value> {
    let object = document.pointer_mut(pointer).and_then(Value::as_object_mut);
    object.unwrap_or_else(|| panic!("{pointer} is no object"))
}
