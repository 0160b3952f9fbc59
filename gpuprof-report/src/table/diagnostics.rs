//! The lines under a report: how far its numbers can be trusted, and what to do where they cannot.
//!
//! One line when all is well. Every other line stands there because something is marked, missing or
//! wrong.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::TableOptions;
use super::budget;
use super::legend::Marks;
use super::number;
use super::qualifiers::ESTIMATED;
use super::words::{BOLD, DIM, NAMES, PLAIN, WARN, Words, labelled};
use crate::profile::{Function, OTHER_LABELS, Profile, UntimedReasons};
use crate::sanitize;

/// A reason for calls to go untimed.
const CAPTURED: &str = "captured into a graph";

/// Characters of a note that are shown: more than any has that gpuprof makes itself.
const LONGEST_NOTE: usize = 2_000;

/// Writes the lines.
pub(super) fn write(profile: &Profile, marks: Marks, options: &TableOptions, out: &mut String) {
    let mut lines = vec![summary(profile)];
    lines.extend(marks.explained(profile));
    lines.extend(without_stream(profile));
    lines.extend(asynchronous(profile));
    lines.extend(captured(profile));
    lines.extend(open_calls(profile));
    lines.extend(never_called(profile, options.width));
    lines.extend(other_labels(profile));
    lines.extend(budget::too_short(profile));
    lines.extend(lost(profile));
    lines.extend(errors(profile));
    for note in &profile.diagnostics.notes {
        lines.push(labelled(
            WARN,
            "note:",
            &sanitize::short(note, LONGEST_NOTE),
        ));
    }
    for line in lines {
        line.write(out, options.color, options.width, 2);
    }
}

/// Calls of functions that want no GPU timing.
fn marked_cpu(profile: &Profile) -> u64 {
    let marked = |function: &&Function| function.cpu_only && !function.has_stream;
    let functions = profile.functions.iter().filter(marked);
    functions.map(|function| function.calls).sum()
}

