//! Promise: sums that lack calls without a stream are marked, and a line below the table says how
//! these calls get one.

use gpuprof::{Profile, gpu_profile, with_stream};
use support::report_text::{cells, full_report};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        sums_of_which_some_calls_have_no_stream_are_marked,
        a_sum_of_what_is_inside_lacks_them_too,
        functions_without_any_stream_leave_the_header_unmarked,
    ]],
);

const US: u64 = 1_000;

/// Takes the stream of the calls around it.
#[gpu_profile]
fn clears(w: &World) {
    w.gpu.kernel(18 * US);
}

#[gpu_profile]
fn serve(inside: impl FnOnce()) {
    inside();
}

/// The line of the report that begins so.
fn line(report: &str, beginning: &str) -> Option<String> {
    let found = report.lines().find(|line| line.starts_with(beginning));
    found.map(str::to_owned)
}

/// One cell of the only row of the profile's CSV.
fn csv_cell(profile: &Profile, column: &str) -> String {
    let mut csv = Vec::new();
    gpuprof::csv::write(profile, &mut csv).expect("a Vec takes all");
    let csv = String::from_utf8(csv).expect("UTF-8");
    let mut lines = csv.lines();
    let header = lines.next().expect("a header").split(',');
    let at = header.take_while(|name| *name != column).count();
    let row = lines.find(|row| row.contains("clears")).expect("its row");
    row.split(',').nth(at).expect("its cell").to_owned()
}

fn sums_of_which_some_calls_have_no_stream_are_marked() {
    let w = world();
    let session = w.session();
    (0..99).for_each(|_| clears(&w));
    w.gpu.context.synchronize().expect("synchronize");
    with_stream(&w.gpu.stream, || clears(&w));
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "clears"), (1, 18 * US, 18 * US));
    assert_eq!(function(&profile, "clears").untimed.no_stream, 99);
    let [busy] = profile.gpu_busy[..] else {
        panic!("{:?}", profile.gpu_busy)
    };
    assert_eq!((busy.busy_ns, busy.is_partial), (18 * US, true));
    let text = full_report(&profile);
    assert!(text.contains("GPU spans ≥ 18.0 µs ("), "{text}");
    for table in ["Function", "Function, all paths"] {
        let row = cells(&text, table, "clears");
        assert!(row.contains(&"≥18.0"), "{table}: {row:?}");
    }
    let part = line(&text, "≥ only part of the calls was timed:").expect("what is missing");
    assert!(part.ends_with("clears 1 of 100"), "{part}");
    let advice = line(&text, "no stream in some calls:").expect("what to add");
    for words in [
        "clears. ",
        "stream = …",
        "with_stream",
        "set_default_stream",
    ] {
        assert!(advice.contains(words), "{words} in {advice}");
    }
    assert_eq!(csv_cell(&profile, "gpu_marks"), "partial");
}

fn a_sum_of_what_is_inside_lacks_them_too() {
    let w = world();
    let session = w.session();
    serve(|| {
        clears(&w);
        with_stream(&w.gpu.stream, || clears(&w));
    });
    let profile = w.finish(session);
    assert!(function(&profile, "serve").gpu_nested_partial);
    let text = full_report(&profile);
    assert!(
        cells(&text, "Function", "serve").contains(&"Σ≥18.0"),
        "{text}"
    );
}

fn functions_without_any_stream_leave_the_header_unmarked() {
    let w = world();
    let session = w.session();
    serve(|| with_stream(&w.gpu.stream, || clears(&w)));
    let profile = w.finish(session);
    assert!(!profile.gpu_busy[0].is_partial);
    let text = full_report(&profile);
    assert!(text.contains("GPU spans 18.0 µs ("), "{text}");
    assert!(!text.contains('≥'), "{text}");
    assert_eq!(line(&text, "no stream in some calls:"), None);
}
