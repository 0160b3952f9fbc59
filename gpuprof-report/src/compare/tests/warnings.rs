//! What makes a comparison doubtful is said, and facts are compared.

use crate::compare::{ComparisonOptions, compare};
use crate::profile::{Device, MetaPair, Profile, Throttle};
use crate::setting_values::Sampling;

fn run(number: usize) -> Profile {
    Profile {
        program: "train".into(),
        started_at: format!("2026-11-22T18:00:0{number}Z"),
        devices: vec![Device {
            name: "NVIDIA H200".into(),
            driver: "13.0".into(),
            ..Device::default()
        }],
        meta: vec![
            MetaPair::new("commit", "1f2e3d4"),
            MetaPair::new("args", "--epochs 3"),
        ],
        ..Profile::default()
    }
}

fn runs(range: std::ops::Range<usize>) -> Vec<Profile> {
    range.map(run).collect()
}

fn warnings(old: &[Profile], new: &[Profile]) -> Vec<String> {
    compare(old, new, &ComparisonOptions::default()).warnings
}

#[test]
fn runs_of_one_kind_raise_no_warning() {
    assert_eq!(warnings(&runs(0..3), &runs(3..6)), Vec::<String>::new());
}

#[test]
fn few_runs_and_repeated_ones_are_named() {
    assert!(warnings(&runs(0..1), &runs(1..2))[0].starts_with("one run a side proves little"));
    assert!(warnings(&runs(0..2), &runs(2..5))[0].starts_with("2 old runs and 3 new runs are few"));
    let repeated = warnings(&runs(0..3), &runs(2..5));
    assert!(
        repeated[0].starts_with("1 of the files are copies of another one"),
        "{repeated:?}"
    );
}

#[test]
fn each_difference_between_runs_is_named_with_both_sides() {
    type Change = fn(&mut Profile);
    let changes: [(Change, &str); 7] = [
        (
            |run| run.program = "serve".into(),
            "programs: old train; new serve; ",
        ),
        (
            |run| run.devices[0].name = "NVIDIA A100".into(),
            "devices: old NVIDIA H200; new NVIDIA A100; ",
        ),
        (
            |run| run.devices[0].driver = "12.8".into(),
            "CUDA drivers: old 13.0; new 12.8; ",
        ),
        (
            |run| run.meta[1].value = "--epochs 4".into(),
            "arguments: old --epochs 3; new --epochs 4; ",
        ),
        (
            |run| run.diagnostics.sampling = Sampling::AUTO,
            "sampling: old every call; new auto:1%; ",
        ),
        (
            |run| run.cupti = Some(Default::default()),
            "CUPTI: old off; new on; ",
        ),
        (
            |run| run.devices[0].simulated = true,
            "simulated devices: old measured; new simulated device; ",
        ),
    ];
    for (change, expected) in changes {
        let mut new = runs(3..6);
        new.iter_mut().for_each(change);
        let found = warnings(&runs(0..3), &new);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with(&format!("the runs are of different {expected}")),
            "{found:?}"
        );
    }
}

#[test]
fn a_run_that_names_no_device_is_not_of_another_one() {
    let mut new = runs(3..6);
    let mut old = runs(0..3);
    for run in old.iter_mut().chain(&mut new) {
        run.devices[0].simulated = true;
    }
    // No call was timed there.
    new[1].devices.clear();
    assert_eq!(warnings(&old, &new), [""; 0]);
    new.iter_mut().for_each(|run| run.devices.clear());
    assert_eq!(warnings(&old, &new), [""; 0]);
    let mut other = runs(3..6);
    other[0].devices.clear();
    other[1].devices[0].driver = "12.8".into();
    old.iter_mut()
        .for_each(|run| run.devices[0].simulated = false);
    assert_eq!(
        warnings(&old, &other),
        [
            "the runs are of different CUDA drivers: old 13.0; new 12.8, 13.0; compare runs of the \
          same one"
        ]
    );
}

#[test]
fn a_rank_beside_a_run_without_one_is_named() {
    let mut new = runs(3..6);
    new[0].rank = Some(3);
    assert_eq!(
        warnings(&runs(0..3), &new),
        [
            "the runs are of different ranks: old none; new 3, none; merge the ranks of each run \
          first: gpuprof merge"
        ]
    );
}

#[test]
fn lowered_clocks_are_counted() {
    let mut new = runs(3..6);
    new[1].throttled = vec![Throttle {
        reasons: vec!["power cap".into()],
        sm_clock_mhz: Some(1_350),
        max_sm_clock_mhz: Some(1_980),
        ..Throttle::default()
    }];
    let found = warnings(&runs(0..3), &new);
    assert!(
        found[0].starts_with(
            "the GPU ran below its maximum clock in 0 of 3 old runs and 1 of 3 new runs (power \
             cap, down to 1350 of 1980 MHz)"
        ),
        "{found:?}"
    );
}

#[test]
fn facts_are_listed_with_the_values_of_each_side_once() {
    let mut new = runs(3..6);
    new[2].meta = vec![MetaPair::new("commit", "9a8b7c6")];
    let facts = compare(&runs(0..3), &new, &ComparisonOptions::default()).facts;
    let commit = facts.iter().find(|fact| fact.key == "commit").unwrap();
    assert!(commit.differs());
    assert_eq!(
        (&*commit.old, &*commit.new),
        ("1f2e3d4", "1f2e3d4, 9a8b7c6")
    );
    let device = facts.iter().find(|fact| fact.key == "device").unwrap();
    assert!(!device.differs());
}