/// Calls timed of calls made and why not the rest, the event overhead, gpuprof's overhead.
fn summary(profile: &Profile) -> Words {
    let diagnostics = &profile.diagnostics;
    let mut words = Words::default();
    let marked = marked_cpu(profile);
    let wanted = diagnostics.calls.saturating_sub(marked);
    let calls = number::count(wanted).text();
    if diagnostics.no_cuda {
        words.add(PLAIN, "CUDA was not used: CPU times only");
    } else if wanted == 0 {
        words.add(PLAIN, "every function is marked cpu");
    } else if diagnostics.timed_calls == wanted {
        words.add(PLAIN, &format!("GPU-timed all {calls} calls"));
    } else {
        words.add(
            PLAIN,
            &format!(
                "GPU-timed {} of {calls} calls",
                number::count(diagnostics.timed_calls).text()
            ),
        );
        let reasons = reasons(profile, wanted);
        if !reasons.is_empty() {
            words.then(";").add(PLAIN, &reasons.join(", "));
        }
    }
    if marked > 0 && wanted > 0 && !diagnostics.no_cuda {
        words.then(",").add(
            PLAIN,
            &format!("{} more are marked cpu", number::count(marked).text()),
        );
    }
    match diagnostics.event_overhead_ns {
        Some(floor) => {
            words
                .then(" ·")
                .add(PLAIN, "event overhead")
                .add_one(PLAIN, number::duration(floor).text());
        }
        None if diagnostics.timed_calls > 0 => {
            words.then(" ·").add(WARN, "event overhead not measured");
        }
        None => {}
    }
    words.then(" ·").add(PLAIN, "gpuprof's overhead about");
    match diagnostics.overhead_ns_per_call {
        Some(cost) => {
            words
                .add_one(
                    PLAIN,
                    format!("{}.{:02} µs", cost / 1_000, cost % 1_000 / 10),
                )
                .add(PLAIN, "per call");
            if let Some(share) =
                number::percent(diagnostics.overhead_ns as f64 / profile.wall_ns as f64)
            {
                words
                    .then(",")
                    .add_one(PLAIN, format!("{} %", share.text()))
                    .add(PLAIN, "of wall");
            }
            if diagnostics.setup_ns > 0 {
                let once = number::duration(diagnostics.setup_ns).text();
                words
                    .then(",")
                    .add(PLAIN, "and")
                    .add_one(PLAIN, once)
                    .add(PLAIN, "once");
            }
            if diagnostics.stalled_ns > 0 {
                let waited = number::duration(diagnostics.stalled_ns).text();
                words
                    .then(";")
                    .add(PLAIN, "event records that had to wait:")
                    .add_one(PLAIN, waited);
            }
            &mut words
        }
        None => words.add(PLAIN, "unknown"),
    };
    words
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
            wanted.saturating_sub(diagnostics.calls_with_stream) + no_stream,
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
        (crossed_reset, "across a reset or a cycle's end"),
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

/// What to do about functions without a stream. Several of them mostly lack the same one.
fn without_stream(profile: &Profile) -> Option<Words> {
    let mut words = Words::default();
    words.add(BOLD, "no stream:");
    let names = names(profile, |function| {
        function.calls > 0 && !function.has_stream && !function.cpu_only
    });
    if names.is_empty() || profile.diagnostics.no_cuda {
        return None;
    }
    let for_all = match names.len() {
        1 => "To time it on the GPU:",
        _ => {
            "To time them on the GPU: gpuprof::with_stream(&stream, || …) around their calls, or \
             gpuprof::set_default_stream(&stream) for the whole program. To time one of them:"
        }
    };
    words.add_list(names, NAMES).then(".");
    words.add(DIM, for_all);
    words.add(
        DIM,
        "#[gpu_profile(stream = …)]; if it launches nothing: #[gpu_profile(cpu)].",
    );
    Some(words)
}

fn asynchronous(profile: &Profile) -> Option<Words> {
    let mut words = Words::default();
    words
        .add(BOLD, "async:")
        .add(PLAIN, "CPU is the time spent polling; wall time of a call:");
    let ran: Vec<_> = (profile.functions.iter())
        .filter(|function| function.calls > 0 && function.is_async)
        .filter_map(|function| Some((&function.name, function.wall.as_ref()?)))
        .map(|(name, wall)| {
            let (avg, max) = (
                number::duration(wall.mean_ns).text(),
                number::duration(wall.max_ns).text(),
            );
            Cow::Owned(format!("{} avg {avg}, max {max}", sanitize::name(name)))
        })
        .collect();
    (!ran.is_empty()).then(|| {
        words.add_list(ran, NAMES);
        words
    })
}

/// Where the replays of captured calls are, as long as CUPTI does not attribute them.
fn captured(profile: &Profile) -> Option<Words> {
    let mut words = Words::default();
    words.add(BOLD, "captured into a graph:");
    let names = names(profile, |function| function.captured_calls > 0);
    (!names.is_empty() && profile.cupti.is_none()).then(|| {
        words.add_list(names, NAMES).then(".");
        words.add(
            DIM,
            "A replay is part of the GPU span around the launch of its graph; GPUPROF_CUPTI=on \
             attributes replayed kernels to the functions that captured them.",
        );
        words
    })
}

/// Calls in progress, those that have taken longest first.
fn open_calls(profile: &Profile) -> Option<Words> {
    let mut words = Words::default();
    words.add(
        BOLD,
        match profile.at_exit {
            true => "still running at exit:",
            false => "in progress:",
        },
    );
    let mut open: Vec<_> = (profile.functions.iter())
        .filter(|function| function.open_calls > 0)
        .collect();
    open.sort_by_key(|function| Reverse(function.open_ns));
    let open: Vec<_> = open
        .into_iter()
        .map(|function| {
            let name = sanitize::name(&function.name);
            let so_far = number::duration(function.open_ns).text();
            Cow::Owned(match function.open_calls {
                1 => format!("{name} for {so_far}"),
                calls => {
                    let calls = number::count(calls).text();
                    format!("{name} {calls} calls for {so_far} in total")
                }
            })
        })
        .collect();
    (!open.is_empty()).then(|| {
        words.add_list(open, NAMES).then(".");
        words.add(
            DIM,
            "Only calls that have ended count in the other columns.",
        );
        words
    })
}

/// At most one line: they may be many, and say nothing about the run.
fn never_called(profile: &Profile, width: Option<usize>) -> Option<Words> {
    let names = names(profile, |function| !function.has_run());
    let line = |words: &dyn Fn(&mut Words)| {
        let mut line = Words::default();
        words(line.add(BOLD, "never called:"));
        line
    };
    let listed = (1..=names.len().min(NAMES)).rev().map(|most| {
        line(&|words| {
            words.add_list(names.iter().cloned(), most);
        })
    });
    let fitting = |line: &Words| width.is_none_or(|width| line.width() <= width);
    let counted = || {
        let count = number::count(names.len() as u64).text();
        line(&|words| {
            words.add(PLAIN, &format!("{count} functions"));
        })
    };
    (!names.is_empty()).then(|| listed.into_iter().find(fitting).unwrap_or_else(counted))
}

fn names(profile: &Profile, wanted: impl Fn(&Function) -> bool) -> Vec<Cow<'_, str>> {
    profile
        .functions
        .iter()
        .filter(|function| wanted(function))
        .map(|function| sanitize::name(&function.name))
        .collect()
}

