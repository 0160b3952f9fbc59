//! A program that captures what it does and replays it, without CUPTI.

use gpuprof_report::profile::*;

use super::{Gpu, MS, US, function, gpu, h200, node, on_gpu, profile};

/// One function that was only captured, one that also ran outside of graphs, and the one that
/// launches the graph.
pub(crate) fn graphs() -> Profile {
    let mut decode = function("llm::decode", 1, 9 * US, 9 * US);
    (decode.has_stream, decode.captured_calls) = (true, 1);
    let mut attention = on_gpu(
        function("llm::attention", 64, 9 * US, 576 * US),
        gpu(32, 15 * US, 480 * US),
        [None; 3],
    );
    (attention.captured_calls, attention.untimed_calls) = (32, 0);
    let mut token = on_gpu(
        function("llm::token", 4_096, 21 * US, 86_016 * US),
        gpu(4_096, 815 * US, 4_096 * 815 * US),
        [None; 3],
    );
    token.untimed_calls = 0;
    let functions = vec![attention, decode, token];
    let mut profile = profile("llm", 3_600 * MS, vec![h200(0)], functions);
    let token = Gpu::Timed(4_096 * 815 * US, 4_096 * 815 * US);
    let attention = Gpu::Timed(480 * US, 480 * US);
    profile.tree = vec![
        node(
            0,
            None,
            (1, "llm::decode"),
            1,
            [9 * US; 2],
            Gpu::Inside(480 * US),
        ),
        node(
            1,
            Some(0),
            (0, "llm::attention"),
            64,
            [576 * US; 2],
            attention,
        ),
        node(2, None, (2, "llm::token"), 4_096, [86_016 * US; 2], token),
    ];
    profile
}
