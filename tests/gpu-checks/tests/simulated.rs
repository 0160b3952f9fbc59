//! Promise: every check of the GPU pack works on the simulated device with small counts. A failed
//! row, and a check without rows, fail this test.
//!
//! The examples are skipped: `tests/suite/reports/examples.rs` runs them, and a test of this
//! package alone does not build them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn gpu_checks(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpu-checks"));
    command.args(arguments);
    command
}

fn run(mut command: Command) -> Output {
    command.output().expect("gpu-checks starts")
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("ours");
    }
    folder
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The JSON that a run wrote.
fn outcome(folder: &Path) -> Value {
    let json = std::fs::read_to_string(folder.join("gpu-pack.json")).expect("it is written");
    serde_json::from_str(&json).expect("JSON")
}

/// Every row of every part, with the part's name.
fn rows(outcome: &Value) -> Vec<(&str, &Value)> {
    let parts = outcome["parts"].as_array().expect("parts");
    parts
        .iter()
        .flat_map(|part| {
            let name = part["name"].as_str().expect("a name");
            let rows = part["rows"].as_array().expect("rows");
            rows.iter().map(move |row| (name, row))
        })
        .collect()
}

#[test]
fn every_check_holds_on_the_simulated_device() {
    let out = folder("every-check");
    let mut command = gpu_checks(&["--short", "--simulated", "--skip", "examples", "--out"]);
    command.arg(&out);
    let output = run(command);
    let printed = text(&output.stdout);
    assert!(
        output.status.success(),
        "{printed}\n{}",
        text(&output.stderr)
    );

    let outcome = outcome(&out);
    let rows = rows(&outcome);
    let failed: Vec<_> = rows
        .iter()
        .filter(|(_, row)| row["verdict"] == "fail")
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let reported: BTreeSet<_> = rows.iter().map(|(part, _)| (*part).to_owned()).collect();
    let list = text(&run(gpu_checks(&["list"])).stdout);
    let listed: BTreeSet<_> = list
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(String::from)
        .collect();
    assert_eq!(reported, listed, "each check has at least one row");
    assert!(listed.len() > 7, "{list}");

    assert_eq!(outcome["machine"]["simulated"], true);
    let page = std::fs::read_to_string(out.join("gpu-pack.md")).expect("it is written");
    assert!(page.contains("simulated device: no time here is a measurement"));
    for (part, row) in rows {
        let what = row["what"].as_str().expect("text");
        let line = format!("| {part}: {}", what.replace('|', "\\|"));
        assert!(page.contains(&line), "{line}");
    }
}

#[test]
fn the_callers_settings_do_not_reach_the_checks() {
    let arguments = ["--short", "--simulated", "--only", "blocking"];
    let mut command = gpu_checks(&arguments);
    // With gpuprof off no call would be counted.
    command.env("GPUPROF", "off").env("GPUPROF_SAMPLE", "7");
    let output = run(command);
    assert!(output.status.success(), "{}", text(&output.stdout));
}

#[test]
fn a_machine_without_a_gpu_is_a_failure_unless_it_is_asked_for() {
    let mut command = gpu_checks(&["--short", "--only", "events"]);
    // Hides the GPU of a machine that has one.
    command.env("CUDA_VISIBLE_DEVICES", "");
    let output = run(command);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no CUDA device answers"), "{said}");
}

#[test]
fn an_unknown_name_is_answered_with_those_there_are() {
    let output = run(gpu_checks(&["--simulated", "--only", "blockng"]));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said.contains("`blockng`") && said.contains("blocking"),
        "{said}"
    );
}
