//! Functions whose kernels ran outside their GPU span: the timed stream is another one.

use std::cmp::Reverse;
use std::time::Duration;

use gpuprof_report::profile::{Function, Profile};
use gpuprof_report::sorting::sort_by_key;

/// Limit of the functions that are named.
const MAX_NOTES: usize = 3;
/// Busy time outside the GPU span that is reported, of the span and of each timed call. Less is
/// within the resolution of events, or the end of work on a second stream.
const MIN_SHARE: f64 = 0.5;
const MIN_NS_PER_CALL: u64 = 10_000;

/// Adds a note for each of the worst functions.
pub(super) fn add_diagnostic(profile: &mut Profile) {
    // Late records may count twice.
    let is_exact = profile
        .cupti
        .as_ref()
        .is_some_and(|cupti| cupti.late_records == 0);
    let mut wrong: Vec<&Function> = profile.functions.iter().collect();
    wrong.retain(|function| is_exact && is_wrong(function));
    sort_by_key(&mut wrong, |function| {
        Reverse(function.activity.outside_span_ns)
    });
    let notes: Vec<String> = wrong
        .iter()
        .take(MAX_NOTES)
        .map(|function| text(function))
        .collect();
    let notes_of_profile = &mut profile.diagnostics.notes;
    if wrong.len() > MAX_NOTES {
        let others = wrong.len() - MAX_NOTES;
        notes_of_profile.extend(notes);
        notes_of_profile.push(format!(
            "{others} more functions may be timed on the wrong stream"
        ));
    } else {
        notes_of_profile.extend(notes);
    }
}

fn is_wrong(function: &Function) -> bool {
    let outside = function.activity.outside_span_ns;
    function.gpu.as_ref().is_some_and(|gpu| {
        let min = gpu.timed_calls.saturating_mul(MIN_NS_PER_CALL);
        outside > min && outside as f64 > MIN_SHARE * gpu.times.total_ns as f64
    })
}

fn text(function: &Function) -> String {
    let span_ns = function.gpu.as_ref().map_or(0, |gpu| gpu.times.total_ns);
    let busy_ns = span_ns.saturating_add(function.activity.outside_span_ns);
    format!(
        "{} may be timed on the wrong stream: its kernels and copies ran for {:.3?}, its GPU span \
         is {:.3?}; name the stream with #[gpu_profile(stream = …)]",
        function.name,
        Duration::from_nanos(busy_ns),
        Duration::from_nanos(span_ns),
    )
}
