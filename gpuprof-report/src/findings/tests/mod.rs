//! Hand-made profiles, and the findings of the rules for them.

mod below_roofline;
mod collectives;
mod copies;
mod examples;
mod hand_made;
mod host;
mod kernels;
mod limits;
mod loading;
mod measured;
mod memory;
mod nsight_commands;
mod overlap;
mod page;
mod random_profiles;
mod waits;
mod whole_run;
mod wrong_advice;

use super::findings;
use crate::profile::{
    ApiStats, BusyRecords, CopyStats, CuptiCompleteness, DurationStats, Finding, Function,
    GpuActivity, GpuBusy, KernelStats, Profile, SpanStats, TreeNode,
};

use hand_made::*;

/// Rule and function of each finding.
fn found(profile: &Profile) -> Vec<(&'static str, String)> {
    let found = findings(profile).into_iter();
    found
        .map(|finding| (finding.rule.as_str(), finding.function.unwrap_or_default()))
        .collect()
}

/// The functions that a rule names; empty for the whole program.
fn named(rule: &str, profile: &Profile) -> Vec<String> {
    let found = found(profile).into_iter();
    found
        .filter(|(id, _)| *id == rule)
        .map(|(_, function)| function)
        .collect()
}

/// A rule's only finding.
fn the(rule: &str, profile: &Profile) -> Finding {
    let mut of_rule = findings(profile)
        .into_iter()
        .filter(|finding| finding.rule.as_str() == rule);
    let finding = of_rule.next().unwrap();
    assert_eq!(of_rule.next(), None, "{rule} speaks once");
    // About two lines of the report at 80 columns.
    assert!(finding.evidence.chars().count() <= 100, "{finding:?}");
    finding
}

/// The evidence of a rule for one of the functions that it names.
fn evidence_of(rule: &str, function: &str, profile: &Profile) -> String {
    let mut of_rule = findings(profile).into_iter();
    let finding = of_rule.find(|finding| {
        finding.rule.as_str() == rule && finding.function.as_deref() == Some(function)
    });
    finding.unwrap().evidence
}

fn evidence(rule: &str, profile: &Profile) -> String {
    the(rule, profile).evidence
}

fn speaks(rule: &str, profile: &Profile) -> bool {
    !named(rule, profile).is_empty()
}

#[test]
fn without_cupti_or_its_records_nothing_is_said_of_idle_time() {
    let mut profile = examples::training_on_h200();
    assert_eq!(named("launch-bound", &profile), ["step"]);
    profile.cupti.as_mut().unwrap().dropped_records = 11;
    assert!(!speaks("launch-bound", &profile), "records are missing");
    profile.cupti = Some(CuptiCompleteness::default());
    profile.gpu_busy[0].records = None;
    assert!(!speaks("launch-bound", &profile), "GPU spans only");
    profile.gpu_busy.clear();
    assert!(!speaks("launch-bound", &profile), "an older document");
    profile.cupti = None;
    assert_eq!(findings(&profile), []);
    assert_eq!(super::commands(&profile, true), []);
}

#[test]
fn an_empty_profile_has_no_finding() {
    let profile = Profile {
        cupti: Some(CuptiCompleteness::default()),
        ..Profile::default()
    };
    assert_eq!(findings(&profile), []);
    assert_eq!(super::commands(&profile, true), []);
}

#[test]
fn every_finding_is_returned_the_largest_gain_first() {
    let functions: Vec<Function> = (1..=9)
        .map(|n| {
            let upload = pageable("HtoD", 10, (100 + n) * US, 1 << 20);
            function(&format!("upload {n}"), 10, 2 * MS).copied([upload])
        })
        .collect();
    let mut profile = program(h200(), functions, &[]);
    let everything = found(&profile);
    // Each takes a ninth of the time; the threshold of the rule is a tenth.
    assert_eq!(everything.len(), 9);
    let gains: Vec<u64> = findings(&profile)
        .iter()
        .map(|finding| finding.gain_ns)
        .collect();
    assert!(gains.is_sorted_by(|a, b| a >= b), "{gains:?}");
    assert_eq!(everything[0].1, "upload 9");
    profile.wall_ns = 500 * MS;
    assert_eq!(findings(&profile).len(), 9);
    profile.wall_ns = 550 * MS;
    assert_eq!(findings(&profile).len(), 0, "0.2 %");
}
