//! Promise: every environment variable does what the documentation says; an invalid value
//! prints one line and never ends the program.

mod program;
mod table_width;
mod wrong_values;

use std::ffi::OsStr;
use std::time::Duration;

use support::profile_lookups::local_name;
use support::program::{Ended, Folder, Program, read_profile};
use support::report_text::{self, row_name};
use support::suite::Module;
use support::tests;
use support::{cpu_times, function, gpu_times, one_in};

use self::program::STDOUT;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[TESTS, table_width::TESTS, wrong_values::TESTS],
)
.with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    without_settings_there_is_the_table,
    off_and_nvtx_measure_nothing,
    outputs_are_a_list,
    paths_are_filled_in,
    ranks_come_from_the_launcher,
    the_json_is_a_profile,
    rows_are_sorted_as_asked,
    cut_rows_are_summed_in_one,
    what_the_filter_leaves_out_is_nowhere,
    one_call_in_so_many_is_timed,
    the_wait_at_exit_is_as_long_as_asked,
    steps_have_a_line,
    a_default_stream_may_come_before_everything_else,
];

/// Runs the program and checks that it did its work.
fn run(program: Program) -> Ended {
    let ended = program.run();
    assert!(ended.status.success(), "{ended:#?}");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), STDOUT);
    ended
}

fn work(variable: &str, value: impl AsRef<OsStr>) -> Ended {
    run(Program::new("work").env(variable, value))
}

/// The rows of the call tree.
fn tree_rows(ended: &Ended) -> Vec<&str> {
    report_text::rows(&ended.stderr, "Function ")
}

/// The names of these rows.
fn names(ended: &Ended) -> Vec<&str> {
    let rows = tree_rows(ended).into_iter();
    rows.map(|row| local_name(row_name(row))).collect()
}

fn without_settings_there_is_the_table() {
    let ended = run(Program::new("work"));
    assert_eq!((ended.reports(), ended.remarks()), (1, vec![]));
    assert_eq!(
        names(&ended),
        ["conv/backward", "conv/forward", "pool", "load"]
    );
    assert_eq!(work("GPUPROF", "on").reports(), 1);
}

fn off_and_nvtx_measure_nothing() {
    for mode in ["off", "nvtx"] {
        let folder = Folder::create();
        let report = format!(
            "table,table:full,json={}",
            folder.path("report.json").display()
        );
        let ended = run(Program::new("work")
            .env("GPUPROF", mode)
            .env("GPUPROF_REPORT", report));
        // A build without NVTX says so, because the user would see no ranges.
        let remark = match (mode, cfg!(feature = "nvtx")) {
            ("nvtx", false) => {
                "gpuprof: GPUPROF=nvtx has no effect: gpuprof is built without its feature nvtx\n"
            }
            _ => "",
        };
        assert_eq!(ended.stderr, remark, "{mode}");
        assert_eq!(folder.files(), [""; 0], "{mode}");
    }
}

fn outputs_are_a_list() {
    for (value, tables) in [
        ("table", 1),
        ("table:full", 1),
        ("table,table:full", 2),
        ("none", 0),
    ] {
        let ended = work("GPUPROF_REPORT", value);
        assert_eq!(ended.reports(), tables, "{value}: {}", ended.stderr);
        assert_eq!(ended.remarks(), [""; 0], "{value}");
    }
    let folder = Folder::create();
    let (a, b) = (folder.path("a.json"), folder.path("b.json"));
    let ended = work(
        "GPUPROF_REPORT",
        format!("json={}, json={}", a.display(), b.display()),
    );
    assert_eq!(ended.stderr, "");
    assert_eq!(read_profile(&a, &ended), read_profile(&b, &ended));
}

fn paths_are_filled_in() {
    let folder = Folder::create();
    let report = format!("json={}", folder.path("{exe}-{rank}-{pid}.json").display());
    let ended = run(Program::new("work")
        .env("GPUPROF_REPORT", &report)
        .env("RANK", "3"));
    let [file] = &folder.files()[..] else {
        panic!("{:?}", folder.files())
    };
    let profile = read_profile(&folder.path(file), &ended);
    assert_eq!(*file, format!("{}-3-{}.json", profile.program, profile.pid));
    let exe = std::env::current_exe().expect("a test has a path");
    assert_eq!(exe.file_name(), Some(OsStr::new(&profile.program)));

    let folder = Folder::create();
    work(
        "GPUPROF_REPORT",
        format!("json={}", folder.path("{rank}.json").display()),
    );
    assert_eq!(folder.files(), ["0.json"]);
}

fn ranks_come_from_the_launcher() {
    let rank = |variables: &[(&str, &str)]| {
        let program = variables
            .iter()
            .fold(Program::new("work"), |program, (name, value)| {
                program.env(name, value)
            });
        let (ended, profile) = program.profiled();
        let of = profile.world_size.map(|size| format!(" of {size}"));
        let of = of.unwrap_or_default();
        let told = profile.rank.is_none_or(|rank| {
            ended
                .stderr
                .contains(&format!("rank {rank}{of} on {}", profile.host))
        });
        assert!(told, "{}", ended.stderr);
        profile.rank
    };
    assert_eq!(rank(&[]), None);
    for name in ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"] {
        assert_eq!(rank(&[(name, "12")]), Some(12), "{name}");
        assert_eq!(rank(&[(name, "first")]), None, "{name}");
    }
    assert_eq!(
        rank(&[
            ("SLURM_PROCID", "4"),
            ("PMI_RANK", "3"),
            ("OMPI_COMM_WORLD_RANK", "2"),
            ("RANK", "1")
        ]),
        Some(2)
    );
    let torchrun = [
        ("OMPI_COMM_WORLD_RANK", "2"),
        ("RANK", "1"),
        ("WORLD_SIZE", "4"),
    ];
    assert_eq!(rank(&torchrun), Some(1));
}

