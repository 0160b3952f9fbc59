//! Promise: each output of `GPUPROF_REPORT` is in its file, and a measurement is never lost because
//! a file or a feature is missing.

mod program;

use std::fs;
use std::io::Read;

use flate2::read::GzDecoder;
use support::program::{Ended, Folder, Program};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    every_text_output_is_in_its_file,
    a_file_that_cannot_be_written_is_a_temporary_one,
    a_missing_feature_is_named_and_the_table_is_shown,
    a_time_line_is_in_its_file,
    pprofs_profile_is_in_its_file,
];

fn run(report: &str) -> Ended {
    let ended = Program::new("work").env("GPUPROF_REPORT", report).run();
    assert!(ended.status.success(), "{ended:#?}");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), program::STDOUT);
    ended
}

/// Lines of folded stacks without their weights.
fn stacks(text: &str) -> Vec<&str> {
    let lines = text.lines().map(|line| line.rsplit_once(' '));
    let stacks = lines.map(|line| line.expect("a stack and its weight"));
    let stacks = stacks.map(|(stack, weight)| (stack, weight.parse::<u64>()));
    let checked = stacks.map(|(stack, weight)| (stack, weight.expect("a whole number")));
    checked.map(|(stack, _)| stack).collect()
}

fn every_text_output_is_in_its_file() {
    let folder = Folder::create();
    let path = |name: &str| folder.path(name).display().to_string();
    let report = format!(
        "csv={}, folded={},folded:cpu={}",
        path("{exe}-{rank}.csv"),
        path("gpu.folded"),
        path("cpu.folded")
    );
    let ended = run(&report);
    assert_eq!(ended.stderr, "");
    let read = |name: &str| fs::read_to_string(folder.path(name)).expect(name);
    let files = folder.files();
    let csv = files.iter().find(|file| file.ends_with("-0.csv"));
    let csv = read(csv.expect("a file with its placeholders filled in"));
    let rows: Vec<Vec<&str>> = csv.lines().map(|row| row.split(',').collect()).collect();
    assert_eq!(
        rows[0][..5],
        ["function", "module", "file", "line", "calls"]
    );
    let (outer, inner) = ("outputs::program::outer", "outputs::program::inner");
    let calls = rows.iter().filter(|row| row[0].starts_with("outputs::"));
    let calls: Vec<_> = calls.map(|row| (row[0], row[4])).collect();
    assert_eq!(calls, [(inner, "3"), (outer, "1")]);
    let nested = format!("{outer};{inner}");
    assert_eq!(stacks(&read("cpu.folded")), [outer, nested.as_str()]);
    // No function of this program has a stream.
    assert_eq!(read("gpu.folded"), "");
    assert_eq!(files.len(), 3);
}

fn a_file_that_cannot_be_written_is_a_temporary_one() {
    for (output, begin) in [
        ("csv", "function,module,"),
        ("folded:cpu", "outputs::program::outer "),
    ] {
        let ended = run(&format!("{output}=/nowhere/report"));
        let why = "gpuprof: cannot write \"/nowhere/report\" (No such file or directory (os error \
                   2)): the report is in \"";
        let path = ended.stderr.strip_prefix(why);
        let path = path.and_then(|rest| rest.strip_suffix("\"\n"));
        let path = path.unwrap_or_else(|| panic!("{}", ended.stderr));
        let text = fs::read_to_string(path).expect("a file");
        assert!(text.starts_with(begin), "{text}");
        fs::remove_file(path).expect("our own");
    }
}

fn a_missing_feature_is_named_and_the_table_is_shown() {
    let folder = Folder::create();
    let path = folder.path("report").display().to_string();
    for (output, message) in [(
        "html",
        "gpuprof: html=PATH needs the feature html of the crate gpuprof: gpuprof = { version \
             = \"0.1\", features = [\"html\"] }; the command `gpuprof show --format html` makes \
             it of a JSON profile\n",
    )] {
        for report in [
            format!("{output}={path}"),
            format!("table,{output}={path}"),
            format!("{output}={path},table:full"),
        ] {
            let ended = run(&report);
            assert_eq!(ended.reports(), 1, "{report}: {}", ended.stderr);
            assert!(ended.stderr.contains(message), "{}", ended.stderr);
        }
        assert!(folder.files().is_empty());
    }
}

fn pprofs_profile_is_in_its_file() {
    let folder = Folder::create();
    let path = folder.path("gpu.pb.gz");
    let ended = run(&format!("pprof={}", path.display()));
    assert_eq!(ended.stderr, "");
    let zipped = fs::read(&path).expect("the file");
    let mut file = Vec::new();
    GzDecoder::new(zipped.as_slice())
        .read_to_end(&mut file)
        .expect("gzip");
    let file = String::from_utf8_lossy(&file);
    for name in ["outputs::program::outer", "outputs::program::inner"] {
        assert!(file.contains(name), "{name}");
    }
    // Not as text on standard error, as other outputs are.
    let ended = run("pprof=/nowhere/gpu.pb.gz");
    assert_eq!(ended.reports(), 1, "{}", ended.stderr);
    let why = "gpuprof: cannot write \"/nowhere/gpu.pb.gz\"";
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
}

fn a_time_line_is_in_its_file() {
    let folder = Folder::create();
    let path = folder.path("time-line.json");
    run(&format!("trace={}", path.display()));
    let text = std::fs::read_to_string(&path).expect("the file");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let events = document["traceEvents"].as_array().expect("events");
    let slices = events.iter().filter(|event| event["ph"] == "X");
    let names = slices.filter_map(|event| event["name"].as_str()?.rsplit("::").next());
    let names: Vec<&str> = names.collect();
    assert_eq!(names, ["outer", "inner", "inner", "inner"]);
}
