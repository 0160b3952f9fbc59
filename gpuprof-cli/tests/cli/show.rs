//! `gpuprof show`: each format is what the library writes, and arguments do what they say.

use std::fs;
use std::process::Stdio;

use gpuprof_report::profile::Profile;
use gpuprof_report::setting_values::Sort;
use gpuprof_report::table::{self, TableOptions};
use gpuprof_report::{csv, folded, html, json, pprof};
use serde_json::{Value, json};

use super::{Ended, SMALL, ended, gpuprof, recorded, with_input};

fn show(arguments: &[&str]) -> Ended {
    let mut all = vec!["show"];
    all.extend(arguments);
    ended(gpuprof(&all))
}

fn shown(stdout: impl Into<String>) -> Ended {
    Ended {
        code: Some(0),
        stdout: stdout.into(),
        stderr: String::new(),
    }
}

fn digits() -> (String, Profile) {
    let path = recorded("04_train_digits");
    let text = fs::read_to_string(&path).expect("a recorded profile");
    let profile = json::from_str(&text).expect("a profile");
    (path.to_str().expect("UTF-8").to_owned(), profile)
}

fn text(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut text = Vec::new();
    write(&mut text).expect("memory");
    String::from_utf8(text).expect("UTF-8")
}

/// The report as without a terminal.
fn report(profile: &Profile, set: impl FnOnce(&mut TableOptions)) -> String {
    let mut options = TableOptions::default();
    options.limit = std::num::NonZeroUsize::new(30);
    options.full_report = Some("--format full");
    set(&mut options);
    text(|out| table::write(profile, &options, out))
}

#[test]
fn every_format_is_what_the_library_writes() {
    let (path, profile) = digits();
    for (format, expected) in [
        ("table", report(&profile, |_| {})),
        ("full", report(&profile, |options| options.full = true)),
        ("csv", text(|out| csv::write(&profile, out))),
        ("json", json::to_string(&profile)),
        ("folded", text(|out| folded::write_gpu(&profile, out))),
        ("folded-cpu", text(|out| folded::write_cpu(&profile, out))),
        ("html", text(|out| html::write(&profile, out))),
    ] {
        assert!(!expected.is_empty());
        assert_eq!(
            show(&["--format", format, &path]),
            shown(expected),
            "{format}"
        );
    }
    let default = show(&[&path]);
    assert_eq!(default, shown(report(&profile, |_| {})));
    let more = "17 rows, 3 findings more: --format full.";
    assert!(default.stdout.contains(more), "{}", default.stdout);
}

