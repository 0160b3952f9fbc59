//! Coverage, overhead and errors of several profiles.

use super::totals::rounded_mean;
use crate::figures::Sum;
use crate::profile::{CudaError, CuptiCompleteness, Diagnostics};

/// Different notes, and different errors, that are kept.
const MAX_LINES: usize = 100;

/// Adds the diagnostics of a profile to those of the first.
pub(super) fn add_diagnostics(sum: &mut Diagnostics, more: &Diagnostics) {
    sum.add(more);
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
        known.add(error);
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
pub(super) fn add_cupti(sum: &mut Option<CuptiCompleteness>, more: &Option<CuptiCompleteness>) {
    let (Some(sum), Some(more)) = (sum.as_mut(), more) else {
        if sum.is_none() {
            sum.clone_from(more);
        }
        return;
    };
    sum.add(more);
}
