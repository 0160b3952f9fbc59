//! Coverage, overhead and errors of several profiles.

use super::totals::{add, rounded_mean};
use crate::profile::{CudaError, Cupti, Diagnostics};

/// Different notes, and different errors, that are kept.
const MAX_LINES: usize = 100;

/// Adds the diagnostics of a profile to those of the first.
pub(super) fn add_diagnostics(sum: &mut Diagnostics, more: &Diagnostics) {
    sum.event_overhead_ns = sum.event_overhead_ns.max(more.event_overhead_ns);
    sum.cpu_span_ns = sum.cpu_span_ns.max(more.cpu_span_ns);
    sum.no_cuda &= more.no_cuda;
    add(&mut sum.overhead_ns, more.overhead_ns);
    add(&mut sum.setup_ns, more.setup_ns);
    add(&mut sum.stalled_ns, more.stalled_ns);
    add(&mut sum.live_ns, more.live_ns);
    add(&mut sum.calls, more.calls);
    add(&mut sum.calls_with_stream, more.calls_with_stream);
    add(&mut sum.timed_calls, more.timed_calls);
    add(&mut sum.captured_calls, more.captured_calls);
    sum.untimed.add(&more.untimed);
    add(&mut sum.dropped, more.dropped);
    add(&mut sum.histogram_dropped, more.histogram_dropped);
    add(&mut sum.misnested, more.misnested);
    add(&mut sum.invalid_amounts, more.invalid_amounts);
    for error in &more.errors {
        add_error(&mut sum.errors, error);
    }
    for note in &more.notes {
        add_note(&mut sum.notes, note);
    }
    if sum.overhead_ns_per_call.is_some() || more.overhead_ns_per_call.is_some() {
        let mean = rounded_mean(u128::from(sum.overhead_ns), sum.calls);
        sum.overhead_ns_per_call = (sum.calls > 0).then_some(mean);
    }
}

fn add_error(errors: &mut Vec<CudaError>, error: &CudaError) {
    let mut known = errors.iter_mut();
    let same = known.find(|known| (known.code, &known.call) == (error.code, &error.call));
    if let Some(known) = same {
        add(&mut known.count, error.count);
    } else if errors.len() < MAX_LINES {
        errors.push(error.clone());
    }
}

/// Adds a note that is not there yet.
pub(super) fn add_note(notes: &mut Vec<String>, note: &str) {
    if notes.len() < MAX_LINES && !notes.iter().any(|known| known == note) {
        notes.push(note.to_owned());
    }
}

/// Adds CUPTI's counts.
pub(super) fn add_cupti(sum: &mut Option<Cupti>, more: &Option<Cupti>) {
    let (Some(sum), Some(more)) = (sum.as_mut(), more) else {
        if sum.is_none() {
            sum.clone_from(more);
        }
        return;
    };
    sum.version = sum.version.max(more.version);
    sum.all_calls &= more.all_calls;
    add(&mut sum.records, more.records);
    add(&mut sum.dropped_records, more.dropped_records);
    add(&mut sum.invalid_records, more.invalid_records);
    add(&mut sum.unfinished, more.unfinished);
    add(&mut sum.late_records, more.late_records);
    add(&mut sum.records_without_call, more.records_without_call);
    add(&mut sum.dropped_calls, more.dropped_calls);
    add(&mut sum.unattributed, more.unattributed);
    add(&mut sum.unattributed_ns, more.unattributed_ns);
    add(
        &mut sum.unattributed_graph_nodes,
        more.unattributed_graph_nodes,
    );
}
