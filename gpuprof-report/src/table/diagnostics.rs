//! The lines under a report: how far its numbers can be trusted, and what to do where they cannot.
//!
//! At most three lines when all is well. Every other line stands there because something is marked,
//! missing or wrong.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::budget;
use super::counters;
use super::coverage;
use super::legend::Marks;
use super::number;
use super::options::TableOptions;
use super::records;
use super::stalls;
use super::words::{BOLD, DIM, NAMES, PLAIN, Paragraph, WARN, labelled, line_of_names};
use crate::profile::{Function, NVTX_MODULE, OTHER_LABELS, Profile};
use crate::sanitize;
use crate::sorting::sort_by_key;

/// Characters of a note that are shown: more than any has that gpuprof makes itself.
const LONGEST_NOTE: usize = 2_000;

/// Writes the lines.
pub(super) fn write(profile: &Profile, marks: Marks, options: &TableOptions, out: &mut String) {
    let mut lines = vec![coverage::summary(profile, options.full)];
    lines.extend(marks.explained(profile, options.full));
    lines.extend(without_stream(profile));
    lines.extend(partly_without_stream(profile));
    lines.extend(captured(profile));
    lines.extend(open_calls(profile));
    lines.extend(unnested(profile));
    if options.full {
        lines.extend(asynchronous(profile));
        lines.extend(never_called(profile, options.width));
    }
    lines.extend(other_labels(profile));
    lines.extend(budget::too_short(profile));
    lines.extend(lost(profile));
    lines.extend(records::losses(profile));
    lines.extend(counters::lines(profile, options.full));
    lines.extend(counters::cached(profile));
    lines.extend(stalls::sampling(profile, options.full));
    lines.extend(errors(profile));
    for note in &profile.diagnostics.notes {
        lines.push(labelled(
            WARN,
            "note:",
            &sanitize::short(note, LONGEST_NOTE),
        ));
    }
    if options.full {
        lines.extend(records::unattributed(profile));
    }
    for line in lines {
        line.write(out, options.color, options.width, 2);
    }
}

/// What to do about functions without a stream. Several of them mostly lack the same one.
fn without_stream(profile: &Profile) -> Option<Paragraph> {
    let mut words = Paragraph::new(BOLD, "no stream:");
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

/// What to do about functions of which some calls had a stream.
fn partly_without_stream(profile: &Profile) -> Option<Paragraph> {
    line_of_names(
        BOLD,
        "no stream in some calls:",
        names(profile, |function| function.untimed.no_stream > 0),
        "To time these too: #[gpu_profile(stream = …)], gpuprof::with_stream(&stream, || …) around \
         them, or gpuprof::set_default_stream(&stream).",
    )
}

/// Calls that other threads made outside every span, if any span of the main thread could have been
/// around them.
fn unnested(profile: &Profile) -> Option<Paragraph> {
    let roots = profile.tree.iter().filter(|node| node.parent.is_none());
    let roots = number::total(roots.map(|node| node.calls));
    let functions = profile
        .functions
        .iter()
        .filter(|function| function.unnested_calls > 0);
    if number::total(functions.clone().map(|function| function.unnested_calls)) >= roots {
        return None;
    }
    let named = functions.map(|function| {
        let name = sanitize::name(&function.name);
        match function.unnested_calls {
            1 => Cow::Owned(format!("{name} (1 call)")),
            calls => Cow::Owned(format!("{name} ({} calls)", number::count(calls).text())),
        }
    });
    line_of_names(
        BOLD,
        "began on threads without an open span:",
        named.collect(),
        "These calls are at the root of the tree; gpuprof::current() carries a span to them.",
    )
}

fn asynchronous(profile: &Profile) -> Option<Paragraph> {
    let about = "CPU is the time spent polling; wall time of a call:";
    let mut words = labelled(BOLD, "async:", about);
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
fn captured(profile: &Profile) -> Option<Paragraph> {
    if profile.cupti.is_some() {
        return None;
    }
    let names = names(profile, |function| function.captured_calls > 0);
    let advice = if profile.is_cupti_off() {
        "A replay is part of the GPU span around the launch of its graph; GPUPROF_CUPTI=on \
         attributes replayed kernels to the functions that captured them."
    } else {
        "A replay is part of the GPU span around the launch of its graph."
    };
    line_of_names(BOLD, "captured into a graph:", names, advice)
}

/// Calls in progress, those that have taken longest first.
fn open_calls(profile: &Profile) -> Option<Paragraph> {
    let label = if profile.at_exit {
        "still running at exit:"
    } else {
        "in progress:"
    };
    let mut open: Vec<_> = (profile.functions.iter())
        .filter(|function| function.open_calls > 0)
        .collect();
    sort_by_key(&mut open, |function| Reverse(function.open_ns));
    let open = open.into_iter().map(|function| {
        let name = sanitize::name(&function.name);
        let so_far = number::duration(function.open_ns).text();
        Cow::Owned(match function.open_calls {
            1 => format!("{name} for {so_far}"),
            calls => {
                let calls = number::count(calls).text();
                format!("{name} {calls} calls for {so_far} in total")
            }
        })
    });
    let advice = "Only calls that have ended count in the other columns.";
    line_of_names(BOLD, label, open.collect(), advice)
}

/// At most one line: they may be many, and say nothing about the run.
fn never_called(profile: &Profile, width: Option<usize>) -> Option<Paragraph> {
    // An NVTX range is known because it began, in a part of the program that was not measured.
    let is_listed = |function: &Function| !function.has_run() && function.module != NVTX_MODULE;
    let names = names(profile, is_listed);
    let line = |words: &dyn Fn(&mut Paragraph)| {
        let mut line = Paragraph::new(BOLD, "never called:");
        words(&mut line);
        line
    };
    let listed = (1..=names.len().min(NAMES)).rev().map(|most| {
        line(&|words| {
            words.add_list(names.iter().cloned(), most);
        })
    });
    let fitting = |line: &Paragraph| width.is_none_or(|width| line.width() <= width);
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
fn other_labels(profile: &Profile) -> Option<Paragraph> {
    let of_function = |function: &Function| {
        let mut labels = function.labels.iter();
        let other = labels.find(|stats| stats.label == OTHER_LABELS)?;
        let calls = number::count(other.calls).text();
        Some(Cow::Owned(format!(
            "{} {calls} calls",
            sanitize::name(&function.name)
        )))
    };
    line_of_names(
        WARN,
        "summed in [other labels]:",
        profile.functions.iter().filter_map(of_function).collect(),
        "A function has at most 256 labels of its own.",
    )
}

/// What is missing from the figures above without belonging to a row.
fn lost(profile: &Profile) -> Vec<Paragraph> {
    let diagnostics = &profile.diagnostics;
    let losses = [
        (
            "in no row:",
            diagnostics.dropped,
            "calls, as the call tree was full, their thread was ending or gpuprof itself allocated",
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

fn errors(profile: &Profile) -> Option<Paragraph> {
    let mut words = Paragraph::new(WARN, "CUDA errors in gpuprof's own calls:");
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
