//! Profiles as real programs would leave them, for the tests of the outputs.

// Each test file uses its own part of this.
#![allow(dead_code, unused_imports)]

use gpuprof_report::profile::*;

mod graphs;
mod kernels;
mod training;
mod trouble;

pub(crate) use graphs::graphs;
pub(crate) use kernels::{convolution, digits};
pub(crate) use training::training;
pub(crate) use trouble::{partly_timed, trouble};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Times whose percentiles spread around the mean as those of real kernels do.
fn times(calls: u64, mean_ns: u64, self_ns: u64) -> SpanStats {
    let p = |percent: u64| mean_ns * percent / 100;
    let bucket = |low, high, count| Bucket {
        low_ns: low,
        high_ns: high,
        count,
    };
    let histogram = [
        bucket(p(91), p(110), calls - calls / 10),
        bucket(p(110) + 1, p(187), calls / 10),
    ];
    SpanStats {
        total_ns: calls * mean_ns,
        self_ns,
        mean_ns,
        min_ns: p(91),
        max_ns: p(187),
        stddev_ns: p(9),
        p50_ns: p(98),
        p90_ns: p(107),
        p95_ns: p(113),
        p99_ns: p(141),
        histogram: histogram
            .into_iter()
            .filter(|bucket| bucket.count > 0)
            .collect(),
    }
}

fn gpu(calls: u64, mean_ns: u64, self_ns: u64) -> GpuSpanStats {
    GpuSpanStats {
        timed_calls: calls,
        times: times(calls, mean_ns, self_ns),
        timed_ns: calls * mean_ns,
        ..GpuSpanStats::default()
    }
}

fn function(name: &str, calls: u64, cpu_mean_ns: u64, cpu_self_ns: u64) -> Function {
    let module = name.rsplit_once("::").map_or(name, |(module, _)| module);
    Function {
        name: name.into(),
        module: module.into(),
        file: "src/main.rs".into(),
        line: 12,
        calls,
        threads: u32::from(calls > 0),
        cpu: times(calls, cpu_mean_ns, cpu_self_ns),
        ..Function::default()
    }
}

/// Puts a function's GPU time on device 0, with the work of one call in bytes, FLOP and items.
fn on_gpu(mut function: Function, gpu: GpuSpanStats, work: [Option<f64>; 3]) -> Function {
    let all = |per_call: Option<f64>, calls: u64| per_call.map(|work| work * calls as f64);
    let [bytes, flops, items] = work;
    let timed = GpuSpanStats {
        timed_bytes: all(bytes, gpu.timed_calls),
        timed_flops: all(flops, gpu.timed_calls),
        timed_items: all(items, gpu.timed_calls),
        ..gpu
    };
    function.bytes = all(bytes, function.calls);
    function.flops = all(flops, function.calls);
    function.items = all(items, function.calls);
    function.has_stream = true;
    function.untimed_calls = function.calls - timed.timed_calls;
    function.gpu_by_device = vec![GpuByDevice {
        ordinal: 0,
        gpu: timed.clone(),
    }];
    function.gpu = Some(timed);
    function
}

fn h200(ordinal: u32) -> Device {
    Device {
        ordinal,
        name: "NVIDIA H200".into(),
        uuid: format!("GPU-6f0c8f1e-1d2c-4f5b-9a3e-0d7b5c2a9e0{ordinal}"),
        compute_capability: "9.0".into(),
        sm_count: 132,
        memory_bytes: 150_754_820_096,
        peak_bytes_per_s: Some(4_800_000_000_000),
        peak_flops_f32: Some(66_900_000_000_000),
        peak_flops_f64: Some(33_500_000_000_000),
        threads_per_sm: 2_048,
        blocks_per_sm: 32,
        registers_per_sm: 65_536,
        shared_bytes_per_sm: 233_472,
        reserved_shared_bytes_per_block: 1_024,
        driver: "13.0".into(),
        simulated: false,
    }
}

fn profile(program: &str, wall_ns: u64, devices: Vec<Device>, functions: Vec<Function>) -> Profile {
    let calls = functions.iter().map(|function| function.calls).sum();
    let with_stream = functions.iter().filter(|function| function.has_stream);
    let with_stream = with_stream.map(|function| function.calls + function.replays);
    let calls_with_stream = with_stream.sum();
    let replays = functions.iter().map(|function| function.replays).sum();
    let timed_calls = functions
        .iter()
        .filter_map(|function| function.gpu.as_ref())
        .map(|gpu| gpu.timed_calls)
        .sum();
    let captured_calls = functions
        .iter()
        .map(|function| function.captured_calls)
        .sum();
    Profile {
        schema: SCHEMA.into(),
        program: program.into(),
        pid: 4711,
        host: "node07".into(),
        rank: None,
        started_at: "2026-03-14T09:26:53Z".into(),
        wall_ns,
        schedule: None,
        devices,
        functions,
        tree: Vec::new(),
        diagnostics: Diagnostics {
            event_overhead_ns: Some(1_410),
            overhead_ns_per_call: Some(1_870),
            overhead_ns: 1_870 * calls,
            setup_ns: 412_000,
            calls,
            replays,
            calls_with_stream,
            timed_calls,
            captured_calls,
            ..Diagnostics::default()
        },
        ..Profile::default()
    }
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
    TreeNode {
        id,
        parent,
        name: function.1.into(),
        function: function.0,
        calls,
        replays: 0,
        graph_calls: 0,
        cpu_total_ns: cpu[0],
        cpu_self_ns: cpu[1],
        gpu_total_ns: total,
        gpu_self_ns: own,
        gpu_nested_ns: inside,
    }
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
