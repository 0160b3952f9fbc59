//! The report as a reader sees it, at the widths of real terminals and in a pipe.
//!
//! The snapshots are reviewed by eye: a change of layout is a change of these files.

mod profiles;

use std::num::NonZeroUsize;

use gpuprof_report::profile::Profile;
use gpuprof_report::table::Sort;
use profiles::{
    convolution, digits, full, graphs, options, partly_timed, quickstart, report, training,
    trouble, with_steps, without_gpu, without_stream,
};
use unicode_width::UnicodeWidthStr;

/// Snapshots at six widths, a pipe among them.
fn at_all_widths(name: &str, profile: &Profile) {
    for width in [60, 80, 100, 120, 160] {
        let text = report(profile, &options(width));
        insta::assert_snapshot!(format!("{name}_{width}"), text);
    }
    insta::assert_snapshot!(format!("{name}_pipe"), report(profile, &options(None)));
}

#[test]
fn a_profile_displays_as_in_a_pipe() {
    let text = report(&quickstart(), &options(None));
    assert_eq!(quickstart().to_string(), text);
}

#[test]
fn a_run_without_cupti() {
    at_all_widths("training", &training());
}

#[test]
fn a_run_with_cupti_whose_records_did_not_all_come() {
    insta::assert_snapshot!("digits_80", report(&digits(), &options(80)));
}

#[test]
fn copies_and_kernels_of_few_calls() {
    insta::assert_snapshot!("convolution_80", report(&convolution(), &options(80)));
    insta::assert_snapshot!("convolution_120", report(&convolution(), &options(120)));
}

#[test]
fn everything_is_in_the_full_report() {
    insta::assert_snapshot!("digits_full", report(&digits(), &full(None)));
    insta::assert_snapshot!("training_full", report(&training(), &full(None)));
}

#[test]
fn steps_have_a_line_with_the_slowest() {
    let mut profile = with_steps(training());
    let line = |profile: &Profile| {
        let text = report(profile, &options(None));
        let line = text.lines().find(|line| line.trim().starts_with("steps:"));
        line.map(|line| line.trim().to_owned())
    };
    let expected = "steps: 1,300, mean 33.3 ms, slowest 210 ms (step 17)";
    assert_eq!(line(&profile).as_deref(), Some(expected));
    let steps = profile.steps.as_mut().unwrap();
    steps.slowest[0].rank = Some(3);
    let expected = "steps: 1,300, mean 33.3 ms, slowest 210 ms (step 17 of rank 3)";
    assert_eq!(line(&profile).as_deref(), Some(expected));
    profile.steps.as_mut().unwrap().count = 1;
    assert_eq!(line(&profile).as_deref(), Some("steps: 1, mean 33.3 ms"));
    assert_eq!(line(&training()), None);
}

#[test]
fn trouble_is_reported_in_full() {
    insta::assert_snapshot!("trouble_80", report(&trouble(), &options(80)));
    insta::assert_snapshot!("trouble_full", report(&trouble(), &full(None)));
}

#[test]
fn captured_calls_say_where_their_replays_are() {
    insta::assert_snapshot!("graphs_80", report(&graphs(), &options(80)));
}

#[test]
fn rows_beyond_the_limit_are_summed_and_counted() {
    for (name, profile) in [("digits", digits()), ("training", training())] {
        let mut limited = options(120);
        limited.limit = NonZeroUsize::new(4);
        insta::assert_snapshot!(format!("{name}_limit_4"), report(&profile, &limited));
    }
}

#[test]
fn without_cupti_nothing_of_its_records_is_printed() {
    let mut off = digits();
    (off.cupti, off.findings) = (None, Vec::new());
    (off.kernels, off.copies, off.api) = (Vec::new(), Vec::new(), Vec::new());
    for node in &mut off.tree {
        (node.busy_ns, node.idle_ns) = (None, None);
        node.activities.clear();
    }
    for function in &mut off.functions {
        function.activity = Default::default();
    }
    for busy in &mut off.gpu_busy {
        busy.records = None;
    }
    let text = report(&off, &full(None));
    for word in [
        "API call",
        "Kernel",
        "Look first",
        "CUPTI 1",
        "adam_step",
        "Busy",
    ] {
        assert!(!text.contains(word), "{word} in {text}");
    }
}

#[test]
fn a_run_without_remarks_is_short() {
    insta::assert_snapshot!("quickstart_80", report(&quickstart(), &options(80)));
    insta::assert_snapshot!("without_gpu_80", report(&without_gpu(), &options(80)));
}

