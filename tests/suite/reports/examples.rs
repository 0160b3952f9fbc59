//! Promise: each example prints the table, marked as simulated if it is, and its JSON contains the
//! same numbers.

use std::path::PathBuf;

use gpuprof::Profile;
use gpuprof::profile::Function;
use support::program::{Ended, Program};
use support::report_text::cells;
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        the_first_example_shows_what_it_promises,
        every_example_runs_alone_and_checks_itself,
        three_streams_are_shorter_than_one,
        training_gives_the_same_each_time,
        requests_and_threads_are_counted_whole,
        a_captured_step_says_where_its_replays_are,
        a_service_has_the_lines_in_its_logs,
        switched_off_an_example_does_the_same_and_says_nothing_of_it,
    ]],
);

/// The example that cargo built for this run of the tests, in the folder beside the one of this
/// test.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test
        .ancestors()
        .nth(2)
        .expect("cargo puts tests into PROFILE/deps");
    let path = profile.join("examples").join(name);
    assert!(
        path.is_file(),
        "{} is not built: run `cargo test`, or `cargo build --examples` first",
        path.display()
    );
    path
}

fn the_first_example_shows_what_it_promises() {
    let (ended, profile) = Program::at(&example("01_quickstart"))
        .env("GPUPROF_SIM", "1")
        .profiled();
    assert!(ended.status.success(), "{ended:#?}");
    let told = String::from_utf8_lossy(&ended.stdout);
    assert!(told.ends_with("all right after 100 rounds\n"), "{told}");

    assert_eq!((ended.reports(), ended.remarks()), (1, vec![]));
    assert!(
        ended
            .stderr
            .contains("gpuprof 01_quickstart · simulated device · "),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("modelled, not measured"),
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains('\x1b'));
    assert!(profile.devices.iter().all(|device| device.simulated) && profile.devices.len() == 1);

    let calls: Vec<_> = profile
        .functions
        .iter()
        .map(|function| (&*function.name, function.calls))
        .collect();
    assert_eq!(calls, [("download", 1), ("saxpy", 100), ("upload", 2)]);
    for function in &profile.functions {
        assert_eq!(
            cells(&ended.stderr, "Function", &function.name)[2],
            function.calls.to_string(),
            "{}",
            ended.stderr
        );
        let gpu = function
            .gpu
            .as_ref()
            .unwrap_or_else(|| panic!("{} is not timed", function.name));
        assert_eq!(gpu.timed_calls, function.calls);
        // Every annotated function states its bytes, so the table has their rate.
        assert!(gpu.timed_bytes.is_some_and(|bytes| bytes > 0.0) && gpu.timed_ns > 0);
    }
    assert!(
        ended.stderr.contains("GB/s") && ended.stderr.contains("GPU-timed all 103 function calls"),
        "{}",
        ended.stderr
    );
}

fn every_example_runs_alone_and_checks_itself() {
    for name in [
        "01_quickstart",
        "02_convolution",
        "03_streams",
        "04_train_digits",
        "05_async",
        "06_threads",
        "07_graph",
        "08_service_log",
    ] {
        let ended = Program::at(&example(name)).env("GPUPROF_SIM", "1").run();
        assert!(ended.status.success(), "{ended:#?}");
        assert_eq!(ended.reports(), 1, "{}", ended.stderr);
        let host_time = ["may be host time", "launched no kernel"];
        let is_marked = host_time.iter().any(|line| ended.stderr.contains(line));
        assert!(!is_marked, "{}", ended.stderr);
        assert!(
            ended.stderr.contains("simulated device"),
            "{}",
            ended.stderr
        );
    }
}

/// The profile of an example on the simulated device, which must succeed.
fn profiled(name: &str) -> (Ended, Profile) {
    let (ended, profile) = Program::at(&example(name))
        .env("GPUPROF_SIM", "1")
        .profiled();
    assert!(ended.status.success(), "{ended:#?}");
    (ended, profile)
}

