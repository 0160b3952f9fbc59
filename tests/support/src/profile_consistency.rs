//! What is true of every profile.

use gpuprof::profile::{
    Function, FunctionMemory, GpuSpanStats, KernelStats, LabelStats, MemoryTotals, SpanStats,
    StepWindow, UntimedReasons,
};
use gpuprof::{Profile, Sampling};
use gpuprof_report::collectives::Collective;

/// Panics if `profile` contradicts itself.
pub fn assert_consistent(profile: &Profile) {
    for function in &profile.functions {
        functions_add_up(profile, function);
    }
    tree_adds_up(profile);
    activities_add_up(profile);
    devices_add_up(profile);
    steps_add_up(profile);
    diagnostics_add_up(profile);
    memory_adds_up(profile);
}

fn functions_add_up(profile: &Profile, f: &Function) {
    let name = &f.name;
    let exact = profile.diagnostics.histogram_dropped == 0;
    times_add_up(name, &f.cpu, exact.then_some(f.calls));
    if let Some(wall) = &f.wall {
        times_add_up(name, wall, exact.then_some(f.calls));
        assert!(f.is_async, "{name}: wall time of a plain function");
    }
    assert_eq!(f.untimed.sum(), f.untimed_calls, "{name}: reasons");
    assert_eq!(f.threads > 0, f.calls > 0, "{name}: threads");
    let timed = f.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
    let with_stream = timed + f.captured_calls + f.untimed_calls;
    assert_eq!(
        with_stream,
        if f.has_stream { f.calls } else { 0 },
        "{name}: a call is not counted"
    );
    gpu_adds_up(profile, f);
    labels_add_up(f);
}

/// The windows have all steps and, with what is after them, all collectives that wait for all
/// ranks.
fn steps_add_up(profile: &Profile) {
    let steps = profile.steps.as_ref();
    let Some(steps) = steps.filter(|steps| !steps.windows.is_empty()) else {
        return;
    };
    let sum = |value: fn(&StepWindow) -> u64| steps.windows.iter().map(value).sum::<u64>();
    assert_eq!(sum(|of| of.steps), steps.count, "{steps:?}");
    // Ticks are converted to ns in each window.
    let wall_ns = sum(|of| of.wall_ns);
    let is_near = wall_ns.abs_diff(steps.total_ns) <= steps.windows.len() as u64;
    assert!(is_near, "{steps:?}");
    let is_waiting = |kernel: &&KernelStats| {
        let collective = Collective::of_kernel(&kernel.symbol);
        collective.is_some_and(|collective| collective.waits_for_all())
    };
    let rows = profile.kernels.iter().filter(is_waiting);
    let (calls, ns) = rows.fold((0, 0), |(calls, ns), row| {
        (calls + row.times.calls, ns + row.times.total_ns)
    });
    let found = (
        sum(|of| of.collectives) + steps.open_collectives,
        sum(|of| of.collective_ns) + steps.open_collective_ns,
    );
    assert_eq!(found, (calls, ns), "collectives of steps");
}

fn labels_add_up(f: &Function) {
    if f.labels.is_empty() {
        return;
    }
    let sum = |value: fn(&LabelStats) -> u64| f.labels.iter().map(value).sum::<u64>();
    let name = &f.name;
    assert_eq!(sum(|label| label.calls), f.calls, "{name}: calls");
    assert_eq!(sum(|label| label.open_calls), f.open_calls, "{name}: open");
    // More in a recursion.
    let total_ns = sum(|label| label.cpu_total_ns);
    assert!(total_ns >= f.cpu.total_ns, "{name}: CPU total");
    let self_ns = sum(|label| label.cpu_self_ns);
    assert_eq!(self_ns, f.cpu.self_ns, "{name}: CPU self");
    let timed = |label: &LabelStats| label.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
    let gpu = f.gpu.as_ref();
    assert_eq!(sum(timed), gpu.map_or(0, |gpu| gpu.timed_calls), "{name}");
}

