//! All scenarios, in the order of the table.

mod call_tree;
mod cpu;
mod gpu;
mod hours;
mod long_runs;
mod scheduling;

use crate::scenario::Scenario;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "cpu-spans",
        title: "CPU spans in one run",
        run: cpu::spans,
    },
    Scenario {
        name: "gpu-spans",
        title: "GPU spans in one run",
        run: gpu::spans,
    },
    Scenario {
        name: "days",
        title: "GPU spans over days of virtual time",
        run: long_runs::days,
    },
    Scenario {
        name: "returning-ids",
        title: "CUPTI's ids of calls begin anew",
        run: long_runs::returning_ids,
    },
    Scenario {
        name: "hours",
        title: "hours of steps with CUPTI, scraped and viewed",
        run: hours::run,
    },
    Scenario {
        name: "threads-at-once",
        title: "64 threads at once, CPU and GPU spans",
        run: gpu::threads_at_once,
    },
    Scenario {
        name: "short-lived-threads",
        title: "threads that live for one call",
        run: gpu::short_lived_threads,
    },
    Scenario {
        name: "functions",
        title: "many functions, each on 64 threads at once",
        run: call_tree::functions,
    },
    Scenario {
        name: "ceiling",
        title: "more call paths than the memory limit allows",
        run: call_tree::ceiling,
    },
    Scenario {
        name: "deep-trees",
        title: "functions nested 1,000 deep",
        run: call_tree::deep,
    },
    Scenario {
        name: "recursion",
        title: "recursion, finally unbounded",
        run: call_tree::recursion,
    },
    Scenario {
        name: "gpu-behind",
        title: "GPU far behind the CPU, its queue full",
        run: gpu::overloaded_gpu,
    },
    Scenario {
        name: "resolver-starved",
        title: "the resolver starved of processor time",
        run: gpu::starved_resolver,
    },
];
