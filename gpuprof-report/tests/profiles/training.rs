//! A program on which nearly everything goes right.

use std::num::NonZeroU32;

use gpuprof_report::profile::*;
use gpuprof_report::setting_values::Sampling;

use super::{Gpu, MS, US, function, gpu, h200, mark_estimates, node, on_gpu, profile, times};

/// A training run on one H200: nested, sampled, asynchronous, partly without a stream, partly in
/// tiny kernels.
pub(crate) fn training() -> Profile {
    const ATTENTION: &str =
        "<train::model::Attention<half::bf16, 128, 16> as train::layers::Layer>::forward";
    let none = [None, None, None];
    let mut step = on_gpu(
        function("train::optimizer::step", 1_200, 61 * US, 73 * MS),
        gpu(118, 1_310 * US, 118),
        none,
    );
    step.untimed = {
        let mut untimed = UntimedReasons::default();
        untimed.sampled_out = 1_082;
        untimed
    };
    if let Some(gpu) = step.gpu.as_mut() {
        (gpu.times.total_ns, gpu.times.self_ns) = (1_572 * MS, 1_572 * MS);
        gpu.estimate = Some({
            let mut estimate = Estimate::default();
            estimate.total_ci95_ns = Some(38 * MS);
            estimate
        });
    }
    let mut captured = on_gpu(
        function("train::model::Mlp::forward", 14_400, 19 * US, 273 * MS),
        gpu(14_388, 164_500, 2_366 * MS),
        [Some(1.1e8), Some(5.3e9), None],
    );
    (captured.captured_calls, captured.untimed_calls) = (12, 0);
    let attention = on_gpu(
        function(ATTENTION, 14_400, 42 * US, 361 * MS),
        gpu(14_400, 247_300, 3_121 * MS),
        [Some(5.2e8), Some(2.1e9), None],
    );
    let softmax = on_gpu(
        function("train::ops::softmax", 14_400, 9_300, 133_920 * US),
        gpu(14_400, 30_600, 440_640 * US),
        [Some(1.03e8), None, None],
    );
    let bias = on_gpu(
        function("train::ops::add_bias", 28_800, 7_100, 204 * MS),
        gpu(28_800, 4_370, 125_856 * US),
        none,
    );
    let embed = on_gpu(
        function("埋め込み::前向き", 1_200, 14_800, 17_760 * US),
        gpu(1_200, 88_200, 105_840 * US),
        [Some(2.6e8), None, Some(32_768.0)],
    );
    let mut epoch = function("train::epoch", 3, 3_991 * MS, 48 * MS);
    epoch.gpu_nested_ns = 7_731 * MS;
    let mut batch = function("train::batch", 1_200, 9_914 * US, 312 * MS);
    batch.gpu_nested_ns = 7_731 * MS;
    let mut load = function("train::data::load_batch", 1_200, 2_460 * US, 2_952 * MS);
    (load.is_async, load.cpu_only, load.threads) = (true, true, 4);
    load.wall = Some(times(1_200, 8_730 * US, 10_476 * MS));
    let mut accuracy = function("train::metrics::accuracy", 3, 412 * US, 1_236 * US);
    accuracy.cpu_only = true;
    let never =
        ["train::checkpoint::save", "train::data::augment"].map(|name| function(name, 0, 0, 0));
    let mut functions = vec![
        captured, attention, step, softmax, bias, embed, epoch, batch, load, accuracy,
    ];
    functions.extend(never);
    functions.sort_by(|a, b| a.name.cmp(&b.name));
    let mut profile = profile("train", 12_310 * MS, vec![h200(0)], functions);
    profile.diagnostics.sampling = Sampling::OneIn(NonZeroU32::new(10).unwrap());
    profile.diagnostics.untimed.sampled_out = 1_082;
    profile.tree = training_tree(&profile);
    mark_estimates(&mut profile);
    profile
}

fn training_tree(profile: &Profile) -> Vec<TreeNode> {
    let named = |end: &str| {
        let at = profile
            .functions
            .iter()
            .position(|function| function.name.ends_with(end))
            .unwrap();
        (
            u32::try_from(at).unwrap(),
            profile.functions[at].name.as_str(),
        )
    };
    vec![
        node(
            0,
            None,
            named("epoch"),
            3,
            [11_973 * MS, 48 * MS],
            Gpu::Inside(7_731 * MS),
        ),
        node(
            1,
            Some(0),
            named("batch"),
            1_200,
            [11_897 * MS, 312 * MS],
            Gpu::Inside(7_731 * MS),
        ),
        node(
            2,
            Some(1),
            named("load_batch"),
            1_200,
            [2_952 * MS, 2_952 * MS],
            Gpu::Inside(0),
        ),
        node(
            3,
            Some(1),
            named("前向き"),
            1_200,
            [17_760 * US, 17_760 * US],
            Gpu::Timed(105_840 * US, 105_840 * US),
        ),
        node(
            4,
            Some(1),
            named("Layer>::forward"),
            14_400,
            [605 * MS, 361 * MS],
            Gpu::Timed(3_561 * MS, 3_121 * MS),
        ),
        node(
            5,
            Some(4),
            named("softmax"),
            14_400,
            [134 * MS, 134 * MS],
            Gpu::Timed(440_640 * US, 440_640 * US),
        ),
        node(
            6,
            Some(1),
            named("Mlp::forward"),
            14_400,
            [477 * MS, 273 * MS],
            Gpu::Timed(2_492 * MS, 2_366 * MS),
        ),
        node(
            7,
            Some(6),
            named("add_bias"),
            28_800,
            [204 * MS, 204 * MS],
            Gpu::Timed(125_856 * US, 125_856 * US),
        ),
        node(
            8,
            Some(1),
            named("step"),
            1_200,
            [73 * MS, 73 * MS],
            Gpu::Timed(1_572 * MS, 1_572 * MS),
        ),
        node(
            9,
            Some(0),
            named("accuracy"),
            3,
            [1_236 * US, 1_236 * US],
            Gpu::Inside(0),
        ),
    ]
}
