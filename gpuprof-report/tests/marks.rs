//! The marks on shared GPU time and on GPU time that may be the host's, and the lines that explain
//! them.

mod profiles;

use gpuprof_report::profile::{CuptiCompleteness, Profile};
use profiles::{
    convolution, digits, full, graphs, options, quickstart, report, shared_stream, training,
};

/// The same run with CUPTI, in which requests launched a kernel each.
fn with_cupti() -> Profile {
    let mut profile = shared_stream();
    profile.cupti = Some(CuptiCompleteness::default());
    for function in &mut profile.functions {
        function.activity.busy_calls = function.calls;
        function.activity.busy_ns = Some(0);
    }
    for node in &mut profile.tree {
        node.busy_ns = Some(0);
    }
    for launching in [0, 1] {
        profile.tree[launching].busy_ns = Some(763_280_000);
        let activity = &mut profile.functions[launching].activity;
        activity.busy_ns = Some(763_280_000);
        (activity.activities, activity.launches) = (812, 812);
    }
    profile
}

#[test]
fn shared_time_and_host_time_are_marked_and_explained() {
    insta::assert_snapshot!("shared_80", report(&shared_stream(), &options(80)));
    insta::assert_snapshot!("shared_full", report(&shared_stream(), &full(None)));
}

#[test]
fn with_cupti_it_is_known_what_launched_nothing() {
    insta::assert_snapshot!("shared_cupti_80", report(&with_cupti(), &options(80)));
    insta::assert_snapshot!("shared_cupti_full", report(&with_cupti(), &full(None)));
}

#[test]
fn with_incomplete_records_it_is_not_known() {
    let mut profile = with_cupti();
    profile.cupti.as_mut().unwrap().dropped_records = 1;
    let text = report(&profile, &full(200));
    let line = text.lines().find(|line| line.starts_with("? may be"));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    assert!(line.ends_with("#[gpu_profile(cpu)]."), "{line}");
    assert!(!text.contains('∅'), "{text}");
}

#[test]
fn marks_that_are_not_drawn_are_not_explained() {
    for profile in [training(), quickstart(), graphs(), convolution(), digits()] {
        for options in [options(200), full(200)] {
            let text = report(&profile, &options);
            assert!(!text.contains(['?', '∅', '÷']), "{text}");
        }
    }
    // A row that the limit cuts has no mark of its own.
    let mut limited = options(200);
    limited.limit = std::num::NonZeroUsize::new(1);
    let text = report(&shared_stream(), &limited);
    assert!(text.contains('÷') && !text.contains('?'), "{text}");
}
