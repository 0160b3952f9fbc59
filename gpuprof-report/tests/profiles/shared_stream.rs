//! A server whose requests share one stream.

use gpuprof_report::profile::*;

use super::{Gpu, MS, US, function, gpu, h200, node, on_gpu, profile};

/// Requests of several tasks on one stream, and host functions that inherit it.
pub(crate) fn shared_stream() -> Profile {
    let none = [None; 3];
    let mut infer = on_gpu(
        function("server::infer", 812, 31 * US, 25_172 * US),
        gpu(812, 3_760 * US, 763_280 * US),
        none,
    );
    infer.gpu_divided_calls = 790;
    let tokenize = on_gpu(
        function("server::tokenize", 812, 95 * US, 77_140 * US),
        gpu(812, 94 * US, 76_328 * US),
        none,
    );
    let log = on_gpu(
        function("server::log", 812, 4 * US, 3_248 * US),
        gpu(812, 1_520, 1_234 * US),
        none,
    );
    let inherits = |mut function: Function, host_calls| {
        (function.gpu_inherited_calls, function.gpu_host_calls) = (812, host_calls);
        function
    };
    let mut handle = function("server::handle", 812, 230 * US, 81_200 * US);
    (handle.gpu_nested_ns, handle.gpu_nested_divided) = (840_842 * US, true);
    let functions = vec![handle, infer, inherits(log, 812), inherits(tokenize, 810)];
    let mut profile = profile("server", 1_200 * MS, vec![h200(0)], functions);
    let timed = |ns| Gpu::Timed(ns, ns);
    profile.tree = vec![
        node(
            0,
            None,
            (0, "server::handle"),
            812,
            [186_760 * US, 81_200 * US],
            Gpu::Inside(840_842 * US),
        ),
        node(
            1,
            Some(0),
            (1, "server::infer"),
            812,
            [25_172 * US; 2],
            Gpu::Timed(3_053_120 * US, 763_280 * US),
        ),
        node(
            2,
            Some(0),
            (2, "server::log"),
            812,
            [3_248 * US; 2],
            timed(1_234 * US),
        ),
        node(
            3,
            Some(0),
            (3, "server::tokenize"),
            812,
            [77_140 * US; 2],
            timed(76_328 * US),
        ),
    ];
    profile
}
