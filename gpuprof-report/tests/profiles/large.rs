//! A profile of as many functions as wanted, each with kernels and histograms of 20 buckets.

use gpuprof_report::histogram::{BUCKETS_PER_OCTAVE, octave_and_step};
use gpuprof_report::profile::*;

/// `count` functions in chains of up to eight, on an invented device.
pub(crate) fn large(count: u32) -> Profile {
    let mut profile = Profile::default();
    profile.program = "large_model".into();
    profile.started_at = "2026-11-22T18:00:00Z".into();
    profile.cupti = Some(CuptiCompleteness::default());
    let mut device = Device::default();
    device.name = "Invented GPU".into();
    device.driver = "13.0".into();
    profile.devices.push(device);
    profile.functions = (0..count).map(function).collect();
    profile.kernels = (0..40).map(kernel).collect();
    for number in 0..count {
        profile.tree.push(node(number, &profile.functions));
    }
    let roots = profile.tree.iter().filter(|node| node.parent.is_none());
    let mut busy = GpuBusy::default();
    busy.busy_ns = roots.filter_map(|node| node.busy_ns).sum();
    let mut records = BusyRecords::default();
    records.kernel_ns = busy.busy_ns;
    records.idle_host_ns = busy.busy_ns / 4;
    profile.wall_ns = busy.busy_ns / 2 * 3;
    busy.records = Some(records);
    profile.gpu_busy = vec![busy];
    profile.diagnostics.calls = 40_000;
    profile
}

/// A function that calls itself `depth` times.
pub(crate) fn deep(depth: u32) -> Profile {
    let mut profile = large(1);
    let outermost = profile.tree.remove(0);
    for number in 0..depth {
        let mut node = outermost.clone();
        node.id = number;
        node.parent = number.checked_sub(1);
        node.activities.truncate(usize::from(number + 1 == depth));
        profile.tree.push(node);
    }
    profile
}

fn stats(number: u32, mean_ns: u64) -> SpanStats {
    let mut stats = SpanStats::default();
    stats.mean_ns = mean_ns;
    stats.total_ns = mean_ns * 400;
    stats.self_ns = mean_ns * 300;
    stats.min_ns = mean_ns / 2;
    (stats.p50_ns, stats.p90_ns) = (mean_ns, mean_ns * 5 / 4);
    (stats.p95_ns, stats.p99_ns) = (mean_ns * 3 / 2, mean_ns * 2);
    stats.max_ns = mean_ns * 3;
    stats.stddev_ns = mean_ns / 7;
    // Eight buckets below the mean, and twelve from it on.
    let (octave, step) = octave_and_step(mean_ns);
    let first = (octave * BUCKETS_PER_OCTAVE + step) as u32 - 8;
    let calls = |at: u32| u64::from(1 + at.abs_diff(20) * (1 + number % 9) / (1 + at.abs_diff(8)));
    stats.histogram = (0..20)
        .map(|at| Bucket::from((first + at, calls(at))))
        .collect();
    stats
}

fn function(number: u32) -> Function {
    let mut function = Function::default();
    function.name = format!("model::block_{}::Layer{number}::forward", number / 8);
    function.module = format!("large_model::model::block_{}", number / 8);
    function.file = format!("src/model/block_{}.rs", number / 8);
    function.line = 10 + number % 400;
    (function.calls, function.threads) = (400, 1);
    let mean_ns = 5_000 + 997 * u64::from(number * 7_919 % 1_009);
    function.cpu = stats(number, mean_ns / 3);
    let mut gpu = GpuSpanStats::default();
    gpu.timed_calls = 400;
    gpu.times = stats(number, mean_ns);
    gpu.timed_ns = mean_ns * 400;
    function.gpu = Some(gpu);
    function.has_stream = true;
    function.activity.busy_ns = Some(mean_ns * 320);
    function.activity.idle_ns = Some(mean_ns * 80);
    function.activity.busy_calls = 400;
    function.activity.activities = 800;
    function.activity.kernels = vec![kernel(number % 40)];
    function
}

fn kernel(number: u32) -> KernelStats {
    let mut kernel = KernelStats::default();
    kernel.name = format!("gemm_tile_{number}");
    kernel.full_name = format!("void gemm_tile_{number}<float, 128, 64>(float const*, int)");
    kernel.symbol = format!("_Z12gemm_tile_{number}IfLi128ELi64EEvPKfi");
    kernel.times.calls = 400;
    kernel.times.total_ns = 400 * (2_000 + u64::from(number));
    kernel.times.mean_ns = 2_000 + u64::from(number);
    kernel
}

/// The first of every eight is called from outside, each other one by the one before it.
fn node(number: u32, functions: &[Function]) -> TreeNode {
    let mut node = TreeNode::default();
    node.id = number;
    node.parent = (!number.is_multiple_of(8)).then(|| number - 1);
    node.function = Some(number);
    node.calls = 400;
    if let Some(function) = functions.get(number as usize) {
        node.name.clone_from(&function.name);
        let share = 8 - u64::from(number % 8);
        let busy_ns = share * 400 * (3_000 + 501 * u64::from(number / 8 % 211));
        (node.busy_ns, node.idle_ns) = (Some(busy_ns), Some(busy_ns / 5));
        node.gpu_total_ns = Some(busy_ns + busy_ns / 5);
        node.gpu_self_ns = Some(busy_ns / share);
        (node.cpu_total_ns, node.cpu_self_ns) = (busy_ns / 2, busy_ns / 16);
    }
    let mut launched = NodeActivity::default();
    (launched.kernel, launched.calls) = (Some(number % 40), 400);
    launched.total_ns = 400 * 1_500;
    node.activities = vec![launched];
    node
}
