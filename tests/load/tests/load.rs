//! Promise: under load nothing is lost without a count, memory stays flat after warm-up and under
//! its ceiling, and the report is quick. The short form of each scene but `ceiling`, which has
//! none; `cargo run --release -p load` plays all at full size.

use std::env;
use std::process::Command;

fn holds(scene: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_load"));
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("GPUPROF") {
            command.env_remove(&name);
        }
    }
    let output = command.args(["--short", scene]).output().expect("it runs");
    let row = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{row}{said}");
    assert!(row.trim_end().ends_with("| held |"), "{row}{said}");
}

macro_rules! scenes {
    ($($test:ident: $scene:literal),+ $(,)?) => {$(
        #[test]
        fn $test() {
            holds($scene);
        }
    )+};
}

scenes! {
    cpu_spans: "cpu-spans",
    gpu_spans: "gpu-spans",
    threads_at_once: "threads-at-once",
    short_lived_threads: "short-lived-threads",
    functions_on_many_threads: "functions",
    deep_trees: "deep-trees",
    recursion_without_bound: "recursion",
    a_gpu_far_behind: "gpu-behind",
    a_starved_resolver: "resolver-starved",
}
