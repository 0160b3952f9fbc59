//! The tests of `settings.rs` with wrong values and with paths that cannot be written.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use support::program::{Folder, Program, read_profile};
use support::tests;

use super::{names, run, work};

/// Every test of this file.
pub(super) const TESTS: &[(&str, fn())] = tests![
    a_wrong_value_is_one_line_and_the_default,
    several_wrong_values_are_a_line_each,
    a_misspelt_placeholder_is_one_line_and_the_path_is_used_as_written,
    an_unwritable_path_puts_the_report_into_a_temporary_file
];

fn a_wrong_value_is_one_line_and_the_default() {
    let long = "x".repeat(1 << 16);
    let not_utf8 = OsStr::from_bytes(b"\xff");
    let wrong: [(&str, &OsStr, &str); 17] = [
        (
            "GPUPROF",
            "yes".as_ref(),
            "it takes on, standby, nvtx or off",
        ),
        (
            "GPUPROF_REPORT",
            "table,tree".as_ref(),
            "a comma list of table, table:full, json=PATH, csv=PATH, folded=PATH, \
             folded:cpu=PATH, pprof=PATH, html=PATH and trace=PATH; using the others",
        ),
        (
            "GPUPROF_REPORT",
            "json=".as_ref(),
            "a comma list of table, table:full, json=PATH, csv=PATH, folded=PATH, \
             folded:cpu=PATH, pprof=PATH, html=PATH and trace=PATH; using the default",
        ),
        (
            "GPUPROF_REPORT",
            "none,table".as_ref(),
            "none stands alone, and has no effect beside other outputs",
        ),
        (
            "GPUPROF_SORT",
            "gpus".as_ref(),
            "it takes gpu, cpu, calls, max or name",
        ),
        (
            "GPUPROF_SORT",
            "two\nlines\x1b[31m".as_ref(),
            "it takes gpu, cpu, calls, max or name",
        ),
        ("GPUPROF_LIMIT", "-1".as_ref(), "it takes a number of rows"),
        (
            "GPUPROF_FILTER",
            "(".as_ref(),
            "it takes a regular expression",
        ),
        (
            "GPUPROF_SAMPLE",
            "0".as_ref(),
            "or a whole number N from 1, for 1 call in N",
        ),
        (
            "GPUPROF_SAMPLE",
            long.as_ref(),
            "it takes auto:P% with a budget of P percent of the program's time, auto for auto:1%",
        ),
        (
            "GPUPROF_EXIT_WAIT",
            "soon".as_ref(),
            "it takes a duration such as 500ms or 2s",
        ),
        ("GPUPROF_SIGNALS", "TERM".as_ref(), "it takes off or on"),
        (
            "GPUPROF_CHECKPOINT",
            "-1".as_ref(),
            "it takes a number of seconds from 0.01, such as 10, or off",
        ),
        ("GPUPROF_CUPTI", "yes".as_ref(), "it takes off, on or full"),
        ("GPUPROF_LIMIT", not_utf8, "is not valid UTF-8"),
        (
            "GPUPROF_SAMPEL",
            "4".as_ref(),
            "unknown setting GPUPROF_SAMPEL; did you mean GPUPROF_SAMPLE?",
        ),
        (
            "GPUPROF_XYZ",
            "4".as_ref(),
            "unknown setting GPUPROF_XYZ; the settings are GPUPROF, and GPUPROF_ with REPORT",
        ),
    ];
    for (variable, value, accepted) in wrong {
        let ended = work(variable, value);
        let [remark] = ended.remarks()[..] else {
            panic!("{variable}: {}", ended.stderr)
        };
        assert!(
            remark.contains(variable) && remark.contains(accepted) && remark.len() < 300,
            "{remark}"
        );
        // First the line, then the same table as without the setting.
        assert!(
            ended.stderr.starts_with(&format!("{remark}\n\ngpuprof ")),
            "{}",
            ended.stderr
        );
        assert!(!ended.stderr.contains('\x1b'));
        assert_eq!(
            names(&ended),
            ["conv/backward", "conv/forward", "pool", "load"],
            "{variable}"
        );
    }
    // An empty value counts as unset.
    assert_eq!(work("GPUPROF_SORT", "").remarks(), [""; 0]);
}

fn several_wrong_values_are_a_line_each() {
    let program = Program::new("work")
        .env("GPUPROF_SORT", "up")
        .env("GPUPROF_LIMIT", "few")
        .env("GPUPROF_REPORT", "none");
    let ended = run(program);
    assert_eq!(
        (ended.remarks().len(), ended.stderr.lines().count()),
        (2, 2),
        "{}",
        ended.stderr
    );
}

fn a_misspelt_placeholder_is_one_line_and_the_path_is_used_as_written() {
    let folder = Folder::create();
    let path = folder.path("{pdi}.json");
    let ended = work("GPUPROF_REPORT", format!("json={}", path.display()));
    assert_eq!(folder.files(), ["{pdi}.json"]);
    let expected = format!(
        "gpuprof: unknown placeholder {{pdi}} in {path:?}, which is used as written; known are \
         {{pid}}, {{exe}}, {{rank}}\n"
    );
    assert_eq!(ended.stderr, expected);
}

fn an_unwritable_path_puts_the_report_into_a_temporary_file() {
    let ended = work("GPUPROF_REPORT", "table,json=/dev/null/{rank}.json");
    let [remark] = ended.remarks()[..] else {
        panic!("{}", ended.stderr)
    };
    assert!(
        remark.contains("cannot write \"/dev/null/0.json\""),
        "{remark}"
    );
    assert_eq!(ended.reports(), 1);
    let (_, path) = remark.split_once("the report is in ").expect("a path");
    let path = path.trim_matches('"');
    let profile = read_profile(Path::new(path), &ended);
    assert_eq!(profile.schema, "gpuprof.profile/1");
    fs::remove_file(path).expect("our own");
}
