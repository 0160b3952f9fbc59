//! Profiles as real programs would leave them, for the tests of the outputs.

// Each test file uses its own part of this.
#![allow(dead_code, unused_imports)]

use gpuprof_report::histogram::Histogram;
use gpuprof_report::profile::*;
use gpuprof_report::table::TableOptions;

mod counters;
mod graphs;
mod kernels;
mod large;
mod launch_lines;
mod layers;
mod markup;
mod memory;
mod shared_stream;
mod stalls;
mod steps;
mod training;
mod trouble;

pub(crate) use counters::{with_counters, with_limits, with_listed_counters};
pub(crate) use graphs::graphs;
pub(crate) use kernels::{convolution, digits};
pub(crate) use large::{deep, large};
pub(crate) use launch_lines::{launch_line, with_launch_lines};
pub(crate) use layers::layers;
pub(crate) use markup::{MARKUP, with_markup};
pub(crate) use memory::with_memory;
pub(crate) use shared_stream::shared_stream;
pub(crate) use stalls::{kernel_source, set_source_file, stall_line, with_stalls};
pub(crate) use steps::with_steps;
pub(crate) use training::training;
pub(crate) use trouble::{partly_timed, trouble};

/// A report on a terminal of `width` columns, or in a pipe.
pub(crate) fn options(width: impl Into<Option<usize>>) -> TableOptions {
    let mut options = TableOptions::default();
    options.width = width.into();
    options.limit = std::num::NonZeroUsize::new(30);
    options
}

/// The same with everything in it.
pub(crate) fn full(width: impl Into<Option<usize>>) -> TableOptions {
    let mut options = options(width);
    options.full = true;
    options
}

