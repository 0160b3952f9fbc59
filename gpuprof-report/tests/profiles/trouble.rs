//! Programs that were not measured in full.

use std::num::NonZeroU32;

use gpuprof_report::profile::*;
use gpuprof_report::setting_values::Sampling;

use super::{
    Gpu, MS, US, function, gpu, h200, mark_estimates, node, on_gpu, profile, split_by_device,
};

/// Everything that can go wrong, on two simulated devices, with a name that tries to rewrite the
/// terminal.
pub(crate) fn trouble() -> Profile {
    let mut halo = on_gpu(
        function("stencil::halo_exchange", 2_000, 31 * US, 62 * MS),
        gpu(1_989, 212 * US, 421_668 * US),
        [None; 3],
    );
    halo.untimed = {
        let mut untimed = UntimedReasons::default();
        untimed.cuda_error = 7;
        untimed.pool_exhausted = 4;
        untimed
    };
    let mut sweep = on_gpu(
        function("stencil::sweep", 4_000, 12 * US, 48 * MS),
        gpu(4_000, 905 * US, 3_620 * MS),
        [Some(2.9e9), Some(1.1e9), None],
    );
    let mut half = gpu(2_000, 874 * US, 1_748 * MS);
    half.timed_bytes = Some(2.9e9 * 2_000.0);
    half.timed_flops = Some(1.1e9 * 2_000.0);
    let mut other = gpu(2_000, 936 * US, 1_872 * MS);
    other.timed_bytes = half.timed_bytes;
    other.timed_flops = half.timed_flops;
    (half.device, other.device) = (Some(0), Some(1));
    split_by_device(&mut sweep, vec![half, other]);
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
    let simulated = |ordinal| {
        let mut device = h200(ordinal);
        device.name = "Simulated GPU".into();
        device.simulated = true;
        device
    };
    let mut profile = profile(
        "stencil",
        3_350 * MS,
        vec![simulated(0), simulated(1)],
        functions,
    );
    profile.rank = Some(3);
    profile.diagnostics.untimed = {
        let mut untimed = UntimedReasons::default();
        untimed.cuda_error = 7;
        untimed.pool_exhausted = 4;
        untimed
    };
    profile.diagnostics.dropped = 12;
    profile.diagnostics.misnested = 2;
    profile.diagnostics.invalid_amounts = 5;
    profile.diagnostics.histogram_dropped = 1_024;
    let error = |call: &str, code, name: &str, count| {
        let mut error = CudaError::default();
        error.call = call.into();
        error.code = code;
        error.name = name.into();
        error.count = count;
        error
    };
    profile.diagnostics.errors = vec![
        error("cuEventCreate", 2, "CUDA_ERROR_OUT_OF_MEMORY", 4),
        error("cuEventRecord", 400, "CUDA_ERROR_INVALID_HANDLE", 3),
    ];
    profile.diagnostics.notes =
        vec!["GPUPROF_SORT=speed: accepted are gpu, cpu, calls, max, name; took gpu".into()];
    profile
}

/// A queue that was too small, under sampling too, with a program that captures graphs and resets
/// in between.
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
    let queue_full = |calls| {
        let mut untimed = UntimedReasons::default();
        untimed.queue_full = calls;
        untimed
    };
    let leaf = partly("burst::leaf", 16_383, queue_full(143_617), 0);
    let mut reset = UntimedReasons::default();
    reset.crossed_reset = 1;
    reset.no_stream = 3;
    let mut window = partly("burst::window", 40, reset, 0);
    let half = |ordinal| {
        let mut part = gpu(20, 31 * US, 620 * US);
        part.device = Some(ordinal);
        part
    };
    split_by_device(&mut window, vec![half(0), half(1)]);
    let graph = partly("burst::graph", 1, UntimedReasons::default(), 1);
    let mut sampled_out = queue_full(7);
    sampled_out.sampled_out = 1_082;
    let mut step = partly("burst::step", 118, sampled_out, 0);
    if let Some(gpu) = step.gpu.as_mut() {
        (gpu.times.total_ns, gpu.times.self_ns) = (37_200 * US, 37_200 * US);
        gpu.estimate = Some({
            let mut estimate = Estimate::default();
            estimate.total_ci95_ns = Some(900 * US);
            estimate
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
    mark_estimates(&mut profile);
    profile
}
