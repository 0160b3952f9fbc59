//! A model whose layers are told apart by labels.

use gpuprof_report::profile::*;

use super::{Gpu, MS, US, function, gpu, h200, node, on_gpu, profile};

/// The layers of a model, of which the third is slow, and requests of too many kinds.
pub(crate) fn layers() -> Profile {
    let gpu_ns = [212, 208, 655, 210].map(|mean| mean * US);
    let mut forward = on_gpu(
        function("model::Block::forward", 400, 18 * US, 3_600 * US),
        gpu(400, gpu_ns.iter().sum::<u64>() / 4, 71_300 * US),
        [Some(4.1e8), None, None],
    );
    forward.labels = (0..)
        .zip(gpu_ns)
        .map(|(layer, mean)| label(layer.to_string(), 100, mean, Some(4.1e8)))
        .collect();
    let attention = on_gpu(
        function("model::Attention::forward", 400, 9 * US, 3_600 * US),
        gpu(400, 143 * US, 57_200 * US),
        [None; 3],
    );
    let mut serve = function("serve", 3_000, 18 * US, 27 * MS);
    serve.labels = vec![
        label("\u{1b}[2Jchat".into(), 2_000, 0, None),
        label(OTHER_LABELS.into(), 1_000, 0, None),
    ];
    let functions = vec![attention, forward, serve];
    let mut profile = profile("llama", 150 * MS, vec![h200(0)], functions);
    profile.tree = tree(gpu_ns);
    profile
}

fn label(label: String, calls: u64, gpu_ns: u64, bytes: Option<f64>) -> LabelStats {
    let mut stats = LabelStats::default();
    stats.label = label;
    stats.calls = calls;
    stats.cpu_total_ns = calls * 18 * US;
    stats.cpu_self_ns = stats.cpu_total_ns / 2;
    stats.cpu_mean_ns = 18 * US;
    stats.cpu_max_ns = 41 * US;
    stats.gpu = (gpu_ns > 0).then(|| {
        let mut gpu = LabelGpuStats::default();
        gpu.timed_calls = calls;
        gpu.total_ns = calls * gpu_ns;
        gpu.self_ns = gpu.total_ns - calls * 143 * US;
        gpu.mean_ns = gpu_ns;
        gpu.max_ns = gpu_ns * 11 / 10;
        gpu.timed_bytes = bytes.map(|bytes| bytes * calls as f64);
        gpu.timed_ns = gpu.total_ns;
        gpu
    });
    stats
}

fn tree(gpu_ns: [u64; 4]) -> Vec<TreeNode> {
    let mut tree = Vec::new();
    for (layer, mean) in (0..).zip(gpu_ns) {
        let cpu = [1_800 * US, 900 * US];
        let timed = Gpu::Timed(100 * mean, 100 * (mean - 143 * US));
        let block = (1, "model::Block::forward");
        let mut block = node(2 * layer, None, block, 100, cpu, timed);
        block.label = Some(layer.to_string());
        let attention = (0, "model::Attention::forward");
        let timed = Gpu::Timed(14_300 * US, 14_300 * US);
        let cpu = [900 * US; 2];
        let attention = node(2 * layer + 1, Some(2 * layer), attention, 100, cpu, timed);
        tree.extend([block, attention]);
    }
    tree
}
