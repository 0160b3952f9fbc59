//! Promise: under load every dropped call is counted, memory is constant after warm-up and below
//! its limit, and the report is fast. These are the short versions of all scenarios except
//! `ceiling`, which has none; `cargo run --release -p load` runs all at full size.

use std::env;
use std::process::Command;

fn assert_passes(scenario: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_load"));
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("GPUPROF") {
            command.env_remove(&name);
        }
    }
    let output = command
        .args(["--short", scenario])
        .output()
        .expect("it runs");
    let row = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{row}{stderr}");
    assert!(row.trim_end().ends_with("| pass |"), "{row}{stderr}");
}

macro_rules! scenarios {
    ($($test:ident: $scenario:literal),+ $(,)?) => {$(
        #[test]
        fn $test() {
            assert_passes($scenario);
        }
    )+};
}

scenarios! {
    cpu_spans: "cpu-spans",
    gpu_spans: "gpu-spans",
    days_of_virtual_time: "days",
    ids_of_calls_that_return: "returning-ids",
    hours_of_a_service: "hours",
    threads_at_once: "threads-at-once",
    short_lived_threads: "short-lived-threads",
    functions_on_many_threads: "functions",
    deep_trees: "deep-trees",
    recursion_without_bound: "recursion",
    a_gpu_far_behind: "gpu-behind",
    a_starved_resolver: "resolver-starved",
}