fn the_json_is_a_profile() {
    let folder = Folder::create();
    let path = folder.path("report.json");
    for (variable, value) in [
        ("GPUPROF", "on"),
        ("GPUPROF_SAMPLE", "2"),
        ("GPUPROF_FILTER", "load"),
        ("RANK", "1"),
    ] {
        let report = format!("json={}", path.display());
        let ended = run(Program::new("work")
            .env("GPUPROF_REPORT", report)
            .env(variable, value));
        let profile = read_profile(&path, &ended);
        assert_eq!(profile.schema, "gpuprof.profile/1", "{variable}");
    }
    let profile = {
        let (_, profile) = Program::new("work").profiled();
        profile
    };
    assert_eq!(profile.schema, "gpuprof.profile/1");
    assert_eq!(gpu_times(&profile, "conv/backward"), (2, 60_000, 60_000));
    assert_eq!(gpu_times(&profile, "conv/forward"), (4, 40_000, 40_000));
    assert_eq!(gpu_times(&profile, "pool"), (1, 35_000, 35_000));
    assert_eq!(cpu_times(&profile, "load"), (8, 24_000, 24_000));
}

fn rows_are_sorted_as_asked() {
    let (forward, backward) = ("conv/forward", "conv/backward");
    for (value, wanted) in [
        ("gpu", [backward, forward, "pool", "load"]),
        ("cpu", ["load", "pool", forward, backward]),
        ("calls", ["load", forward, backward, "pool"]),
        ("max", ["pool", backward, forward, "load"]),
        ("name", [backward, forward, "load", "pool"]),
    ] {
        assert_eq!(names(&work("GPUPROF_SORT", value)), wanted, "{value}");
    }
}

fn cut_rows_are_summed_in_one() {
    let ended = work("GPUPROF_LIMIT", "1");
    assert_eq!(names(&ended), ["conv/backward", "…"]);
    // GPU share and time, calls, and CPU time of the three rows that were cut.
    let others: Vec<&str> = tree_rows(&ended)[1].split_whitespace().collect();
    assert_eq!(
        others[..8],
        ["…", "3", "others", "55.6", "75.0", "13", "–", "52.0"],
        "{}",
        ended.stderr
    );
    for all in ["0", "4", "1000"] {
        assert_eq!(names(&work("GPUPROF_LIMIT", all)).len(), 4, "{all}");
    }
}

fn what_the_filter_leaves_out_is_nowhere() {
    let (ended, profile) = Program::new("work")
        .env("GPUPROF_FILTER", "^conv/(for|back)ward$")
        .profiled();
    let measured: Vec<&str> = profile
        .functions
        .iter()
        .map(|function| &*function.name)
        .collect();
    assert_eq!(measured, ["conv/backward", "conv/forward"]);
    assert_eq!((profile.tree.len(), profile.diagnostics.calls), (2, 6));
    assert!(
        !ended.stderr.contains("pool") && !ended.stderr.contains("load"),
        "{}",
        ended.stderr
    );
    // Nothing matches: there is no report, but a line says why, because a typing error is likely.
    let nothing = work("GPUPROF_FILTER", "no such function").stderr;
    assert!(
        nothing.starts_with("gpuprof: the filter \"no such function\" matches none of the "),
        "{nothing}"
    );
    assert_eq!(nothing.lines().count(), 1, "{nothing}");
}

fn one_call_in_so_many_is_timed() {
    let (ended, profile) = Program::new("many").env("GPUPROF_SAMPLE", "4").profiled();
    let forward = function(&profile, "conv/forward");
    let (timed, _, _) = gpu_times(&profile, "conv/forward");
    assert_eq!(
        (
            profile.diagnostics.sampling,
            forward.calls,
            timed + forward.untimed.sampled_out
        ),
        (one_in(4), 400, 400)
    );
    // A quarter of the calls, plus or minus seven standard deviations.
    assert!((40..160).contains(&timed), "{timed}");
    assert!(
        ended.stderr.contains("calls, a random sample"),
        "{}",
        ended.stderr
    );
}

fn the_wait_at_exit_is_as_long_as_asked() {
    for (value, least) in [("0s", 0), ("300ms", 300)] {
        let (ended, profile) = Program::new("queued")
            .env("GPUPROF_EXIT_WAIT", value)
            .profiled();
        let least = Duration::from_millis(least);
        assert!(
            least <= ended.took && ended.took < Duration::from_secs(30),
            "{value}: {:?}",
            ended.took
        );
        assert_eq!(function(&profile, "conv/forward").untimed.unfinished, 1);
    }
}

/// Each takes 10 µs.
fn steps_have_a_line() {
    let ended = run(Program::new("steps"));
    let line = ended
        .stderr
        .lines()
        .find(|line| line.starts_with("steps: "));
    assert_eq!(
        line,
        Some("steps: 7, mean 10.0 µs, slowest 10.0 µs (step 1)")
    );
}

fn a_default_stream_may_come_before_everything_else() {
    let (_, profile) = Program::new("default-stream").profiled();
    assert_eq!(gpu_times(&profile, "inherits").0, 10);
}
