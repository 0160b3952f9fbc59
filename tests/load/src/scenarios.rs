//! All scenes, in the order of the table.

mod call_tree;
mod cpu;
mod gpu;
mod scheduling;

use crate::scenario::Scene;

pub(crate) const SCENES: &[Scene] = &[
    Scene {
        name: "cpu-spans",
        title: "CPU spans in one run",
        run: cpu::spans,
    },
    Scene {
        name: "gpu-spans",
        title: "GPU spans in one run",
        run: gpu::spans,
    },
    Scene {
        name: "threads-at-once",
        title: "64 threads at once, CPU and GPU spans",
        run: gpu::threads_at_once,
    },
    Scene {
        name: "short-lived-threads",
        title: "threads that live for one call",
        run: gpu::short_lived_threads,
    },
    Scene {
        name: "functions",
        title: "every function of many on 64 threads at once",
        run: call_tree::functions,
    },
    Scene {
        name: "ceiling",
        title: "more places than there is memory for",
        run: call_tree::ceiling,
    },
    Scene {
        name: "deep-trees",
        title: "functions nested 1,000 deep",
        run: call_tree::deep,
    },
    Scene {
        name: "recursion",
        title: "recursion, in the end without bound",
        run: call_tree::recursion,
    },
    Scene {
        name: "gpu-behind",
        title: "GPU far behind the CPU, its queue full",
        run: gpu::behind,
    },
    Scene {
        name: "resolver-starved",
        title: "the resolver starved of processor time",
        run: gpu::starved,
    },
];
