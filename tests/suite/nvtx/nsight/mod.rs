//! Promise: Nsight Systems shows the calls that gpuprof's JSON reports of the same run.
//!
//! Every example, and the programs of this suite, run once under the real nsys. `cargo xtask test`
//! unpacks it and fails in CI if it cannot; without it these tests compare nothing.

mod calls;
mod export;
mod nsys_runner;
mod ranges;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use calls::Calls;
use export::{Range, Report, Style};
use nsys_runner::Nsys;
use support::program::{Folder, SCENARIO};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[
        tests![
            every_example_has_the_ranges_of_its_report,
            nested_calls_are_the_ranges_of_the_report,
            async_calls_are_the_ranges_of_the_report,
            colours_categories_and_payloads_arrive,
            a_capture_range_is_one_call,
        ],
        calls::tests::TESTS,
        export::tests::TESTS,
        ranges::tests::TESTS,
    ],
);

/// Name, colour (ARGB), category, payload.
type Attributes<'a> = (&'a str, Option<u64>, Option<&'a str>, Option<&'a str>);

/// The attributes of the scenario `attributes` of `tests/suite/nvtx`, as nsys prints them.
const ATTRIBUTES: [Attributes<'_>; 8] = [
    (
        "green",
        Some(0xff76_b900),
        Some("forward"),
        Some("UInt64Value 18446744073709551615"),
    ),
    (
        "forward",
        None,
        Some("forward"),
        Some("Int64Value -9223372036854775808"),
    ),
    ("backward", None, Some("вперёд"), Some("Int32Value -1")),
    ("double", None, None, Some("DoubleValue 0.1")),
    ("single", None, None, Some("FloatValue 0.1")),
    ("truth", None, None, Some("UInt32Value 1")),
    ("length", None, None, Some("UInt64Value 4")),
    ("畳み込み/naïve 🙂", None, None, None),
];

/// Functions that examples call in a span carried from another thread.
const CARRIED: &[&str] = &["check_rows"];

/// Runs a check if Nsight Systems is available.
fn with_nsys(check: impl FnOnce(&Nsys) -> Result<(), String>) {
    let Some(nsys) = Nsys::unpacked() else {
        eprintln!("not compared with Nsight Systems: `cargo xtask nsys test` does");
        return;
    };
    check(&nsys).unwrap_or_else(|error| panic!("{error}"));
}

fn every_example_has_the_ranges_of_its_report() {
    with_nsys(|nsys| {
        let examples = examples();
        assert!(!examples.is_empty());
        for example in examples {
            same_calls(nsys, &example, &[("GPUPROF_SIM", "1")], CARRIED)
                .map_err(|error| format!("{}: {error}", example.display()))?;
        }
        Ok(())
    });
}

/// The built examples, found by the names of their sources.
fn examples() -> Vec<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let sources = fs::read_dir(sources).expect("the examples");
    let sources = sources.map(|entry| entry.expect("a file").path());
    let sources =
        sources.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let own = this_program();
    let profile = own.ancestors().nth(2).expect("a test is in PROFILE/deps");
    let built = sources.map(|path| {
        profile
            .join("examples")
            .join(path.file_stem().expect("a name"))
    });
    built.collect()
}

fn this_program() -> PathBuf {
    env::current_exe().expect("a test has a path")
}

fn nested_calls_are_the_ranges_of_the_report() {
    with_nsys(|nsys| same_calls(nsys, &this_program(), &[(SCENARIO, "calls")], &[]));
}

fn async_calls_are_the_ranges_of_the_report() {
    with_nsys(|nsys| same_calls(nsys, &this_program(), &[(SCENARIO, "async")], &[]));
}

/// The ranges of one run are the calls of gpuprof's JSON.
fn same_calls(
    nsys: &Nsys,
    program: &Path,
    environment: &[(&str, &str)],
    carried: &[&str],
) -> Result<(), String> {
    let folder = Folder::create();
    let json = folder.path("profile.json");
    let setting = format!("json={}", json.display());
    let environment = [environment, &[("GPUPROF_REPORT", setting.as_str())]].concat();
    let report = run(nsys, &folder, program, &environment, &[])?;
    let text = fs::read_to_string(&json).map_err(|error| format!("{}: {error}", json.display()))?;
    let calls = Calls::read(&text)?.without_callers_of(carried);
    if calls.count() == 0 {
        return Err("gpuprof reports no call".into());
    }
    let chains = ranges::chains(&report.ranges)?;
    calls
        .compare(&chains, &ranges::started(&report.ranges))
        .map_err(|lines| format!("gpuprof's JSON and nsys's report differ\n  {lines}"))?;
    no_error(&report)
}

/// nsys has lost nothing and reports no error.
fn no_error(report: &Report) -> Result<(), String> {
    let mut complaints = report.remarks.iter().filter(|remark| {
        // A warning may be about the machine, such as a kernel setting; one about NVTX concerns
        // gpuprof.
        remark.level == "Error" || (remark.level == "Warning" && remark.text.contains("NVTX"))
    });
    match complaints.next() {
        None => Ok(()),
        Some(remark) => Err(format!("nsys says: {}: {}", remark.level, remark.text)),
    }
}

fn colours_categories_and_payloads_arrive() {
    with_nsys(|nsys| {
        let environment = [(SCENARIO, "attributes"), ("GPUPROF_REPORT", "none")];
        let report = run(nsys, &Folder::create(), &this_program(), &environment, &[])?;
        let ranges: Vec<_> = report.ranges.iter().map(attributes_of).collect();
        assert_eq!(ranges, ATTRIBUTES);
        no_error(&report)
    });
}

fn attributes_of(range: &Range) -> Attributes<'_> {
    let (category, payload) = (range.category.as_deref(), range.payload.as_deref());
    (&range.name, range.color, category, payload)
}

/// A capture range with a function's name records one call of it and nothing else. gpuprof's names
/// are registered strings, the only ones that nsys compares unless NSYS_NVTX_PROFILER_REGISTER_ONLY
/// is 0.
fn a_capture_range_is_one_call() {
    with_nsys(|nsys| {
        let environment = [(SCENARIO, "calls"), ("GPUPROF_REPORT", "none")];
        let options = [
            "--capture-range=nvtx",
            "--nvtx-capture=fails@gpuprof",
            "--capture-range-end=stop",
        ];
        let report = run(
            nsys,
            &Folder::create(),
            &this_program(),
            &environment,
            &options,
        )?;
        let chain = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let expected = [(chain(&["fails"]), 1), (chain(&["fails", "inner"]), 1)];
        assert_eq!(ranges::chains(&report.ranges)?, expected.into());
        let mut styles = report.ranges.iter().map(|range| range.style);
        assert!(styles.all(|style| style == Style::PushPop));
        Ok(())
    });
}

/// Profiles a program; every range must be in gpuprof's domain.
fn run(
    nsys: &Nsys,
    folder: &Folder,
    program: &Path,
    environment: &[(&str, &str)],
    options: &[&str],
) -> Result<Report, String> {
    let report = Report::read(&nsys.export(program, environment, options, folder)?)?;
    match report.in_other_domains {
        0 => Ok(report),
        more => Err(format!("{more} ranges outside the domain gpuprof")),
    }
}
