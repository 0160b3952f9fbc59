//! Promise: the benchmark runs to its end on any machine that runs the tests, and its table has
//! every row. It measures nothing here: one short, unoptimized round.

use std::process::{Command, Output};

use serde_json::Value;

fn cost(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cost"))
        .args(arguments)
        .env("GPUPROF_SIM", "1")
        .output()
        .expect("it starts")
}

#[test]
fn a_short_run_has_every_row_and_judges_no_time() {
    let json = std::env::temp_dir().join(format!("gpuprof-short-{}.json", std::process::id()));
    let output = cost(&[
        "--short",
        "--width",
        "80",
        "--json",
        json.to_str().expect("UTF-8"),
    ]);
    let table = String::from_utf8_lossy(&output.stdout);
    let text = std::fs::read_to_string(&json).unwrap_or_else(|_| panic!("no JSON beside\n{table}"));
    std::fs::remove_file(&json).expect("it was there");
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    for row in [
        "nothing",
        "two raw TSC reads",
        "two Instant reads",
        "gpuprof, filter hit",
        "gpuprof, filter miss",
        "gpuprof, on a time line",
        "re-entry guard alone",
        "GPUPROF=off",
        "feature off",
        "hotpath #[measure]",
        "fastrace #[trace]",
        "tracing span, empty layer",
        "stored span, empty layer",
        "ns per launch, simulated",
        "launch in gpuprof",
        "the same, by default",
        "the same, sampled out",
        "one stream: gpuprof",
    ] {
        assert!(table.contains(row), "no {row} in\n{table}");
    }

    let outcome: Value = serde_json::from_str(&text).expect("JSON");
    let times = outcome["times"].as_array().expect("times");
    // The program without gpuprof belongs to another build and may be missing.
    let here = |time: &&Value| time["name"] != "switched-off" && time["name"] != "nothing-there";
    assert_eq!(times.iter().filter(here).count(), 4 * 29, "{text}");
    for promise in outcome["promises"].as_array().expect("promises") {
        let judged = promise["verdict"] == "pass" || promise["verdict"] == "fail";
        assert!(!judged || promise["strict"] == true, "{promise}");
    }
}

#[test]
fn one_row_can_be_run_alone() {
    assert!(cost(&["loop", "span", "1000"]).status.success());
    let wrong = cost(&["loop", "nonsense", "1000"]);
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert!(
        !wrong.status.success() && said.contains("raw-tsc"),
        "{said}"
    );
}
