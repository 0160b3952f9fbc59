//! The table of the source lines of launches.

mod profiles;

use gpuprof_report::profile::LaunchStacks;
use profiles::{digits, full, options, report, with_launch_lines};

fn part(text: &str) -> String {
    let lines = text
        .lines()
        .skip_while(|line| !line.starts_with("Launched from"));
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    lines.join("\n") + "\n"
}

#[test]
fn kernels_have_their_lines_and_unattributed_work_what_to_annotate() {
    let profile = with_launch_lines(digits());
    for width in [Some(80), Some(200), None] {
        let name = width.map_or("pipe".to_owned(), |width| width.to_string());
        let text = report(&profile, &options(width));
        insta::assert_snapshot!(format!("launch_lines_{name}"), part(&text));
    }
}

#[test]
fn a_narrow_table_cuts_no_source_line() {
    let mut profile = with_launch_lines(digits());
    let path =
        "digits::models::transformer::attention::Attention::forward_with_rotary_embedding_cache";
    profile.kernels[1].launch_lines[0].function = path.to_owned();
    let text = part(&report(&profile, &options(80)));
    for place in [
        "\n  digits/src/model.rs:40 digits::Net::forward ",
        "\n    ← src/main.rs:99 digits::train\n",
        "\n  server.rs:310 Attention::…y_embedding_cache ",
        "\n  src/main.rs:12 digits::warm_up ",
        "\n  digits::evaluate ",
    ] {
        assert!(text.contains(place), "{place}\n{text}");
    }
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{text}");
}

#[test]
fn a_full_report_has_every_line() {
    let profile = with_launch_lines(digits());
    let shown = |text: &str| {
        (40..46)
            .map(|line| text.contains(&format!("model.rs:{line}")))
            .collect::<Vec<_>>()
    };
    let short = part(&report(&profile, &options(200)));
    assert_eq!(shown(&short), [true, true, true, true, false, false]);
    assert!(short.contains("2 others"), "{short}");
    assert_eq!(shown(&part(&report(&profile, &full(200)))), [true; 6]);
}

#[test]
fn what_a_limit_cuts_is_never_the_unattributed_work() {
    let mut limited = options(200);
    limited.limit = std::num::NonZeroUsize::new(1);
    let text = report(&with_launch_lines(digits()), &limited);
    let kernels = part(&text);
    assert!(kernels.contains("\n(unattributed)"), "{kernels}");
    assert!(
        kernels.contains("src/main.rs:12 digits::warm_up"),
        "{kernels}"
    );
}

#[test]
fn a_framework_is_nothing_to_annotate() {
    let text = report(&with_launch_lines(digits()), &options(None));
    let advice = text.lines().find(|line| line.starts_with("annotate what"));
    assert_eq!(
        advice,
        Some(
            "annotate what launches outside any profiled function: digits::warm_up at \
             src/main.rs:12 (7 of 18 that were sampled, 10.5 µs); digits::evaluate (2 sampled, \
             3.00 µs)."
        )
    );
    let mut profile = with_launch_lines(digits());
    let stacks = profile.stacks.as_mut().unwrap();
    stacks.unattributed.truncate(1);
    assert!(!report(&profile, &options(None)).contains("annotate what"));
}

#[test]
fn a_profile_without_stacks_does_not_mention_them() {
    let text = report(&digits(), &full(None));
    assert!(!text.contains("Launched from"), "{text}");
}

#[test]
fn without_a_launch_no_number_of_samples_is_given() {
    let mut profile = digits();
    profile.stacks = Some(LaunchStacks::default());
    assert_eq!(
        report(&profile, &full(None)),
        report(&digits(), &full(None))
    );
    // A launch of which no stack was read is one.
    profile.stacks.as_mut().unwrap().calls = 7;
    let text = report(&profile, &full(None));
    assert!(text.contains("0 of 7 kernels were sampled."), "{text}");
}
