//! Promise: the NVTX ranges of a program are the functions of its report, with the kernels that
//! were launched in them.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use gpuprof::Profile;
use gpuprof::profile::{Function, NVTX_MODULE};
use support::assert_consistent;
use support::program::Program;
use support::suite::Module;
use support::tests;

use crate::machine::{Machine, injected_library};
use crate::programs::kernels;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        pushed_ranges_nest_and_own_their_kernels,
        a_domain_is_one_in_all_modules,
        wrong_nesting_is_no_harm,
        names_that_differ_in_numbers_alone_do_not_flood_the_report,
        ranges_beyond_4096_names_are_one_row_of_each_kind,
        started_ranges_have_calls_and_wall_time,
        a_forked_child_and_a_deep_stack_are_no_harm,
        nvtx_answers_as_without_a_tool,
        ranges_are_harmless_where_nothing_is_measured,
    ]],
);

/// Where the crate nvtx-sys has NVIDIA's headers.
fn headers() -> PathBuf {
    let mut metadata = Command::new(env!("CARGO"));
    metadata.args(["metadata", "--format-version", "1", "--offline"]);
    // Otherwise cargo wants the packages of all platforms, which nothing has downloaded.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    metadata.args(["--filter-platform", &platform]);
    metadata.arg("--manifest-path");
    metadata.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    let answer = metadata.output().expect("cargo");
    let text = String::from_utf8(answer.stdout).expect("UTF-8");
    let end = "/Cargo.toml\"";
    let mut paths = text.match_indices(end).filter_map(|(at, _)| {
        let path = text[..at].rsplit('"').next()?;
        path.contains("/nvtx-sys-").then(|| PathBuf::from(path))
    });
    paths.next().expect("nvtx-sys").join("c/include")
}

/// `ranges.c`, as the program or as a library.
fn build(machine: &Machine, name: &str, options: &[&str]) -> PathBuf {
    let headers = headers();
    let include = [OsStr::new("-I"), headers.as_os_str()];
    let options = options.iter().map(OsStr::new).chain(include);
    machine.compile(name, "ranges.c", &options.collect::<Vec<_>>())
}

pub(crate) fn program(machine: &Machine, scenario: &str) -> Program {
    let program = build(machine, "ranges", &[]);
    let program = machine.run(&program).arguments(&[scenario]);
    program.env("NVTX_INJECTION64_PATH", injected_library())
}

/// `(name, calls)` of each function, by name.
pub(crate) fn ranges(profile: &Profile) -> Vec<(&str, u64)> {
    let functions = profile.functions.iter();
    let mut ranges: Vec<_> = functions.map(|one| (&*one.name, one.calls)).collect();
    ranges.sort_unstable();
    ranges
}

/// Kernels of a function and of those inside it.
pub(crate) fn launches(profile: &Profile, name: &str) -> u64 {
    let mut functions = profile.functions.iter();
    let found = functions.find(|one| one.name == name).expect(name);
    found.activity.launches
}

fn pushed_ranges_nest_and_own_their_kernels() {
    let machine = Machine::new();
    let (ended, profile) = program(&machine, "nested").profiled();
    assert_eq!(ended.status.code(), Some(7));
    assert_consistent(&profile);
    // That from before CUDA is not measured.
    assert_eq!(ranges(&profile), [("epoch", 1), ("step", 3)]);
    assert_eq!(launches(&profile, "step"), 15);
    assert_eq!(launches(&profile, "epoch"), 15);
    let tree: Vec<_> = profile
        .tree
        .iter()
        .map(|node| (&*node.name, node.parent.is_some()))
        .collect();
    assert_eq!(tree, [("epoch", false), ("step", true)]);
    assert_eq!(kernels(&profile), [("scale", 20, 200_000)]);
    // From the first start to the last end of the work of each call: three calls are less idle
    // than the one around them.
    let idle = |name| {
        let mut functions = profile.functions.iter();
        let found = functions.find(|one: &&Function| one.name == name);
        let activity = &found.expect(name).activity;
        let span = activity.idle_ns.expect("a span") + activity.busy_ns.expect("CUPTI ran");
        assert!(span <= profile.wall_ns, "{name}: {span}");
        activity.idle_ns.expect("a span")
    };
    assert!(idle("step") < idle("epoch"));
    let of_tree = profile.tree.iter().map(|node| node.idle_ns);
    assert_eq!(
        of_tree.collect::<Vec<_>>(),
        [Some(idle("epoch")), Some(idle("step"))]
    );
    assert_eq!(profile.cupti.expect("records").unattributed, 7);
    assert_eq!(profile.diagnostics.notes, [""; 0]);
    for (part, is_there) in [("epoch", true), ("step", true), ("#[gpu_profile]", false)] {
        assert_eq!(
            ended.stderr.contains(part),
            is_there,
            "{part}: {}",
            ended.stderr
        );
    }
}