pub(crate) fn report(profile: &Profile, options: &TableOptions) -> String {
    let mut out = Vec::new();
    gpuprof_report::table::write(profile, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Times whose percentiles spread around the mean as those of real kernels do.
fn times(calls: u64, mean_ns: u64, self_ns: u64) -> SpanStats {
    let p = |percent: u64| mean_ns * percent / 100;
    let mut histogram = Histogram::default();
    histogram.record_n(p(98), (calls - calls / 10) as u32);
    histogram.record_n(p(113), (calls / 10) as u32);
    let mut stats = SpanStats::default();
    stats.total_ns = calls * mean_ns;
    stats.self_ns = self_ns;
    stats.mean_ns = mean_ns;
    stats.min_ns = p(91);
    stats.max_ns = p(187);
    stats.stddev_ns = p(9);
    stats.p50_ns = p(98);
    stats.p90_ns = p(107);
    stats.p95_ns = p(113);
    stats.p99_ns = p(141);
    stats.histogram = histogram.buckets().collect();
    stats
}

fn gpu(calls: u64, mean_ns: u64, self_ns: u64) -> GpuSpanStats {
    let mut stats = GpuSpanStats::default();
    stats.timed_calls = calls;
    stats.times = times(calls, mean_ns, self_ns);
    stats.timed_ns = calls * mean_ns;
    stats
}

fn function(name: &str, calls: u64, cpu_mean_ns: u64, cpu_self_ns: u64) -> Function {
    let module = name.rsplit_once("::").map_or(name, |(module, _)| module);
    let mut function = Function::default();
    function.name = name.into();
    function.module = module.into();
    function.file = "src/main.rs".into();
    function.line = 12;
    function.calls = calls;
    function.threads = u32::from(calls > 0);
    function.cpu = times(calls, cpu_mean_ns, cpu_self_ns);
    function
}

/// Puts a function's GPU time on device 0, with the work of one call in bytes, FLOP and items.
fn on_gpu(mut function: Function, gpu: GpuSpanStats, work: [Option<f64>; 3]) -> Function {
    let all = |per_call: Option<f64>, calls: u64| per_call.map(|work| work * calls as f64);
    let [bytes, flops, items] = work;
    let mut timed = gpu;
    timed.timed_bytes = all(bytes, timed.timed_calls);
    timed.timed_flops = all(flops, timed.timed_calls);
    timed.timed_items = all(items, timed.timed_calls);
    function.bytes = all(bytes, function.calls);
    function.flops = all(flops, function.calls);
    function.items = all(items, function.calls);
    function.has_stream = true;
    function.untimed_calls = function.calls - timed.timed_calls;
    timed.device = Some(0);
    function.gpu = Some(timed);
    function
}

/// States the part of each of several devices.
fn split_by_device(function: &mut Function, parts: Vec<GpuSpanStats>) {
    if let Some(gpu) = &mut function.gpu {
        gpu.device = None;
    }
    function.gpu_by_device = parts;
}

fn h200(ordinal: u32) -> Device {
    let mut device = Device::default();
    device.ordinal = ordinal;
    device.name = "NVIDIA H200".into();
    device.uuid = format!("GPU-6f0c8f1e-1d2c-4f5b-9a3e-0d7b5c2a9e0{ordinal}");
    device.compute_capability = "9.0".into();
    device.sm_count = Some(132);
    device.memory_bytes = Some(150_754_820_096);
    device.peak_bytes_per_s = Some(4_800_000_000_000);
    device.peak_flops_f32 = Some(66_900_000_000_000);
    device.peak_flops_f64 = Some(33_500_000_000_000);
    device.threads_per_sm = Some(2_048);
    device.blocks_per_sm = Some(32);
    device.registers_per_sm = Some(65_536);
    device.shared_bytes_per_sm = Some(233_472);
    device.reserved_shared_bytes_per_block = Some(1_024);
    device.driver = "13.0".into();
    device.simulated = false;
    device
}

fn profile(program: &str, wall_ns: u64, devices: Vec<Device>, functions: Vec<Function>) -> Profile {
    let calls = functions.iter().map(|function| function.calls).sum();
    let with_stream = functions.iter().filter(|function| function.has_stream);
    let with_stream = with_stream.map(|function| function.calls);
    let calls_with_stream = with_stream.sum();
    let timed_calls = functions
        .iter()
        .filter_map(|function| function.gpu.as_ref())
        .map(|gpu| gpu.timed_calls)
        .sum();
    let captured_calls = functions
        .iter()
        .map(|function| function.captured_calls)
        .sum();
    let mut profile = Profile::default();
    profile.schema = SCHEMA.into();
    profile.program = program.into();
    profile.pid = 4711;
    profile.host = "node07".into();
    profile.rank = None;
    profile.started_at = "2026-03-14T09:26:53Z".into();
    profile.wall_ns = wall_ns;
    profile.devices = devices;
    profile.tree = (0..)
        .zip(&functions)
        .filter(|(_, function)| function.has_run())
        .map(|(index, function)| outermost(index, function))
        .collect();
    profile.functions = functions;
    mark_estimates(&mut profile);
    profile.gpu_busy = profile
        .devices
        .iter()
        .map(|device| {
            let mut busy = GpuBusy::default();
            (busy.device, busy.busy_ns) = (device.ordinal, wall_ns / 5);
            busy
        })
        .collect();
    profile.diagnostics = {
        let mut diagnostics = Diagnostics::default();
        diagnostics.event_overhead_ns = Some(1_410);
        diagnostics.overhead_ns_per_call = Some(1_870);
        diagnostics.overhead_ns = 1_870 * calls;
        diagnostics.setup_ns = 412_000;
        diagnostics.calls = calls;
        diagnostics.calls_with_stream = calls_with_stream;
        diagnostics.timed_calls = timed_calls;
        diagnostics.captured_calls = captured_calls;
        diagnostics
    };
    profile
}

/// The node of a function that nothing calls.
/// The rows of sampled functions are estimates as well.
fn mark_estimates(profile: &mut Profile) {
    for node in &mut profile.tree {
        let function = node
            .function
            .and_then(|at| profile.functions.get(at as usize));
        let gpu = function.and_then(|function| function.gpu.as_ref());
        if node.gpu_total_ns.is_some() {
            node.gpu_estimate = gpu.and_then(|gpu| gpu.estimate.clone());
        }
    }
}

fn outermost(index: u32, function: &Function) -> TreeNode {
    let gpu = match &function.gpu {
        Some(gpu) => Gpu::Timed(gpu.times.total_ns, gpu.times.self_ns),
        None => Gpu::Inside(function.gpu_nested_ns),
    };
    let cpu = [function.cpu.total_ns, function.cpu.self_ns];
    let name = (index, function.name.as_str());
    let mut node = node(index, None, name, function.calls, cpu, gpu);
    (node.open_calls, node.open_ns) = (function.open_calls, function.open_ns);
    node
}

fn node(
    id: u32,
    parent: Option<u32>,
    function: (u32, &str),
    calls: u64,
    cpu: [u64; 2],
    gpu: Gpu,
) -> TreeNode {
    let (total, own, inside) = match gpu {
        Gpu::Timed(total, own) => (Some(total), Some(own), 0),
        Gpu::Inside(inside) => (None, None, inside),
    };
    let mut node = TreeNode::default();
    node.id = id;
    node.parent = parent;
    node.name = function.1.into();
    node.function = Some(function.0);
    node.calls = calls;
    node.cpu_total_ns = cpu[0];
    node.cpu_self_ns = cpu[1];
    node.gpu_total_ns = total;
    node.gpu_self_ns = own;
    node.gpu_nested_ns = inside;
    node
}

enum Gpu {
    Timed(u64, u64),
    Inside(u64),
}

/// The smallest useful program, with nothing to remark.
pub(crate) fn quickstart() -> Profile {
    let saxpy = on_gpu(
        function("quickstart::saxpy", 100, 6_240, 624 * US),
        gpu(100, 287_400, 28_740 * US),
        [Some(1.2e9), Some(2e8), None],
    );
    profile("quickstart", 412 * MS, vec![h200(0)], vec![saxpy])
}

/// A program on a GPU whose functions take no stream at all.
pub(crate) fn without_stream() -> Profile {
    let launch = function("plain::launch", 20, 45 * US, 900 * US);
    let solve = function("plain::solve", 2, 510 * US, 120 * US);
    let mut profile = profile("plain", 30 * MS, Vec::new(), vec![launch, solve]);
    profile.diagnostics.event_overhead_ns = None;
    profile.tree = vec![
        node(
            0,
            None,
            (1, "plain::solve"),
            2,
            [1_020 * US, 120 * US],
            Gpu::Inside(0),
        ),
        node(
            1,
            Some(0),
            (0, "plain::launch"),
            20,
            [900 * US, 900 * US],
            Gpu::Inside(0),
        ),
    ];
    profile
}

/// A program whose spans never met a GPU.
pub(crate) fn without_gpu() -> Profile {
    let mut parse = function("cli::parse", 17, 31 * US, 527 * US);
    parse.cpu_only = true;
    let mut profile = profile("cli", 20 * MS, Vec::new(), vec![parse]);
    profile.diagnostics.event_overhead_ns = None;
    profile
}

/// A server that is ended by a signal: its functions still run.
pub(crate) fn server() -> Profile {
    let accept = function("server::accept", 0, 0, 0);
    let infer = on_gpu(
        function("server::infer", 812, 31 * US, 25_172 * US),
        gpu(812, 940 * US, 763_280 * US),
        [None; 3],
    );
    let handle = function("server::handle", 812, 1_041 * US, 820_120 * US);
    let unused = function("server::reload", 0, 0, 0);
    let open = |mut function: Function, calls, ns| {
        (function.open_calls, function.open_ns) = (calls, ns);
        function
    };
    let functions = vec![
        open(accept, 1, 9_000 * MS),
        open(handle, 16, 11 * MS),
        infer,
        unused,
    ];
    let mut profile = profile("server", 9_100 * MS, vec![h200(0)], functions);
    profile.at_exit = true;
    let open = |mut node: TreeNode, calls, ns| {
        (node.open_calls, node.open_ns) = (calls, ns);
        node
    };
    let inside = Gpu::Inside(763_280 * US);
    let accept = node(0, None, (0, "server::accept"), 0, [0; 2], inside);
    let inside = Gpu::Inside(763_280 * US);
    let cpu = [845_292 * US, 820_120 * US];
    let handle = node(1, Some(0), (1, "server::handle"), 812, cpu, inside);
    let timed = Gpu::Timed(763_280 * US, 763_280 * US);
    let cpu = [25_172 * US; 2];
    profile.tree = vec![
        open(accept, 1, 9_000 * MS),
        open(handle, 16, 11 * MS),
        node(2, Some(1), (2, "server::infer"), 812, cpu, timed),
    ];
    profile
}