#[test]
fn the_page_has_the_source_that_lies_in_the_folder_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path().join("project");
    fs::create_dir_all(project.join("kernels")).expect("folders");
    let place = |path: &str, line, samples| {
        json!({"file": path, "line": line, "samples": samples,
            "reasons": [{"reason": "long_scoreboard", "samples": samples}]})
    };
    let outside = folder.path().join("secret.cu");
    fs::write(&outside, "password\n").expect("a file");
    fs::write(project.join("kernels/adam.cu"), "first\nsecond\n").expect("a file");
    let lines = [
        place("kernels/adam.cu", 2, 70),
        place(outside.to_str().expect("UTF-8"), 1, 50),
        place("../secret.cu", 1, 30),
    ];
    let (path, _) = digits();
    let text = fs::read_to_string(path).expect("a profile");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    document["started_at"] = json!("2226-01-01T00:00:00Z");
    document["stalls"] = json!({"period_cycles": 16_384, "sampled_ns": 1, "start_ns": 0,
        "samples": 150, "other_samples": 0, "dropped_samples": 0, "kernels": [{"name": "adam",
        "samples": 150, "samples_without_line": 0, "lines": lines, "reasons": []}]});
    fs::write(project.join("run.json"), document.to_string()).expect("a file");
    let mut command = gpuprof(&["show", "--format", "html", "run.json"]);
    command.current_dir(&project);
    let page = ended(command).stdout;
    assert!(page.contains(r#"{"1":"first","2":"second"}"#), "{page}");
    assert!(!page.contains("password"));
}

#[test]
fn the_file_for_pprof_is_what_the_library_writes() {
    let (path, profile) = digits();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("gpu.pb.gz");
    let file = file.to_str().expect("UTF-8");
    let ended = show(&["--format", "pprof", "-o", file, &path]);
    assert_eq!(ended, shown(""));
    let mut expected = Vec::new();
    pprof::write(&profile, &mut expected).expect("memory");
    assert!(fs::read(file).expect("the file") == expected);
}

#[test]
fn a_small_profile_from_standard_input() {
    assert_eq!(
        with_input(&["show", "--format", "folded", "-"], SMALL.as_bytes()),
        shown("train;model::step 3600000\n")
    );
    assert_eq!(
        with_input(&["show", "--format", "folded-cpu", "-"], SMALL.as_bytes()),
        shown("train 40700\ntrain;model::step 9300\n")
    );
    let table = with_input(&["show", "-"], SMALL.as_bytes());
    assert!(
        table
            .stdout
            .starts_with("\ngpuprof train · NVIDIA H200 · wall 100 ms · GPU time as below\n"),
        "{table:?}"
    );
}

#[test]
fn order_limit_width_and_colour_are_those_of_the_table() {
    let (path, profile) = digits();
    for (arguments, expected) in [
        (
            ["--sort", "name"],
            report(&profile, |options| options.sort = Sort::Name),
        ),
        (
            ["--limit", "4"],
            report(&profile, |options| {
                options.limit = std::num::NonZeroUsize::new(4);
            }),
        ),
        (
            ["--limit", "0"],
            report(&profile, |options| options.limit = None),
        ),
        (
            ["--color", "always"],
            report(&profile, |options| options.color = true),
        ),
    ] {
        let [first, second] = arguments;
        assert_eq!(show(&[first, second, &path]), shown(expected), "{first}");
    }
    let mut narrow = gpuprof(&["show", &path]);
    narrow.env("COLUMNS", "60").env("NO_COLOR", "1");
    let expected = report(&profile, |options| options.width = Some(60));
    assert_eq!(ended(narrow), shown(expected));
}

#[test]
fn a_filter_keeps_matching_functions_where_they_are_nested() {
    let filtered = |filter: &str, format: &str| {
        let arguments = ["show", "--filter", filter, "--format", format, "-"];
        with_input(&arguments, SMALL.as_bytes())
    };
    assert_eq!(
        filtered("^model::", "folded"),
        shown("model::step 3600000\n")
    );
    assert_eq!(filtered("^train$", "folded-cpu"), shown("train 40700\n"));
    let csv = filtered("step", "csv").stdout;
    let rows: Vec<_> = csv.lines().map(|row| row.split(',').next()).collect();
    assert_eq!(rows, [Some("function"), Some("model::step")]);
    let kept = json::from_str(&filtered("step", "json").stdout).expect("a profile");
    assert_eq!(kept.functions.len(), 1);
    let node = &kept.tree[0];
    assert_eq!((node.function, node.parent), (Some(0), None));
}

#[test]
fn a_filter_that_every_function_matches_changes_nothing() {
    for name in ["03_streams", "04_train_digits"] {
        let path = recorded(name);
        let path = path.to_str().expect("UTF-8");
        let filtered = show(&["--filter", ".", path]);
        assert_eq!(filtered, show(&[path]), "{name}");
    }
}

#[test]
fn the_line_about_coverage_is_of_the_rows_that_remain() {
    let (path, _) = digits();
    for (filter, line) in [
        ("^check$", "every function is marked cpu"),
        (
            "^step$",
            "GPU-timed 40 of 660 function calls, a random sample ·",
        ),
    ] {
        let report = show(&["--filter", filter, &path]).stdout;
        assert!(report.contains(line), "{report}");
    }
}

#[test]
fn a_filter_without_a_match_is_a_negative_answer() {
    assert_eq!(
        with_input(&["show", "--filter", "conv", "-"], SMALL.as_bytes()),
        Ended {
            code: Some(1),
            stdout: String::new(),
            stderr: "gpuprof: standard input: no function that ran matches the filter\n".into(),
        }
    );
    let wrong = show(&["--filter", "(", "x.json"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("--filter <REGEX>"), "{wrong:?}");
}

#[test]
fn a_profile_with_nothing_to_show_is_a_negative_answer() {
    let empty = br#"{"schema": "gpuprof.profile/1"}"#;
    for (format, why) in [
        ("table", "no profiled function ran"),
        ("full", "no profiled function ran"),
        ("folded", "no call path has GPU time"),
        ("folded-cpu", "no call path has CPU time"),
    ] {
        assert_eq!(
            with_input(&["show", "--format", format, "-"], empty),
            Ended {
                code: Some(1),
                stdout: String::new(),
                stderr: format!("gpuprof: standard input: {why}\n"),
            }
        );
    }
    let csv = with_input(&["show", "--format", "csv", "-"], empty);
    assert_eq!((csv.code, csv.stdout.lines().count()), (Some(0), 1));
}

#[test]
fn each_of_several_files_has_a_heading_and_a_bad_one_hides_no_other() {
    let (path, profile) = digits();
    let report = report(&profile, |_| {});
    let both = show(&["/nowhere.json", &path, &path]);
    assert_eq!(
        both,
        Ended {
            code: Some(2),
            stdout: format!("==> {path} <==\n{report}\n==> {path} <==\n{report}"),
            stderr: "gpuprof: /nowhere.json: cannot be read: No such file or directory (os error \
                     2)\n"
                .into(),
        }
    );
}

#[test]
fn arguments_that_contradict_each_other_are_refused() {
    for (arguments, message) in [
        (
            &["--format", "csv", "a.json", "b.json"][..],
            "gpuprof: --format csv is for one file, and there are 2: several follow one another \
             as --format table or full\n",
        ),
        (
            &["--format", "json", "--limit", "3", "a.json"],
            "gpuprof: --limit is for --format table and full; --format json has every row\n",
        ),
        (
            &["--format", "folded", "--sort", "cpu", "a.json"],
            "gpuprof: --sort is for --format table and full; --format folded has every row\n",
        ),
    ] {
        let refused = show(arguments);
        assert_eq!((refused.code, &*refused.stderr), (Some(2), message));
    }
    for arguments in [&["--sort", "gpus", "a"][..], &["--limit", "-1", "a"], &[]] {
        assert_eq!(show(arguments).code, Some(2), "{arguments:?}");
    }
}

#[test]
fn a_result_goes_into_the_file_and_nothing_else_is_touched() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.csv");
    let path = path.to_str().expect("UTF-8");
    let (profile_path, profile) = digits();
    let written = show(&["--format", "csv", "-o", path, &profile_path]);
    assert_eq!(written, shown(""));
    let csv = fs::read_to_string(path).expect("the file");
    assert_eq!(csv, text(|out| csv::write(&profile, out)));

    assert_eq!(show(&["-o", path, "/nowhere.json"]).code, Some(2));
    assert_eq!(fs::read_to_string(path).expect("the file"), csv);

    let refused = show(&["-o", "/nowhere/out", &profile_path]);
    assert_eq!(
        refused.stderr,
        "gpuprof: /nowhere/out: cannot be written: No such file or directory (os error 2)\n"
    );
    assert_eq!(refused.code, Some(2));
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let (path, _) = digits();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = gpuprof(&["show", "--format", "json", &path]);
    command.stdout(Stdio::from(writer));
    assert_eq!(ended(command), shown(""));
    let mut full = gpuprof(&["show", &path]);
    full.stdout(fs::File::create("/dev/full").expect("Linux"));
    let full = ended(full);
    assert_eq!(full.code, Some(2));
    assert!(
        full.stderr.contains("cannot write to standard output"),
        "{full:?}"
    );
}
