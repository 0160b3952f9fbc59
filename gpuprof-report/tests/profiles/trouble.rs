//! Programs that were not measured in full.

use std::num::NonZeroU32;

use gpuprof_report::profile::*;
use gpuprof_report::settings::Sampling;

use super::{Gpu, MS, US, function, gpu, h200, node, on_gpu, profile};

/// Everything that can go wrong, on two simulated devices, with a name that tries to rewrite the terminal.
pub(crate) fn trouble() -> Profile {
    let mut halo = on_gpu(
        function("stencil::halo_exchange", 2_000, 31 * US, 62 * MS),
        gpu(1_989, 212 * US, 421_668 * US),
        [None; 3],
    );
    halo.untimed = UntimedReasons {
        cuda_error: 7,
        pool_exhausted: 4,
        ..UntimedReasons::default()
    };
    let mut sweep = on_gpu(
        function("stencil::sweep", 4_000, 12 * US, 48 * MS),
        gpu(4_000, 905 * US, 3_620 * MS),
        [Some(2.9e9), Some(1.1e9), None],
    );
    let half = GpuSpanStats {
        timed_bytes: Some(2.9e9 * 2_000.0),
        timed_flops: Some(1.1e9 * 2_000.0),
        ..gpu(2_000, 874 * US, 1_748 * MS)
    };
    let other = GpuSpanStats {
        timed_bytes: half.timed_bytes,
        timed_flops: half.timed_flops,
        ..gpu(2_000, 936 * US, 1_872 * MS)
    };
    sweep.gpu_by_device = vec![
        GpuByDevice {
            ordinal: 0,
            gpu: half,
        },
        GpuByDevice {
            ordinal: 1,
            gpu: other,
        },
    ];
    let mut run = function("stencil::run", 1, 3_204 * MS, 3_094 * MS);
    (run.gpu_nested_ns, run.gpu_nested_partial) = (4_041_668 * US, true);
    let evil = on_gpu(
        function("evil\x1b[2J\r\nname", 1, 5 * US, 5 * US),
        gpu(1, 12 * US, 12 * US),
        [None; 3],
    );
    let never = ["a", "b", "c", "d", "e", "f", "g", "h"]
        .map(|name| function(&format!("stencil::unused_{name}"), 0, 0, 0));
    let mut functions = vec![evil, halo, run, sweep];
    functions.extend(never);
    let simulated = |ordinal| Device {
        name: "Simulated GPU".into(),
        simulated: true,
        ..h200(ordinal)
    };
    let mut profile = profile(
        "stencil",
        3_350 * MS,
        vec![simulated(0), simulated(1)],
        functions,
    );
    profile.rank = Some(3);
    profile.diagnostics.untimed = UntimedReasons {
        cuda_error: 7,
        pool_exhausted: 4,
        ..UntimedReasons::default()
    };
    profile.diagnostics.dropped = 12;
    profile.diagnostics.misnested = 2;
    profile.diagnostics.histogram_dropped = 1_024;
    let error = |call: &str, code, name: &str, count| CudaError {
        call: call.into(),
        code,
        name: name.into(),
        count,
    };
    profile.diagnostics.errors = vec![
        error("cuEventCreate", 2, "CUDA_ERROR_OUT_OF_MEMORY", 4),
        error("cuEventRecord", 400, "CUDA_ERROR_INVALID_HANDLE", 3),
    ];
    profile.diagnostics.notes =
        vec!["GPUPROF_SORT=speed: accepted are gpu, cpu, calls, max, name; took gpu".into()];
    profile
}

/// A queue that was too small, under sampling too, with a program that captures graphs and resets in between.
pub(crate) fn partly_timed() -> Profile {
    let partly = |name: &str, timed: u64, untimed: UntimedReasons, captured: u64| {
        let calls = timed + untimed.sum() + captured;
        let mut function = on_gpu(
            function(name, calls, 2 * US, calls * 2 * US),
            gpu(timed, 31 * US, timed * 31 * US),
            [None; 3],
        );
        (function.captured_calls, function.untimed_calls) = (captured, untimed.sum());
        function.untimed = untimed;
        function
    };
    let queue_full = |calls| UntimedReasons {
        queue_full: calls,
        ..UntimedReasons::default()
    };
    let leaf = partly("burst::leaf", 16_383, queue_full(143_617), 0);
    let reset = UntimedReasons {
        crossed_reset: 1,
        no_stream: 3,
        ..UntimedReasons::default()
    };
    let mut window = partly("burst::window", 40, reset, 0);
    let half = |ordinal| GpuByDevice {
        ordinal,
        gpu: gpu(20, 31 * US, 620 * US),
    };
    window.gpu_by_device = vec![half(0), half(1)];
    let graph = partly("burst::graph", 1, UntimedReasons::default(), 1);
    let sampled_out = UntimedReasons {
        sampled_out: 1_082,
        ..queue_full(7)
    };
    let mut step = partly("burst::step", 118, sampled_out, 0);
    if let Some(gpu) = step.gpu.as_mut() {
        (gpu.times.total_ns, gpu.times.self_ns) = (37_200 * US, 37_200 * US);
        gpu.estimate = Some(Estimate {
            total_ci95_ns: 900 * US,
        });
    }
    let whole = partly("burst::whole", 50, UntimedReasons::default(), 0);
    let mut profile = profile(
        "burst",
        2_000 * MS,
        vec![h200(0), h200(1)],
        vec![graph, leaf, step, whole, window],
    );
    for function in &profile.functions {
        profile.diagnostics.untimed.add(&function.untimed);
    }
    profile.diagnostics.sampling = Sampling::OneIn(NonZeroU32::new(10).unwrap());
    let mut tree = Vec::new();
    for (at, function) in (0..).zip(&profile.functions) {
        let own = function.gpu.as_ref().map_or(0, |gpu| gpu.times.self_ns);
        let cpu = [function.cpu.total_ns, function.cpu.self_ns];
        let name = (at, function.name.as_str());
        let calls = function.calls;
        tree.push(node(at, None, name, calls, cpu, Gpu::Timed(own, own)));
    }
    profile.tree = tree;
    profile
}