fn gpu_adds_up(profile: &Profile, f: &Function) {
    let name = &f.name;
    let Some(gpu) = &f.gpu else {
        assert!(f.gpu_by_device.is_empty(), "{name}");
        return;
    };
    assert_ne!(f.gpu_by_device.len(), 1, "{name}: one device is `gpu`");
    assert_eq!(gpu.device.is_some(), f.gpu_by_device.is_empty(), "{name}");
    // A call on several devices is counted on each.
    let parts = f.gpu_on_each_device();
    assert!(parts.iter().all(|part| part.device.is_some()), "{name}");
    let sum = |value: fn(&GpuSpanStats) -> u64| parts.iter().map(value).sum::<u64>();
    let counted = sum(|part| part.timed_calls);
    let is_sample =
        profile.diagnostics.sampling != Sampling::EveryCall || f.untimed.sampled_out > 0;
    for (times, calls) in [(&gpu.times, counted)]
        .into_iter()
        .chain(parts.iter().map(|part| (&part.times, part.timed_calls)))
    {
        times_add_up(name, times, (!is_sample).then_some(calls));
        let counted: u64 = times.histogram.iter().map(|bucket| bucket.count).sum();
        assert!(
            counted >= calls,
            "{name}: each represents one or more calls"
        );
    }
    assert!(gpu.timed_calls > 0 && gpu.timed_calls <= counted, "{name}");
    // The part of each device in a sample is rounded.
    let difference = gpu.timed_ns.abs_diff(sum(|part| part.timed_ns));
    let rounding = if is_sample { parts.len() as u64 } else { 0 };
    assert!(difference <= rounding, "{name}: devices");
    if gpu.estimate.is_none() {
        let total = sum(|part| part.times.total_ns);
        assert_eq!(gpu.times.total_ns, total, "{name}: devices");
        let total = sum(|part| part.times.self_ns);
        assert_eq!(gpu.times.self_ns, total, "{name}: devices");
    }
    assert!(f.gpu_divided_calls <= gpu.timed_calls, "{name}: divided");
    assert!(
        f.gpu_inherited_calls <= gpu.timed_calls,
        "{name}: inherited"
    );
    assert!(f.gpu_host_calls <= f.gpu_inherited_calls, "{name}: host");
    assert_eq!(gpu.estimate.is_some(), f.untimed.sampled_out > 0, "{name}");
}

fn times_add_up(name: &str, times: &SpanStats, calls: Option<u64>) {
    if let Some(calls) = calls {
        let counted: u64 = times.histogram.iter().map(|bucket| bucket.count).sum();
        assert_eq!(counted, calls, "{name}: histogram");
    }
    if times.histogram.is_empty() {
        return;
    }
    let t = times;
    assert!(t.self_ns <= t.total_ns, "{name}: self beyond total");
    let order = [t.min_ns, t.p50_ns, t.p90_ns, t.p95_ns, t.p99_ns, t.max_ns];
    assert!(order.is_sorted(), "{name}: {order:?}");
    assert!((t.min_ns..=t.max_ns).contains(&t.mean_ns), "{name}: {t:?}");
    // Popoviciu's inequality; 1 for rounding.
    assert!(
        t.stddev_ns <= (t.max_ns - t.min_ns) / 2 + 1,
        "{name}: {t:?}"
    );
    let buckets = &t.histogram;
    assert!(buckets.iter().all(|bucket| bucket.count > 0));
    assert!(buckets.is_sorted_by(|a, b| a.index < b.index), "{name}");
}

fn tree_adds_up(profile: &Profile) {
    for (index, node) in profile.tree.iter().enumerate() {
        let before = profile.tree.get(..index).unwrap_or_default();
        assert!(
            before.iter().all(|other| other.id != node.id),
            "{}: two nodes have one id",
            node.name
        );
        assert!(
            node.parent
                .is_none_or(|parent| before.iter().any(|other| other.id == parent)),
            "{}: its parent does not precede it",
            node.name
        );
        match node.function {
            Some(function) => assert_eq!(
                profile.functions[function as usize].name, node.name,
                "the tree names another function"
            ),
            None => assert_eq!(node.name, "captured"),
        }
        let is_call = node.captured.is_none();
        assert!(
            is_call || node.calls + node.cpu_total_ns == 0,
            "{}",
            node.name
        );
        assert!(node.cpu_self_ns <= node.cpu_total_ns, "{}", node.name);
    }
    for (index, function) in profile.functions.iter().enumerate() {
        let nodes = || {
            profile
                .tree
                .iter()
                .filter(move |node| node.function == Some(index as u32))
        };
        let name = &function.name;
        let calls: u64 = nodes().map(|node| node.calls).sum();
        assert_eq!(calls, function.calls, "{name}: calls in the tree");
        let self_ns: u64 = nodes().map(|node| node.cpu_self_ns).sum();
        match profile.diagnostics.misnested {
            0 => assert_eq!(
                self_ns, function.cpu.self_ns,
                "{name}: self times in the tree"
            ),
            _ => assert!(
                self_ns >= function.cpu.self_ns,
                "{name}: self times in the tree"
            ),
        }
        let Some(gpu) = &function.gpu else { continue };
        if gpu.estimate.is_none() {
            let self_ns: u64 = nodes().filter_map(|node| node.gpu_self_ns).sum();
            // Recursive calls on several streams overlap, so that self time equals total time.
            assert_eq!(
                self_ns.min(gpu.times.total_ns),
                gpu.times.self_ns,
                "{name}: GPU self times in the tree"
            );
            let total: u64 = nodes().filter_map(|node| node.gpu_total_ns).sum();
            assert_eq!(total, gpu.timed_ns, "{name}: GPU times in the tree");
        }
    }
}