/// The profile's function of this name.
fn function<'a>(profile: &'a Profile, name: &str) -> &'a Function {
    let mut functions = profile.functions.iter();
    functions
        .find(|function| function.name == name)
        .unwrap_or_else(|| panic!("{name} is missing"))
}

fn three_streams_are_shorter_than_one() {
    // Long kernels, and up to five runs: a busy host delays launches, which lengthens both spans
    // and never shortens one.
    let spans = || {
        let (_, profile) = Program::at(&example("03_streams"))
            .env("GPUPROF_SIM", "1")
            .env("GPUPROF_SIM_KERNEL_NS", "50000000")
            .profiled();
        let total = |name| {
            let gpu = function(&profile, name).gpu.as_ref();
            gpu.expect("a span of streams is timed").times.total_ns
        };
        (total("on_one_stream"), total("on_three_streams"))
    };
    let mut runs = Vec::new();
    let is_shorter = |&(one, three): &(u64, u64)| three < one / 2;
    while runs.len() < 5 && !runs.iter().any(is_shorter) {
        runs.push(spans());
    }
    assert!(
        runs.iter().any(is_shorter),
        "ns on one stream and on three: {runs:?}"
    );
}

fn training_gives_the_same_each_time() {
    let (first, profile) = profiled("04_train_digits");
    let (second, _) = profiled("04_train_digits");
    assert_eq!(first.stdout, second.stdout);

    let name = |id| profile.tree.iter().find(|node| node.id == id);
    for child in ["forward", "backward", "update"] {
        let parents = profile.tree.iter().filter(|node| node.name == child);
        let mut parents = parents.filter_map(|node| name(node.parent?));
        assert!(parents.any(|parent| parent.name == "step"), "{child}");
    }
}

fn requests_and_threads_are_counted_whole() {
    let (_, profile) = profiled("05_async");
    let request = function(&profile, "request");
    assert_eq!(request.calls, 24);
    let wall = request.wall.as_ref().expect("it is an async function");
    assert!(wall.total_ns > request.cpu.total_ns);

    let (_, profile) = profiled("06_threads");
    assert_eq!(function(&profile, "multiply_tiled").calls, 12);
    assert_eq!(function(&profile, "check_rows").calls, 8 * 16);
}

fn a_captured_step_says_where_its_replays_are() {
    let (ended, profile) = profiled("07_graph");
    let step = function(&profile, "step");
    assert_eq!((step.calls, step.captured_calls), (40, 20));
    assert_eq!(step.gpu.as_ref().map(|gpu| gpu.timed_calls), Some(20));
    let replay = function(&profile, "replay").gpu.as_ref();
    assert_eq!(replay.map(|gpu| gpu.timed_calls), Some(20));
    let line = "captured into a graph: add_constant, step.";
    assert!(ended.stderr.contains(line), "{}", ended.stderr);
}

fn a_service_has_the_lines_in_its_logs() {
    let ended = Program::at(&example("08_service_log"))
        .env("GPUPROF_SIM", "1")
        .env("GPUPROF_SORT", "colour")
        // Read by tracing-subscriber, which otherwise writes colours into a pipe too.
        .env("NO_COLOR", "1")
        .run();
    assert!(ended.status.success(), "{ended:#?}");
    assert_eq!((ended.reports(), ended.remarks()), (1, vec![]));
    let begins = [
        " WARN gpuprof: GPUPROF_SORT=",
        "WARN [gpuprof] GPUPROF_SORT=",
    ];
    for begin in begins {
        let lines = ended.stderr.lines();
        let lines = lines.filter(|line| line.starts_with(begin)).count();
        assert_eq!(lines, 1, "{begin}: {}", ended.stderr);
    }
}

fn switched_off_an_example_does_the_same_and_says_nothing_of_it() {
    let program = || Program::at(&example("01_quickstart")).env("GPUPROF_SIM", "1");
    let (with, without) = (program().run(), program().env("GPUPROF", "off").run());
    assert_eq!((with.status, with.stdout), (without.status, without.stdout));
    assert_eq!(
        without.stderr.lines().count(),
        1,
        "the simulated device's own line: {}",
        without.stderr
    );
}
