//! A program that captures what it does and replays it.

use gpuprof_report::profile::*;

use super::{Gpu, MS, US, function, gpu, h200, node, on_gpu, profile, times};

/// One function that also runs outside of graphs, one that does not, and one whose graph is
/// launched past gpuprof.
pub(crate) fn graphs() -> Profile {
    let captured = |name: &str, calls: u64, captured: u64, replays: u64, mean_ns: u64| {
        let runs = calls - captured + replays;
        let times_on_gpu = gpu(runs.max(1), mean_ns, runs * mean_ns);
        let mut function = on_gpu(function(name, runs.max(1), 0, 0), times_on_gpu, [None; 3]);
        (function.calls, function.cpu) = (calls, times(calls, 9 * US, calls * 9 * US));
        (function.captured_calls, function.graph_calls) = (captured, captured);
        (function.replays, function.untimed_calls) = (replays, 0);
        if runs == 0 {
            function.gpu = None;
        }
        function
    };
    let mut decode = captured("llm::decode", 1, 1, 4_096, 812 * US);
    if let Some(gpu) = decode.gpu.as_mut() {
        gpu.times.self_ns = 4_096 * 332 * US;
    }
    let attention = captured("llm::attention", 64, 32, 131_072, 15 * US);
    let unseen = captured("llm::prefill", 2, 2, 0, 0);
    let token = on_gpu(
        function("llm::token", 4_096, 21 * US, 86_016 * US),
        gpu(4_096, 815 * US, 12_288 * US),
        [None; 3],
    );
    let mut token = token;
    token.untimed_calls = 0;
    let functions = vec![attention, decode, unseen, token];
    let mut profile = profile("llm", 3_600 * MS, vec![h200(0)], functions);
    let below = |mut node: TreeNode, replays| {
        node.replays = replays;
        node
    };
    let decode = Gpu::Timed(4_096 * 812 * US, 4_096 * 332 * US);
    let attention = Gpu::Timed(131_072 * 15 * US, 131_072 * 15 * US);
    let token = Gpu::Timed(4_096 * 815 * US, 4_096 * 3 * US);
    profile.tree = vec![
        node(0, None, (3, "llm::token"), 4_096, [86_016 * US; 2], token),
        below(
            node(1, Some(0), (1, "llm::decode"), 0, [0; 2], decode),
            4_096,
        ),
        below(
            node(2, Some(1), (0, "llm::attention"), 0, [0; 2], attention),
            131_072,
        ),
    ];
    profile
}
