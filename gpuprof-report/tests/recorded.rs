//! Reports and findings of profiles that were recorded on an NVIDIA H200 (driver 580.159.04,
//! 2026-11-22, 17:59 UTC, by the examples of the GPU pack). The findings are those of this version.
//!
//! The snapshots are reviewed by eye: a change of layout or advice is a change of these files.

mod profiles;

use gpuprof_report::findings::findings;
use gpuprof_report::merge::Merger;
use gpuprof_report::profile::Profile;
use profiles::{full, options, report};
use serde_json::Value;

fn recorded(name: &str) -> Profile {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded");
    let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    let mut profile = gpuprof_report::json::from_str(&text).unwrap();
    profile.findings = findings(&profile);
    profile
}

/// Rule, function and gain in µs of each finding.
fn found(name: &str) -> Vec<(&'static str, String, u64)> {
    let findings = recorded(name).findings.into_iter();
    let found = findings.map(|finding| {
        let function = finding.function.unwrap_or_default();
        (finding.rule.as_str(), function, finding.gain_ns / 1_000)
    });
    found.collect()
}

#[test]
fn a_training_loop_at_six_widths() {
    let digits = recorded("04_train_digits");
    for width in [60, 80, 100, 120, 160] {
        let text = report(&digits, &options(width));
        insta::assert_snapshot!(format!("digits_{width}"), text);
    }
    insta::assert_snapshot!("digits_pipe", report(&digits, &options(None)));
    insta::assert_snapshot!("digits_full", report(&digits, &full(None)));
}

#[test]
fn the_same_without_cupti() {
    let digits = recorded("04_train_digits_without_cupti");
    for width in [60, 80, 120] {
        let text = report(&digits, &options(width));
        insta::assert_snapshot!(format!("digits_spans_{width}"), text);
    }
}

#[test]
fn one_stream_against_three() {
    insta::assert_snapshot!("streams_80", report(&recorded("03_streams"), &options(80)));
}

#[test]
fn three_versions_of_a_kernel() {
    let convolution = recorded("02_convolution");
    insta::assert_snapshot!("convolution_80", report(&convolution, &options(80)));
}

#[test]
fn what_a_nested_function_launched_elsewhere_is_no_part_of_its_caller() {
    let found = found("03_streams");
    // All copies on the one stream ran beside no kernel; those on three streams did not.
    let of = |rule| found.iter().find(|(name, ..)| *name == rule).unwrap();
    let (_, function, gain) = of("one-stream");
    assert_eq!((function.as_str(), *gain), ("on_one_stream", 1_861));
    let profile = recorded("03_streams");
    let idle = profile
        .findings
        .iter()
        .find(|finding| finding.rule.as_str() == "gpu-idle");
    let idle = idle.unwrap();
    assert!(
        idle.advice
            .starts_with("speed up check, 127 ms on the host"),
        "{}",
        idle.advice
    );
}

#[test]
fn the_first_finding_of_the_training_loop_is_its_launches() {
    let found = found("04_train_digits");
    let first: Vec<_> = found
        .iter()
        .map(|(rule, function, _)| (*rule, &**function))
        .take(2)
        .collect();
    assert_eq!(
        first,
        [("launch-bound", "step"), ("memsets", "gpu::Gpu::product")]
    );
}

/// What a merge takes over: neither what is of one process, nor what the merge counts anew.
fn figures(profile: &Profile) -> Value {
    let mut document = serde_json::to_value(profile).unwrap();
    let of_one_process = ["ranks", "findings", "commands", "pid", "wall_ns"];
    let counted_anew = ["id", "parent", "histogram", "notes"];
    remove(&mut document, &of_one_process);
    remove(&mut document, &counted_anew);
    document
}

fn remove(value: &mut Value, keys: &[&str]) {
    match value {
        Value::Object(fields) => {
            // They were recorded before kernels, copies and API calls had histograms.
            if !fields.contains_key("histogram") {
                fields.retain(|key, _| !["p50_ns", "p99_ns"].contains(&key.as_str()));
            }
            fields.retain(|key, _| !keys.contains(&key.as_str()));
            fields.values_mut().for_each(|value| remove(value, keys));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| remove(value, keys)),
        _ => {}
    }
}

#[test]
fn one_profile_merged_has_the_figures_of_that_profile() {
    for name in [
        "02_convolution",
        "03_streams",
        "04_train_digits",
        "04_train_digits_without_cupti",
    ] {
        let profile = recorded(name);
        let mut merger = Merger::default();
        merger.add(&profile);
        assert_eq!(figures(&merger.finish()), figures(&profile), "{name}");
    }
}
