//! The table and the tree as a reader sees them, at the widths of real terminals and in a pipe.
//!
//! The snapshots are reviewed by eye: a change of layout is a change of these files.

mod profiles;

use gpuprof_report::profile::Profile;
use gpuprof_report::table::{Sort, TableOptions, functions, tree};
use profiles::{
    convolution, digits, graphs, partly_timed, quickstart, training, trouble, without_gpu,
    without_stream,
};
use std::num::NonZeroUsize;
use unicode_width::UnicodeWidthStr;

fn options(width: Option<usize>) -> TableOptions {
    limited(30, width)
}

fn limited(limit: usize, width: Option<usize>) -> TableOptions {
    let mut options = TableOptions::default();
    options.width = width;
    options.limit = NonZeroUsize::new(limit);
    options
}

fn table_text(profile: &Profile, options: &TableOptions) -> String {
    let mut out = Vec::new();
    functions::write(profile, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn tree_text(profile: &Profile, options: &TableOptions) -> String {
    let mut out = Vec::new();
    tree::write(profile, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_profile_displays_as_its_table_in_a_pipe() {
    assert_eq!(
        quickstart().to_string(),
        table_text(&quickstart(), &options(None))
    );
}

#[test]
fn training_at_four_widths_and_in_a_pipe() {
    for width in [60, 80, 120, 200] {
        insta::assert_snapshot!(
            format!("training_{width}"),
            table_text(&training(), &options(Some(width)))
        );
    }
    insta::assert_snapshot!("training_pipe", table_text(&training(), &options(None)));
}

#[test]
fn trouble_is_told_in_full() {
    for width in [60, 80, 120, 200] {
        insta::assert_snapshot!(
            format!("trouble_{width}"),
            table_text(&trouble(), &options(Some(width)))
        );
    }
    insta::assert_snapshot!("trouble_pipe", table_text(&trouble(), &options(None)));
}

#[test]
fn captured_calls_say_where_their_replays_are() {
    for width in [80, 120] {
        insta::assert_snapshot!(
            format!("graphs_{width}"),
            table_text(&graphs(), &options(Some(width)))
        );
    }
    insta::assert_snapshot!("graphs_tree_120", tree_text(&graphs(), &options(Some(120))));
}

#[test]
fn kernels_at_four_widths_and_in_a_pipe() {
    for (name, profile) in [("convolution", convolution()), ("digits", digits())] {
        for width in [60, 80, 120, 200] {
            insta::assert_snapshot!(
                format!("{name}_{width}"),
                table_text(&profile, &options(Some(width)))
            );
        }
        insta::assert_snapshot!(format!("{name}_pipe"), table_text(&profile, &options(None)));
    }
}

#[test]
fn kernels_beyond_the_limit_are_summed_in_one_row() {
    let limited = limited(2, Some(120));
    insta::assert_snapshot!("digits_limit_2", table_text(&digits(), &limited));
}

#[test]
fn without_cupti_nothing_of_the_kernel_tier_is_printed() {
    let mut off = digits();
    off.cupti = None;
    let text = table_text(&off, &options(None));
    for word in [
        "activities",
        "API calls",
        "Kernels",
        "Findings",
        "CUPTI",
        "adam_step",
    ] {
        assert!(!text.contains(word), "{word} in {text}");
    }
    for function in &mut off.functions {
        function.activity.busy_ns = None;
    }
    assert!(!table_text(&off, &options(None)).contains("busy"));
}

#[test]
fn a_tree_is_the_same_with_and_without_cupti() {
    let mut profile = training();
    // Without CUPTI a line says where the replays of captured calls are.
    for function in &mut profile.functions {
        function.captured_calls = 0;
    }
    let before = tree_text(&profile, &options(Some(120)));
    let seen = digits();
    (profile.cupti, profile.kernels, profile.findings) = (seen.cupti, seen.kernels, seen.findings);
    assert_eq!(tree_text(&profile, &options(Some(120))), before);
}

#[test]
fn a_run_without_remarks_is_short() {
    insta::assert_snapshot!(
        "quickstart_80",
        table_text(&quickstart(), &options(Some(80)))
    );
    insta::assert_snapshot!(
        "quickstart_120",
        table_text(&quickstart(), &options(Some(120)))
    );
    insta::assert_snapshot!(
        "without_gpu_80",
        table_text(&without_gpu(), &options(Some(80)))
    );
}

#[test]
fn sums_that_lack_calls_are_marked_and_say_what_they_lack() {
    for width in [80, 120] {
        let options = options(Some(width));
        insta::assert_snapshot!(
            format!("partly_timed_{width}"),
            table_text(&partly_timed(), &options)
        );
        insta::assert_snapshot!(
            format!("partly_timed_tree_{width}"),
            tree_text(&partly_timed(), &options)
        );
    }
    let limited = limited(1, Some(120));
    insta::assert_snapshot!(
        "partly_timed_limit_1",
        table_text(&partly_timed(), &limited)
    );
}

#[test]
fn without_any_stream_the_report_says_how_to_give_one() {
    let wide = options(Some(120));
    insta::assert_snapshot!("without_stream_120", table_text(&without_stream(), &wide));
    insta::assert_snapshot!(
        "without_stream_tree_120",
        tree_text(&without_stream(), &wide)
    );
}

#[test]
fn trees_at_four_widths_and_in_a_pipe() {
    for width in [60, 80, 120, 200] {
        insta::assert_snapshot!(
            format!("tree_{width}"),
            tree_text(&training(), &options(Some(width)))
        );
    }
    insta::assert_snapshot!("tree_pipe", tree_text(&training(), &options(None)));
}

#[test]
fn functions_beyond_the_limit_are_summed_in_one_row() {
    let limited = limited(4, Some(120));
    insta::assert_snapshot!("training_limit_4", table_text(&training(), &limited));
    insta::assert_snapshot!("tree_limit_4", tree_text(&training(), &limited));
}

#[test]
fn the_column_that_orders_the_rows_stays_in_sight() {
    let mut by_cpu = options(Some(60));
    by_cpu.sort = Sort::Cpu;
    insta::assert_snapshot!("training_by_cpu_60", table_text(&training(), &by_cpu));
}

#[test]
fn colour_is_sparing() {
    let mut colored = options(Some(80));
    colored.color = true;
    // Escapes are spelled out, so that the reviewed file is plain text.
    let spelled = |text: String| text.replace('\x1b', "␛");
    insta::assert_snapshot!("trouble_color", spelled(table_text(&trouble(), &colored)));
}

#[test]
fn colour_changes_no_character_of_the_text() {
    for profile in [training(), trouble(), convolution(), digits()] {
        let plain = options(Some(100));
        let mut colored = plain.clone();
        colored.color = true;
        assert_eq!(
            without_escapes(&table_text(&profile, &colored)),
            table_text(&profile, &plain)
        );
        assert_eq!(
            without_escapes(&tree_text(&profile, &colored)),
            tree_text(&profile, &plain)
        );
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
            for text in [
                table_text(&profile, &options(Some(width))),
                tree_text(&profile, &options(Some(width))),
            ] {
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
fn a_pipe_gets_whole_names_and_every_column() {
    let text = table_text(&training(), &options(None));
    for function in training().functions {
        assert!(text.contains(&function.name), "{}", function.name);
    }
    assert!(!text.contains('…') || text.contains("stream = …"));
    assert!(!text.contains("No room for"));
    let text = table_text(&digits(), &options(None));
    for kernel in digits().kernels {
        assert!(text.contains(&kernel.name), "{}", kernel.name);
    }
    for column in [
        "busy",
        "GB/s",
        "per call",
        "p50",
        "min",
        "latency",
        "occupancy",
        "block",
    ] {
        assert!(text.contains(column), "{column}");
    }
    assert!(!text.contains("No room for"));
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
            table_text(&profile, &options(width)),
            tree_text(&profile, &options(width)),
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
    assert_eq!(table_text(&profile, &options(Some(80))), "");
    assert_eq!(tree_text(&profile, &options(Some(80))), "");
    assert_eq!(table_text(&Profile::default(), &options(None)), "");
}

#[test]
fn a_tree_shows_what_graphs_replayed_under_the_launch() {
    let mut profile = quickstart();
    let node = |(id, name, captured): (u32, &str, Option<(u64, u64)>)| {
        let mut node = gpuprof_report::profile::TreeNode::default();
        node.id = id;
        node.parent = id.checked_sub(1);
        node.name = name.into();
        node.calls = u64::from(captured.is_none());
        node.captured = captured.map(|(replays, busy_ns)| {
            let mut runs = gpuprof_report::profile::CapturedRuns::default();
            (runs.replays, runs.busy_ns) = (replays, busy_ns);
            runs
        });
        node
    };
    let nodes = [
        (0, "decode", None),
        (1, "captured", Some((7, 70_000_000))),
        (2, "attention", Some((224, 42_000_000))),
    ];
    profile.tree = nodes.map(node).into();
    let text = tree_text(&profile, &options(Some(120)));
    let words = |name: &str| {
        let line = text.lines().find(|line| line.contains(name)).expect(name);
        line.split_whitespace()
            .map(String::from)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        words("captured")[..5],
        ["└─", "captured", "7", "70.0", "ms"]
    );
    assert_eq!(
        words("attention")[..5],
        ["└─", "attention", "224", "42.0", "ms"]
    );
    // No CPU time.
    assert!(
        words("attention").ends_with(&["–".into(), "–".into()]),
        "{text}"
    );
}

#[test]
fn a_deep_recursion_stays_readable() {
    let mut profile = quickstart();
    let node = |id: u32| {
        let mut node = gpuprof_report::profile::TreeNode::default();
        node.id = id;
        node.parent = id.checked_sub(1);
        node.name = "quickstart::recurse".into();
        node.calls = 1;
        node.cpu_total_ns = u64::from(200_000 - id);
        node
    };
    profile.tree = (0..20_000).map(node).collect();
    let all = limited(0, Some(80));
    let text = tree_text(&profile, &all);
    assert!(text.lines().filter(|line| line.contains("recurse")).count() >= 20_000);
    let limited = tree_text(&profile, &options(Some(80)));
    assert!(
        limited.lines().count() < 50 && limited.contains("… 1 other"),
        "{limited}"
    );
}
