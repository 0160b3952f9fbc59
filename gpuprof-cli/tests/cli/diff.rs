//! `gpuprof diff` as a gate: it fails on a slowed kernel, passes on noise, and says when it cannot
//! decide.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::{Ended, ended, gpuprof};

/// Runs in a folder; run `number` takes `factor(kernel)` times as long in each of six kernels.
fn write_runs(folder: &Path, side: &str, runs: usize, factor: impl Fn(usize, usize) -> f64) {
    fs::create_dir(folder.join(side)).expect("a folder");
    for run in 0..runs {
        let kernels = (0..6).map(|kernel| {
            let mean = 10_000.0 * (kernel + 1) as f64 * factor(run, kernel);
            json!({
                "name": format!("kernel_{kernel}"), "full_name": format!("kernel_{kernel}"),
                "device": 0, "calls": 100, "total_ns": (mean * 100.0) as u64,
                "max_ns": mean as u64,
            })
        });
        let document = json!({
            "schema": "gpuprof.profile/1", "program": "train", "pid": run,
            "started_at": format!("2026-11-22T18:00:{run:02}Z"), "host": side,
            "wall_ns": 1_000_000_000_u64,
            "meta": [{"key": "commit", "value": format!("{side}-commit")}],
            "devices": [{"name": "NVIDIA H200", "driver": "13.0"}],
            "kernels": kernels.collect::<Vec<Value>>(),
        });
        let path = folder.join(side).join(format!("{run}.json"));
        fs::write(path, document.to_string()).expect("a file");
    }
}

/// Noise of up to 0.7 % that is the same in every test, and a slow clock in every other run.
fn noise(run: usize, kernel: usize) -> f64 {
    let own = [0.2, -0.5, 0.7, -0.3, 0.1, -0.6, 0.4][(run * 5 + kernel * 3) % 7];
    (1.0 + own / 100.0) * if run.is_multiple_of(2) { 1.07 } else { 1.0 }
}

/// `gpuprof diff old --vs new` in `folder`, and more arguments.
fn diff(folder: &Path, more: &[&str]) -> Ended {
    let mut command = gpuprof(&["diff", "old", "--vs", "new"]);
    command.args(more).current_dir(folder);
    ended(command)
}

fn noisy(change: f64, runs: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write_runs(folder.path(), "old", runs, noise);
    write_runs(folder.path(), "new", runs, |run, kernel| {
        let change = if kernel == 2 { change } else { 0.0 };
        noise(run + 1, kernel + 1) * (1.0 + change)
    });
    folder
}

#[test]
fn a_comparison_is_no_profile() {
    let folder = noisy(0.0, 1);
    let written = diff(folder.path(), &["--format", "json", "-o", "cmp.json"]);
    assert_eq!((written.code, &*written.stderr), (Some(0), ""));
    let mut show = gpuprof(&["show", "cmp.json"]);
    show.current_dir(folder.path());
    let refused = ended(show);
    let said = "gpuprof: cmp.json: this is a comparison, which gpuprof diff wrote; gpuprof show, \
                diff, merge and export read profiles, which GPUPROF_REPORT=json=PATH writes\n";
    assert_eq!((refused.code, &*refused.stderr), (Some(2), said));
}

#[test]
fn the_gate_fails_on_a_slowed_kernel_and_names_it() {
    let folder = noisy(0.05, 5);
    let found = diff(folder.path(), &[]);
    assert_eq!(found.code, Some(1), "{found:?}");
    assert_eq!(found.stderr, "gpuprof: kernel_2 is slower\n");
    let row = found
        .stdout
        .lines()
        .find(|line| line.starts_with("kernel_2"))
        .expect("a row");
    assert!(row.contains("SLOWER"), "{row}");
    assert!(found.stdout.contains("commit: old-commit → new-commit\n"));
}

#[test]
fn the_gate_passes_on_noise() {
    let folder = noisy(0.0, 5);
    // The clock states leave open whether all work changed, which --fail-on does not ask for.
    for more in [&[][..], &["--strict", "--fail-on", "kernel:5"]] {
        let found = diff(folder.path(), more);
        assert_eq!((found.code, &*found.stderr), (Some(0), ""), "{found:?}");
    }
}