fn a_domain_is_one_in_all_modules() {
    let machine = Machine::new();
    let libraries = ["one.so", "two.so"].map(|name| {
        let library = build(&machine, name, &["-DLIBRARY", "-shared", "-fPIC"]);
        library.to_str().expect("UTF-8").to_owned()
    });
    let program = program(&machine, "");
    let (ended, profile) = program
        .arguments(&[&libraries[0], &libraries[1]])
        .profiled();
    assert_eq!(ended.status.code(), Some(7));
    assert_eq!(ranges(&profile), [("shared:part", 2)]);
    assert_eq!(launches(&profile, "shared:part"), 10);
}

fn wrong_nesting_is_no_harm() {
    for scenario in ["wrong", "wrong elsewhere"] {
        check_wrong_nesting(scenario);
    }
}

fn check_wrong_nesting(scenario: &str) {
    let machine = Machine::new();
    let (ended, profile) = program(&machine, scenario).profiled();
    assert_eq!(ended.status.code(), Some(7));
    assert_consistent(&profile);
    let expected = [
        ("inner", 1),
        ("never popped", 1),
        ("other:crossing", 1),
        ("outer", 1),
    ];
    assert_eq!(ranges(&profile), expected);
    // It ends with its thread.
    assert!(profile.functions.iter().all(|one| one.open_calls == 0));
    assert_eq!(launches(&profile, "inner"), 5);
    assert_eq!(launches(&profile, "never popped"), 5);
}

fn names_that_differ_in_numbers_alone_do_not_flood_the_report() {
    let machine = Machine::new();
    let (_, profile) = program(&machine, "names").profiled();
    let found = ranges(&profile);
    assert_eq!(found.len(), 64 + 2, "{found:?}");
    assert!(found.contains(&("step 63", 1)) && found.contains(&("step #", 36)));
    // Without what PyTorch adds; and a library's domain is left out.
    assert!(found.contains(&("aten::mm", 100)));
}

fn ranges_beyond_4096_names_are_one_row_of_each_kind() {
    let machine = Machine::new();
    let (ended, profile) = program(&machine, "many names").profiled();
    let (others, named): (Vec<_>, Vec<_>) = profile
        .functions
        .iter()
        .partition(|one| one.name == "(other functions)");
    assert_eq!(named.len(), 4_096);
    assert!(named.iter().all(|one| one.calls == 1));
    let mut calls: Vec<_> = others.iter().map(|one| (one.calls, one.is_async)).collect();
    calls.sort_unstable();
    assert_eq!(calls, [(1, true), (904, false)]);
    assert_eq!(
        profile.diagnostics.notes,
        ["905 NVTX ranges are one row, (other functions): a program has rows for 4,096 names"]
    );
    // They are ranges as the others are, so that nothing asks for annotations.
    assert!(
        others
            .iter()
            .all(|one| one.module == NVTX_MODULE && one.cpu_only)
    );
    assert!(!ended.stderr.contains("annotate"), "{}", ended.stderr);
}

fn started_ranges_have_calls_and_wall_time() {
    let machine = Machine::new();
    let (ended, profile) = program(&machine, "overlapping").profiled();
    assert_eq!(ended.status.code(), Some(7));
    assert_eq!(ranges(&profile), [("never ended", 0), ("request", 2)]);
    let request = profile.functions.iter().find(|one| one.name == "request");
    let wall = request
        .and_then(|one| one.wall.as_ref())
        .expect("a wall time");
    assert!(wall.total_ns > 100_000, "{wall:?}");
    assert_eq!(launches(&profile, "request"), 0);
}

fn a_forked_child_and_a_deep_stack_are_no_harm() {
    let machine = Machine::new();
    let (ended, profile) = program(&machine, "fork").profiled();
    assert_eq!(
        (ended.status.code(), ranges(&profile)),
        (Some(7), vec![("forked", 1)])
    );
    let (ended, profile) = program(&machine, "deep").profiled();
    assert_eq!(
        (ended.status.code(), ranges(&profile)),
        (Some(7), vec![("deep", 512)])
    );
    assert_eq!(profile.diagnostics.dropped, 2_000 - 512);
}

fn nvtx_answers_as_without_a_tool() {
    let machine = Machine::new();
    let ended = program(&machine, "results").run();
    let alone = machine.run_alone(&machine.folder.path("ranges"));
    let alone = alone.arguments(&["results"]).run();
    assert_eq!((ended.status, ended.stdout), (alone.status, alone.stdout));
}

fn ranges_are_harmless_where_nothing_is_measured() {
    let machine = Machine::new();
    let ended = program(&machine, "nested").env("GPUPROF", "off").run();
    assert_eq!((ended.status.code(), ended.reports()), (Some(7), 0));
    // Without the library in the driver: the program uses no CUDA that it could report.
    let program = machine.run_alone(&machine.folder.path("ranges"));
    let program = program.env("NVTX_INJECTION64_PATH", injected_library());
    let ended = program.arguments(&["nested"]).run();
    assert_eq!((ended.status.code(), ended.reports()), (Some(7), 0));
}
