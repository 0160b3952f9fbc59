//! The lines that say what to do about functions without a stream, and which functions never ran.

mod profiles;

use gpuprof_report::profile::Profile;
use gpuprof_report::setting_values::Sampling;
use profiles::{full, options, report, trouble, without_stream};

fn table(profile: &Profile, width: Option<usize>) -> String {
    report(profile, &options(width))
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
        let text = report(&profile, &full(width));
        let mut lines = text.lines().skip_while(|line| !line.starts_with("never"));
        assert_eq!(lines.next(), Some(listed));
        assert!(
            lines.next().is_some_and(|next| !next.starts_with(' ')),
            "{text}"
        );
    }
    let text = report(&profile, &full(None));
    let names = line(&text, "never called:").unwrap();
    assert!(names.ends_with("stencil::unused_f + 2 more"), "{names}");
}

/// Two functions with so many calls of so many ns each, in a run of 1 s with a budget of 1 %.
fn budgeted(calls: [u64; 2], mean_ns: u64) -> String {
    let mut profile = without_stream();
    profile.wall_ns = 1_000_000_000;
    profile.diagnostics.sampling = Sampling::AUTO;
    profile.diagnostics.cpu_span_ns = Some(60);
    for (function, calls) in profile.functions.iter_mut().zip(calls) {
        function.calls = calls;
        function.cpu.mean_ns = mean_ns;
        function.cpu.total_ns = calls * mean_ns;
    }
    table(&profile, None)
}

#[test]
fn functions_too_short_for_the_budget_are_named_if_they_matter() {
    // 60 ns are over 1 % of 5 µs; 20,000 times that are over a tenth of 10 ms.
    let text = budgeted([20_000, 15_000], 5_000);
    let named = line(&text, "too short for a budget of 1 %:").unwrap();
    assert!(named.contains("of 1 %: plain::launch 5.00 µs."), "{named}");
    assert!(named.contains("To count a call takes 60 ns;"), "{named}");
    let text = budgeted([20_000, 30_000], 5_000);
    let named = line(&text, "too short for a budget of 1 %:").unwrap();
    assert!(
        named.contains("plain::solve 5.00 µs, plain::launch 5.00 µs."),
        "{named}"
    );
}

#[test]
fn functions_that_stay_within_the_budget_are_not_named() {
    let is_named = |text: &str| text.contains("too short");
    assert!(!is_named(&budgeted([20_000, 20_000], 6_100)), "long enough");
    assert!(!is_named(&budgeted([100, 100], 100)), "too few to matter");
    let mut every_call = without_stream();
    every_call.diagnostics.cpu_span_ns = Some(60);
    every_call.functions[0].calls = 1_000_000;
    every_call.functions[0].cpu.total_ns = 1_000_000;
    assert!(!is_named(&table(&every_call, None)), "no budget");
}
