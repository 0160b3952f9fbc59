//! The marks on shared GPU time and on GPU time that may be the host's, and the lines that explain
//! them.

mod profiles;

use gpuprof_report::profile::{Cupti, Profile};
use gpuprof_report::table::{TableOptions, functions, tree};
use profiles::{convolution, digits, graphs, quickstart, shared_stream, training};

fn options(width: usize) -> TableOptions {
    let mut options = TableOptions::default();
    options.width = Some(width);
    options
}

fn table_text(profile: &Profile, width: usize) -> String {
    let mut out = Vec::new();
    functions::write(profile, &options(width), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn tree_text(profile: &Profile, width: usize) -> String {
    let mut out = Vec::new();
    tree::write(profile, &options(width), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The same run with CUPTI, in which requests launched a kernel each.
fn with_cupti() -> Profile {
    let mut profile = shared_stream();
    profile.cupti = Some(Cupti::default());
    for function in &mut profile.functions {
        function.activity.busy_calls = function.calls;
        function.activity.busy_ns = Some(0);
    }
    for launching in [0, 1] {
        let activity = &mut profile.functions[launching].activity;
        activity.busy_ns = Some(763_280_000);
        (activity.activities, activity.launches) = (812, 812);
    }
    profile
}

#[test]
fn shared_time_and_host_time_are_marked_and_explained() {
    for width in [80, 120, 200] {
        let profile = shared_stream();
        insta::assert_snapshot!(format!("shared_{width}"), table_text(&profile, width));
        insta::assert_snapshot!(format!("shared_tree_{width}"), tree_text(&profile, width));
    }
}

#[test]
fn with_cupti_it_is_known_what_launched_nothing() {
    for width in [80, 200] {
        let text = table_text(&with_cupti(), width);
        insta::assert_snapshot!(format!("shared_cupti_{width}"), text);
    }
    let text = tree_text(&with_cupti(), 200);
    insta::assert_snapshot!("shared_cupti_tree_200", text);
}

#[test]
fn with_incomplete_records_it_is_not_known() {
    let mut profile = with_cupti();
    profile.cupti.as_mut().unwrap().dropped_records = 1;
    let text = table_text(&profile, 200);
    let line = text.lines().find(|line| line.starts_with("? may be"));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    assert!(line.ends_with("#[gpu_profile(cpu)]."), "{line}");
    assert!(!text.contains('∅'), "{text}");
}

#[test]
fn marks_that_are_not_drawn_are_not_explained() {
    for profile in [training(), quickstart(), graphs(), convolution(), digits()] {
        for text in [table_text(&profile, 200), tree_text(&profile, 200)] {
            assert!(!text.contains(['?', '∅', '÷']), "{text}");
        }
    }
    // A row that the limit cuts has no mark of its own.
    let mut limited = options(200);
    limited.limit = std::num::NonZeroUsize::new(1);
    let mut out = Vec::new();
    functions::write(&shared_stream(), &limited, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains('÷') && !text.contains('?'), "{text}");
}