#[test]
fn limits_alone_decide_if_there_are_any() {
    let folder = noisy(0.05, 5);
    let found = diff(folder.path(), &["--fail-on", "^kernel_2$:3"]);
    assert_eq!(
        (found.code, &*found.stderr),
        (Some(1), "gpuprof: kernel_2 is slower by at least 3 %\n")
    );
    for limit in ["^kernel_2$:20", "^kernel_[^2]:1"] {
        assert_eq!(
            diff(folder.path(), &["--fail-on", limit]).code,
            Some(0),
            "{limit}"
        );
    }
    let found = diff(folder.path(), &["--fail-on", "gone:5"]);
    assert_eq!(found.code, Some(2));
    assert!(
        found
            .stderr
            .contains("\"gone\": no function or kernel has such a name"),
        "{found:?}"
    );
}

#[test]
fn one_run_a_side_decides_nothing_without_a_limit() {
    let folder = noisy(0.3, 1);
    let found = diff(folder.path(), &[]);
    assert_eq!(found.code, Some(0), "{found:?}");
    assert!(
        found.stdout.contains("one run a side proves little"),
        "{found:?}"
    );
    assert_eq!(diff(folder.path(), &["--strict"]).code, Some(3));
    assert_eq!(
        diff(folder.path(), &["--fail-on", "kernel_2:10"]).code,
        Some(1)
    );
    assert_eq!(
        diff(folder.path(), &["--fail-on", "kernel_2:50"]).code,
        Some(0)
    );
}

#[test]
fn noise_beyond_the_margin_is_undecided_under_strict() {
    let folder = tempfile::tempdir().expect("a folder");
    let loud = |shift: usize| {
        move |run: usize, kernel: usize| 1.0 + ((run * 7 + kernel * 3 + shift) % 5) as f64 / 20.0
    };
    write_runs(folder.path(), "old", 3, loud(0));
    write_runs(folder.path(), "new", 3, loud(2));
    let found = diff(folder.path(), &["--strict"]);
    assert_eq!(found.code, Some(3), "{found:?}");
    assert!(
        found
            .stderr
            .contains("UNSURE, which --strict does not accept: "),
        "{found:?}"
    );
    assert_eq!(diff(folder.path(), &[]).code, Some(0));
}

#[test]
fn bad_input_is_named_and_ends_with_2() {
    let folder = noisy(0.0, 2);
    fs::write(folder.path().join("new/broken.json"), "{\"schema\": ").expect("a file");
    let found = diff(folder.path(), &[]);
    assert_eq!((found.code, &*found.stdout), (Some(2), ""), "{found:?}");
    assert!(
        found
            .stderr
            .starts_with("gpuprof: new/broken.json: this is not a JSON profile")
    );
    for wrong in [
        &["--fail-on", "kernel"][..],
        &["--margin", "-3"],
        &["--format", "pdf"],
    ] {
        assert_eq!(diff(folder.path(), wrong).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn two_paths_are_the_old_and_the_new_version() {
    let folder = noisy(0.3, 1);
    let run = |arguments: &[&str]| {
        let mut command = gpuprof(&["diff"]);
        command.args(arguments).current_dir(folder.path());
        ended(command)
    };
    let stated = run(&["old/0.json", "--vs", "new/0.json"]);
    assert!(stated.stdout.contains("kernel_2"), "{stated:?}");
    assert_eq!(run(&["old/0.json", "new/0.json"]), stated);
    assert_eq!(run(&["old", "new"]), stated);
    for unclear in [&["old"][..], &["old", "new", "old"]] {
        let found = run(unclear);
        assert_eq!((found.code, &*found.stdout), (Some(2), ""), "{found:?}");
        let line = "gpuprof: name the runs of the new version after --vs: only two paths do \
                    without it\n";
        assert_eq!(found.stderr, line);
    }
}

#[test]
fn markdown_and_json_hold_the_same_verdicts() {
    let folder = noisy(0.05, 5);
    let markdown = diff(folder.path(), &["--format", "markdown"]).stdout;
    assert!(
        markdown.starts_with("<!-- gpuprof diff -->\n### gpuprof: 1 SLOWER"),
        "{markdown}"
    );
    let row = markdown
        .lines()
        .find(|line| line.starts_with("| `kernel_2` kernel"));
    assert!(
        row.is_some_and(|row| row.contains("| 🔴 SLOWER | ")),
        "{markdown}"
    );
    let json = diff(folder.path(), &["--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["schema"], "gpuprof.comparison/1");
    let items = json["items"].as_array().expect("items");
    let slower: Vec<_> = items
        .iter()
        .filter(|item| item["verdict"] == "SLOWER")
        .collect();
    assert_eq!(slower.len(), 1);
    assert_eq!(slower[0]["name"], "kernel_2");
    let change = slower[0]["change"].as_f64().expect("a change");
    assert!((change - 0.05).abs() < 0.01, "{change}");
}
