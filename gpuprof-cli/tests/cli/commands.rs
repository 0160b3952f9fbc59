//! The command as a whole: help, completions, manual pages, `cargo gpuprof`, `doctor`.

use std::fs;
use std::process::Command;

use super::{ended, gpuprof};

#[test]
fn help_and_version_are_a_success() {
    let version = concat!("gpuprof ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(ended(gpuprof(&["--version"])).stdout, version);
    for arguments in [&["--help"][..], &["show", "--help"], &["run", "-h"]] {
        let ended = ended(gpuprof(arguments));
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{arguments:?}");
        assert!(ended.stdout.contains("Usage: gpuprof"), "{arguments:?}");
    }
    for arguments in [&[][..], &["shwo"]] {
        let ended = ended(gpuprof(arguments));
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{arguments:?}");
    }
}

#[test]
fn a_negative_value_is_refused_as_a_value() {
    let rows = "it takes a whole number of rows, such as 30";
    let duration = "accepted is a duration such as 500ms or 2s";
    for (arguments, option, why) in [
        (
            &["show", "--limit", "-1", "a.json"][..],
            "--limit <ROWS>",
            rows,
        ),
        (&["diff", "--limit", "-1", "a", "b"], "--limit <ROWS>", rows),
        (
            &["diff", "a", "b", "--margin", "-3"],
            "--margin <PERCENT>",
            "\"-3\" is not a percentage from 0, such as 5",
        ),
        (
            &["run", "--sample", "-1", "a"],
            "--sample <SPEC>",
            "accepted are auto, auto:P%",
        ),
        (
            &["run", "--delay", "-1s", "a"],
            "--delay <DURATION>",
            duration,
        ),
        (&["run", "--for", "-1s", "a"], "--for <DURATION>", duration),
        (
            &["snapshot", "a", "--for", "-1s"],
            "--for <TIME>",
            "a time such as 500ms, 5s or 2m, at most 10m",
        ),
        (
            &["trace", "a", "-o", "a.json", "--for", "-1s"],
            "--for <TIME>",
            "a time such as 500ms, 5s or 2m, at most 10m",
        ),
    ] {
        let ended = ended(gpuprof(arguments));
        let value = arguments
            .iter()
            .find(|argument| argument.starts_with("-1") || **argument == "-3");
        let said = format!(
            "error: invalid value '{}' for '{option}': {why}",
            value.expect("one")
        );
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.starts_with(&said), "{ended:?}");
        assert!(!ended.stderr.contains("tip:"), "{ended:?}");
    }
}

#[test]
fn cargo_passes_its_own_name_for_the_command() {
    for arguments in [&["gpuprof", "--version"][..], &["--version"]] {
        let mut cargo = Command::new(env!("CARGO_BIN_EXE_cargo-gpuprof"));
        cargo.args(arguments);
        let version = concat!("gpuprof ", env!("CARGO_PKG_VERSION"), "\n");
        assert_eq!(ended(cargo).stdout, version, "{arguments:?}");
    }
}

#[test]
fn every_shell_has_completions_of_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ended = ended(gpuprof(&["completions", shell]));
        assert_eq!(ended.code, Some(0), "{shell}");
        for word in ["show", "run", "doctor", "man", "cupti", "limit"] {
            assert!(ended.stdout.contains(word), "{shell} has no {word}");
        }
    }
    assert_eq!(ended(gpuprof(&["completions", "sh"])).code, Some(2));
}

#[test]
fn every_command_has_a_manual_page() {
    let whole = ended(gpuprof(&["man"]));
    assert!(whole.stdout.contains(".TH gpuprof 1"), "{}", whole.stdout);
    for command in [
        "show",
        "export",
        "run",
        "snapshot",
        "top",
        "trace",
        "mcp",
        "doctor",
        "completions",
        "man",
    ] {
        let page = ended(gpuprof(&["man", command])).stdout;
        let title = format!(".TH gpuprof-{command} 1");
        assert!(page.contains(&title), "{page}");
    }
    let unknown = ended(gpuprof(&["man", "shwo"]));
    assert_eq!(unknown.code, Some(2));
    assert_eq!(
        unknown.stderr,
        "gpuprof: man: accepted are show, diff, merge, export, run, snapshot, top, trace, mcp, \
         doctor, completions, man, help\n"
    );
}

#[test]
fn doctor_exits_as_the_driver_is() {
    let ended = ended(gpuprof(&["doctor"]));
    let driver = ended.stdout.lines().next().expect("a line");
    let code = match driver.strip_prefix("driver        ") {
        Some(state) if state.starts_with("ok       CUDA ") => 0,
        Some(state) if state.starts_with("missing  ") => 1,
        _ => panic!("{ended:?}"),
    };
    assert_eq!((ended.code, &*ended.stderr), (Some(code), ""));
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/command.md");
    let page = fs::read_to_string(page).expect("the page");
    let sample = page.split("\n$ gpuprof doctor\n").nth(1).expect("a sample");
    let names = |text: &str| -> Vec<String> {
        let lines = text.lines().take_while(|line| !line.starts_with("```"));
        let names = lines.filter_map(|line| line.get(..14)).map(str::trim);
        names
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(names(sample), names(&ended.stdout));
    for name in [
        "libcupti",
        "NVML",
        "GPU counters",
        "nsys",
        "ncu",
        "libclang",
        "nvcc",
    ] {
        let is_checked = |line: &str| line.starts_with(&format!("{name}  "));
        let aligned = |line: &str| line.starts_with(&format!("{name:12}  "));
        let lines = ended.stdout.lines();
        assert_eq!(
            lines
                .filter(|line| is_checked(line) || aligned(line))
                .count(),
            1,
            "{name}"
        );
    }
}

#[test]
fn a_program_that_root_does_not_see_is_said_to_be_looked_for_as_root() {
    let folder = tempfile::tempdir().expect("a folder");
    for command in ["snapshot", "top"] {
        let mut asked = gpuprof(&[command, "no-such-program"]);
        asked.env("XDG_RUNTIME_DIR", folder.path());
        let found = ended(asked);
        assert_eq!(found.code, Some(2), "{found:?}");
        let said = "(this command runs as root and sees programs of root alone)\n";
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(found.stderr.ends_with(said), is_root, "{found:?}");
        assert_eq!(found.stderr.lines().count(), 1, "{found:?}");
    }
}