#[test]
fn a_profile_without_a_call_tree_shows_its_functions() {
    let mut profile = quickstart();
    profile.tree.clear();
    insta::assert_snapshot!("without_tree_80", report(&profile, &options(80)));
}

#[test]
fn sums_that_lack_calls_are_marked_and_say_what_they_lack() {
    insta::assert_snapshot!("partly_timed_80", report(&partly_timed(), &options(80)));
    insta::assert_snapshot!("partly_timed_full", report(&partly_timed(), &full(None)));
}

#[test]
fn without_any_stream_the_report_says_how_to_give_one() {
    insta::assert_snapshot!("without_stream_80", report(&without_stream(), &options(80)));
}

#[test]
fn rows_are_in_the_order_that_is_asked_for() {
    let first = |sort| {
        let mut options = options(80);
        options.sort = sort;
        let text = report(&convolution(), &options);
        let mut lines = text
            .lines()
            .skip_while(|line| !line.starts_with("Function"));
        let row = lines.nth(1).unwrap_or_default();
        row.split(' ').next().unwrap_or_default().to_owned()
    };
    assert_eq!(first(Sort::Gpu), "run_version");
    assert_eq!(first(Sort::Cpu), "run_version");
    assert_eq!(first(Sort::Calls), "convolve_double");
    assert_eq!(first(Sort::Max), "run_version");
    assert_eq!(first(Sort::Name), "check");
}

#[test]
fn colour_is_sparing() {
    let mut colored = options(80);
    colored.color = true;
    // Escapes are spelled out, so that the reviewed file is plain text.
    let spelled = |text: String| text.replace('\x1b', "␛");
    insta::assert_snapshot!("trouble_color", spelled(report(&trouble(), &colored)));
}

#[test]
fn colour_changes_no_character_of_the_text() {
    for profile in [training(), trouble(), convolution(), digits()] {
        for plain in [options(100), full(100)] {
            let mut colored = plain.clone();
            colored.color = true;
            let text = without_escapes(&report(&profile, &colored));
            assert_eq!(text, report(&profile, &plain));
        }
    }
}

fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\x1b') {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain + rest
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for profile in [
        training(),
        trouble(),
        quickstart(),
        partly_timed(),
        without_stream(),
        without_gpu(),
        convolution(),
        digits(),
    ] {
        for width in 1..=220 {
            // Command lines are there to be copied.
            let mut profile = profile.clone();
            profile.commands.clear();
            for options in [options(width), full(width)] {
                let text = report(&profile, &options);
                for line in text.lines() {
                    assert!(
                        line.width() <= width,
                        "{} columns at {width}: {line}",
                        line.width()
                    );
                }
            }
        }
    }
}

#[test]
fn a_pipe_gets_whole_names_and_the_full_report_every_column() {
    let text = report(&training(), &options(None));
    for function in training().functions {
        let is_shown = text.contains(&function.name);
        assert_eq!(is_shown, function.calls > 0, "{}", function.name);
    }
    let text = report(&digits(), &full(None));
    for kernel in digits().kernels {
        assert!(text.contains(&kernel.name), "{}", kernel.name);
    }
    for column in [
        "Busy(%)",
        "Idle(%)",
        "p95(",
        "CPU self(",
        "Queued(",
        "Occupancy(%)",
        "Block",
        "GB/s",
    ] {
        assert!(text.contains(column), "{column} in {text}");
    }
    assert!(!text.contains("did not fit"), "{text}");
}

#[test]
fn no_name_can_move_the_cursor() {
    let mut profile = trouble();
    let evil = "x\x1b]0;owned\x07\r\n\u{202e}";
    profile.program = evil.into();
    profile.host = evil.into();
    profile.devices[0].name = evil.into();
    profile.devices[0].driver = evil.into();
    profile.diagnostics.errors[0].name = evil.into();
    profile.diagnostics.notes = vec![evil.into()];
    for width in [None, Some(40), Some(120)] {
        for text in [
            report(&profile, &options(width)),
            report(&profile, &full(width)),
        ] {
            assert!(
                !text
                    .chars()
                    .any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'),
                "{text:?}"
            );
        }
    }
}

#[test]
fn a_profile_without_a_call_prints_nothing() {
    let mut profile = training();
    profile.functions.retain(|function| function.calls == 0);
    profile.tree.clear();
    assert_eq!(report(&profile, &options(80)), "");
    assert_eq!(report(&Profile::default(), &options(None)), "");
}