/// Functions with more labels than are told apart.
fn other_labels(profile: &Profile) -> Option<Words> {
    let of_function = |function: &Function| {
        let mut labels = function.labels.iter();
        let other = labels.find(|stats| stats.label == OTHER_LABELS)?;
        let calls = number::count(other.calls).text();
        Some(Cow::Owned(format!(
            "{} {calls} calls",
            sanitize::name(&function.name)
        )))
    };
    let names: Vec<_> = profile.functions.iter().filter_map(of_function).collect();
    (!names.is_empty()).then(|| {
        let mut words = labelled(WARN, "summed in [other labels]:", "");
        words.add_list(names, NAMES).then(".");
        words.add(DIM, "A function has at most 256 labels of its own.");
        words
    })
}

/// What is missing from the figures above without belonging to a row.
fn lost(profile: &Profile) -> Vec<Words> {
    let diagnostics = &profile.diagnostics;
    let losses = [
        (
            "in no row:",
            diagnostics.dropped,
            "calls, as the call tree was full or their thread was ending",
        ),
        (
            "out of order:",
            diagnostics.misnested,
            "spans (a scope! held across an .await?): the self times around them are off",
        ),
        (
            "in no percentile:",
            diagnostics.histogram_dropped,
            "durations, as the histograms' memory was used up",
        ),
        (
            "in no rate:",
            diagnostics.invalid_amounts,
            "calls whose bytes, flops or items are negative, infinite or not a number",
        ),
    ];
    let occurred = losses.into_iter().filter(|(_, count, _)| *count > 0);
    occurred
        .map(|(label, count, what)| {
            labelled(
                WARN,
                label,
                &format!("{} {what}", number::count(count).text()),
            )
        })
        .collect()
}

fn errors(profile: &Profile) -> Option<Words> {
    let mut words = Words::default();
    words.add(WARN, "CUDA errors in gpuprof's own calls:");
    for (at, error) in profile.diagnostics.errors.iter().enumerate() {
        if at > 0 {
            words.then(",");
        }
        let count = number::count(error.count).text();
        words
            .add_one(PLAIN, sanitize::name(&error.call))
            .add_one(PLAIN, format!("{} × {count}", sanitize::name(&error.name)));
    }
    (!profile.diagnostics.errors.is_empty()).then_some(words)
}
