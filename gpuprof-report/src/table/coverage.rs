//! How much was measured, and what that cost: the first line below the tables.

use super::number;
use super::qualifiers::ESTIMATED;
use super::records;
use super::words::{PLAIN, Paragraph, WARN};
use crate::profile::{Function, Profile, UntimedReasons};

/// A reason for calls to go untimed.
const CAPTURED: &str = "captured into a graph";

/// Calls of functions that want no GPU timing.
fn marked_cpu(profile: &Profile) -> u64 {
    let marked = |function: &&Function| function.cpu_only && !function.has_stream;
    let functions = profile.functions.iter().filter(marked);
    number::total(functions.map(|function| function.calls))
}

/// Calls timed of calls made and why not the rest, the event overhead, gpuprof's overhead.
pub(super) fn summary(profile: &Profile, full: bool) -> Paragraph {
    let diagnostics = &profile.diagnostics;
    let mut words = Paragraph::default();
    if let Some(cupti) = &profile.cupti
        && !profile.has_annotated_functions()
        && profile.has_records()
    {
        records::add(cupti, &mut words);
        return words;
    }
    let marked = marked_cpu(profile);
    let wanted = diagnostics.calls.saturating_sub(marked);
    let calls = number::count(wanted).text();
    let not_cpu = match marked {
        0 => "",
        _ => " that are not marked cpu",
    };
    if diagnostics.no_cuda {
        words.add(PLAIN, "CUDA was not used: CPU times only");
    } else if wanted == 0 {
        words.add(PLAIN, "every function is marked cpu");
    } else if diagnostics.timed_calls == wanted {
        words.add(
            PLAIN,
            &format!("GPU-timed all {calls} function calls{not_cpu}"),
        );
    } else {
        words.add(
            PLAIN,
            &format!(
                "GPU-timed {} of {calls} function calls{not_cpu}",
                number::count(diagnostics.timed_calls).text()
            ),
        );
        let sampled = diagnostics.untimed.sampled_out;
        if diagnostics.timed_calls.checked_add(sampled) == Some(wanted) {
            words.then(",").add(PLAIN, "a random sample");
        } else {
            let reasons = reasons(profile, wanted);
            words.then(";").add(PLAIN, &reasons.join(", "));
        }
    }
    if marked > 0 && wanted > 0 && !diagnostics.no_cuda && full {
        words.then(",").add(
            PLAIN,
            &format!("{} more are marked cpu", number::count(marked).text()),
        );
    }
    match diagnostics.event_overhead_ns {
        Some(floor) if full => {
            words
                .then(" ·")
                .add(PLAIN, "event overhead")
                .add_one(PLAIN, number::duration(floor).text());
        }
        None if diagnostics.timed_calls > 0 => {
            words.then(" ·").add(WARN, "event overhead not measured");
        }
        _ => {}
    }
    words.then(" ·");
    add_overhead(profile, full, &mut words);
    if let Some(cupti) = &profile.cupti {
        words.then(" ·");
        records::add(cupti, &mut words);
    }
    words
}

fn add_overhead(profile: &Profile, full: bool, words: &mut Paragraph) {
    let diagnostics = &profile.diagnostics;
    words.add(PLAIN, "gpuprof's overhead");
    let Some(cost) = diagnostics.overhead_ns_per_call else {
        words.add(PLAIN, "unknown");
        return;
    };
    if let Some(share) = number::percent(diagnostics.overhead_ns as f64 / profile.wall_ns as f64) {
        words
            .add_one(PLAIN, format!("{} %", share.text()))
            .add(PLAIN, "of wall")
            .then(",");
    }
    words
        .add_one(PLAIN, format!("{} ns", number::count(cost).text()))
        .add(PLAIN, "a call");
    if profile.cupti.is_some() {
        words.then(",").add(PLAIN, "without that of CUPTI");
    }
    if diagnostics.setup_ns > 0 && full {
        let once = number::duration(diagnostics.setup_ns).text();
        words
            .then(",")
            .add(PLAIN, "and")
            .add_one(PLAIN, once)
            .add(PLAIN, "once");
    }
    if diagnostics.live_ns > 0 {
        let spent = number::duration(diagnostics.live_ns).text();
        words
            .then(",")
            .add(PLAIN, "and")
            .add_one(PLAIN, spent)
            .add(PLAIN, "for viewers");
    }
    if diagnostics.stalled_ns > 0 && full {
        let waited = number::duration(diagnostics.stalled_ns).text();
        words
            .then(";")
            .add(PLAIN, "event records that had to wait:")
            .add_one(PLAIN, waited);
    }
}

/// Why calls were not timed, those reasons that occurred.
fn reasons(profile: &Profile, wanted: u64) -> Vec<String> {
    let diagnostics = &profile.diagnostics;
    let UntimedReasons {
        no_stream,
        sampled_out,
        pool_exhausted,
        queue_full,
        cuda_error,
        unavailable,
        unfinished,
        stream_unsafe,
        crossed_reset,
    } = diagnostics.untimed;
    let reasons = [
        (
            (wanted.saturating_sub(diagnostics.calls_with_stream)).saturating_add(no_stream),
            "without a stream",
        ),
        (sampled_out, "left out by sampling"),
        (diagnostics.captured_calls, CAPTURED),
        (
            pool_exhausted,
            "when every event was in flight (the GPU was far behind)",
        ),
        (queue_full, "when the hand-over queue was full"),
        (cuda_error, "after a CUDA error"),
        (unavailable, "while the driver offered no timing"),
        (unfinished, "not finished on the GPU"),
        (stream_unsafe, "whose stream could not be kept to the end"),
        (crossed_reset, "across a reset"),
    ];
    let mut functions = profile.functions.iter();
    let is_estimated = functions.any(|function| function.captured_estimated);
    let occurred = reasons.into_iter().filter(|(calls, _)| *calls > 0);
    occurred
        .map(|(calls, reason)| {
            let mark = match reason {
                CAPTURED if is_estimated => ESTIMATED,
                _ => "",
            };
            format!("{mark}{} {reason}", number::count(calls).text())
        })
        .collect()
}
