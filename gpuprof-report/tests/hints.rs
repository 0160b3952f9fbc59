//! The lines that say what to do about functions without a stream, and which functions never ran.

mod profiles;

use gpuprof_report::profile::Profile;
use gpuprof_report::table::{TableOptions, functions};
use profiles::{trouble, without_stream};

fn table(profile: &Profile, width: Option<usize>) -> String {
    let mut options = TableOptions::default();
    options.width = width;
    let mut out = Vec::new();
    functions::write(profile, &options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The line that begins with `label`.
fn line<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    text.lines().find(|line| line.starts_with(label))
}

#[test]
fn several_functions_without_a_stream_are_given_one_together() {
    let mut profile = without_stream();
    let text = table(&profile, None);
    let hint = line(&text, "no stream: plain::launch, plain::solve.").unwrap();
    let [first, second] = ["with_stream(", "stream = …"].map(|form| hint.find(form).unwrap());
    assert!(first < second, "{hint}");
    assert!(hint.contains("gpuprof::set_default_stream(&stream)"));
    profile.functions.pop();
    let text = table(&profile, None);
    let hint = line(&text, "no stream: plain::launch.").unwrap();
    assert!(hint.contains("#[gpu_profile(stream = …)]"));
    assert!(!hint.contains("with_stream"), "{hint}");
}

#[test]
fn a_run_on_the_cpu_is_given_no_advice_about_streams() {
    let mut profile = without_stream();
    profile.diagnostics.no_cuda = true;
    let text = table(&profile, None);
    assert!(!text.contains("stream"), "{text}");
    let summary = "CUDA was not used: CPU times only · gpuprof's overhead";
    assert!(line(&text, summary).is_some(), "{text}");
}

#[test]
fn functions_that_never_ran_take_one_line_at_any_width() {
    let profile = trouble();
    for (width, listed) in [
        (39, "never called: 8 functions"),
        (40, "never called: stencil::unused_a + 7 more"),
        (
            60,
            "never called: stencil::unused_a, stencil::unused_b + 6 more",
        ),
    ] {
        let text = table(&profile, Some(width));
        let mut lines = text.lines().skip_while(|line| !line.starts_with("never"));
        assert_eq!(lines.next(), Some(listed));
        assert!(
            lines.next().is_some_and(|next| !next.starts_with(' ')),
            "{text}"
        );
    }
    let text = table(&profile, None);
    let names = line(&text, "never called:").unwrap();
    assert!(names.ends_with("stencil::unused_f + 2 more"), "{names}");
}