/// Each activity is at one node of the tree, or unattributed.
fn activities_add_up(profile: &Profile) {
    let mut of_nodes = (0, 0);
    for node in &profile.tree {
        assert!(
            node.activities
                .is_sorted_by(|a, b| a.total_ns >= b.total_ns)
        );
        for activity in &node.activities {
            of_nodes = (of_nodes.0 + activity.calls, of_nodes.1 + activity.total_ns);
            assert!(activity.kernel.is_some() != activity.copies.is_some());
        }
    }
    let kernels = profile.kernels.iter().map(|kernel| &kernel.times);
    let times = kernels.chain(profile.copies.iter().map(|copies| &copies.times));
    let all = times.fold((0, 0), |(calls, ns), times| {
        (calls + times.calls, ns + times.total_ns)
    });
    let unattributed = profile.cupti.as_ref();
    let unattributed = unattributed.map_or((0, 0), |all| (all.unattributed, all.unattributed_ns));
    let sum = (of_nodes.0 + unattributed.0, of_nodes.1 + unattributed.1);
    assert_eq!(sum, all, "activities in the tree");
    for (index, kernel) in profile.kernels.iter().enumerate() {
        for (number, function) in profile.functions.iter().enumerate() {
            let nodes = profile.tree.iter();
            let nodes = nodes.filter(|node| node.function == Some(number as u32));
            let activities = nodes.flat_map(|node| &node.activities);
            let here = activities.filter(|activity| activity.kernel == Some(index as u32));
            let calls: u64 = here.map(|activity| activity.calls).sum();
            let kernels = function.activity.kernels.iter();
            let same =
                |of: &&KernelStats| (&of.symbol, of.device) == (&kernel.symbol, kernel.device);
            let expected: u64 = kernels.filter(same).map(|of| of.times.calls).sum();
            assert_eq!(calls, expected, "{} in {}", kernel.name, function.name);
        }
    }
}

fn devices_add_up(profile: &Profile) {
    let devices = profile.gpu_busy.iter().map(|busy| busy.device);
    assert!(devices.is_sorted_by(|a, b| a < b));
    for busy in &profile.gpu_busy {
        let Some(records) = &busy.records else {
            assert!(busy.busy_ns <= profile.wall_ns, "{busy:?}");
            continue;
        };
        assert_eq!(busy.busy_ns, records.kernel_ns + records.copy_only_ns);
        let kernels = profile.kernels.iter();
        let kernels = kernels.filter(|kernel| kernel.device == busy.device);
        let sum: u64 = kernels.map(|kernel| kernel.times.total_ns).sum();
        assert!(records.kernel_ns <= sum, "{busy:?}");
    }
    for kernel in &profile.kernels {
        assert!(kernel.concurrent_ns <= Some(kernel.times.total_ns));
    }
}

fn diagnostics_add_up(profile: &Profile) {
    let diagnostics = &profile.diagnostics;
    let sum = |value: &dyn Fn(&Function) -> u64| profile.functions.iter().map(value).sum::<u64>();
    let timed = |f: &Function| f.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
    assert_eq!(diagnostics.calls, sum(&|f| f.calls));
    assert_eq!(diagnostics.timed_calls, sum(&timed));
    assert_eq!(diagnostics.captured_calls, sum(&|f| f.captured_calls));
    let mut untimed = UntimedReasons::default();
    profile
        .functions
        .iter()
        .for_each(|f| untimed.add(&f.untimed));
    assert_eq!(diagnostics.untimed, untimed);
    assert_eq!(
        diagnostics.calls_with_stream,
        diagnostics.timed_calls + diagnostics.captured_calls + diagnostics.untimed.sum()
    );
    assert_eq!(diagnostics.dropped, 0, "calls were dropped");
}

fn memory_adds_up(profile: &Profile) {
    let Some(memory) = &profile.memory else {
        assert!(profile.functions.iter().all(|f| f.memory.is_empty()));
        return;
    };
    let functions = profile.functions.iter().flat_map(|f| &f.memory);
    let of_functions: Vec<&FunctionMemory> = functions.chain(&memory.outside).collect();
    for of in &memory.uses {
        assert!(of.peak_bytes >= of.live_bytes, "{of:?}");
    }
    for kind in of_functions.iter().map(|of| of.kind) {
        let uses = || memory.uses.iter().filter(|of| of.kind == kind);
        let own = || of_functions.iter().filter(|of| of.kind == kind);
        let (mut all, mut exclusive) = (MemoryTotals::default(), MemoryTotals::default());
        uses().for_each(|of| all.add(&of.totals));
        own().for_each(|of| exclusive.add(&of.exclusive));
        assert_eq!(exclusive, all, "{kind}: own memory");
        let live: u64 = own().map(|of| of.live_bytes).sum();
        let all: u64 = uses().map(|of| of.live_bytes).sum();
        assert!(live <= all, "{kind}: {live} B of {all} B are live");
    }
    for of in of_functions {
        let (all, own) = (of.inclusive, of.exclusive);
        assert!(
            all.allocated_bytes >= own.allocated_bytes && all.frees >= own.frees,
            "{of:?}"
        );
    }
}
