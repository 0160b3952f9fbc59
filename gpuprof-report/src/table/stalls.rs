//! For what the warps of the slowest kernels waited, and at which lines: a paragraph for each, what
//! to know of all, and how the samples came.

use std::borrow::Cow;
use std::collections::HashMap;

use super::number;
use super::options::TableOptions;
use super::words::{BOLD, PLAIN, Paragraph, WARN, line_of_names};
use crate::profile::{KernelStalls, MIN_STALL_SAMPLES, Profile};
use crate::{sanitize, stall_reasons};

/// Waits and source lines that a paragraph names: the first choice that takes few lines of text.
const DETAIL: [(usize, usize); 5] = [(3, 2), (2, 2), (2, 1), (1, 1), (1, 0)];
/// Lines of text that it takes at most.
const MAX_TEXT_LINES: usize = 2;

/// The share of the samples that were dropped from which on the default report has a line.
const MUCH_DROPPED: f64 = 0.01;
/// If starting the sampling took longer than this, it noticeably lengthens the run.
const LONG_START_NS: u64 = 10_000_000;

/// The kernels with enough samples to say something, by name.
pub(super) fn by_name(profile: &Profile) -> HashMap<&str, &KernelStalls> {
    let kernels = profile.stalls.iter().flat_map(|stalls| &stalls.kernels);
    let sampled = kernels.filter(|kernel| kernel.samples >= MIN_STALL_SAMPLES);
    sampled.map(|kernel| (&*kernel.name, kernel)).collect()
}

/// A share in percent, with its unit.
fn percent(share: f64) -> String {
    number::percent(share).map_or_else(String::new, |share| format!("{} %", share.text()))
}

/// `part` of `whole` in percent, with its unit.
fn part(part: u64, whole: u64) -> String {
    percent(part as f64 / whole.max(1) as f64)
}

/// The most frequent wait with its share of all samples: `for instructions 62 %`.
pub(super) fn main_wait(kernel: &KernelStalls) -> Option<String> {
    let wait = stall_reasons::waits(&kernel.reasons).next()?;
    let words = stall_reasons::words(&wait.reason);
    Some(format!("{words} {}", part(wait.samples, kernel.samples)))
}

/// For what the warps of a kernel waited, and where: as much as takes two lines of text.
pub(super) fn paragraph(kernel: &KernelStalls, options: &TableOptions) -> Paragraph {
    let name = sanitize::name(&kernel.name);
    let paragraph = |(waits, lines)| detailed(&name, kernel, waits, lines);
    let fits = |paragraph: &Paragraph| {
        let mut text = String::new();
        paragraph.write(&mut text, false, options.width, 2);
        text.lines().count() <= MAX_TEXT_LINES
    };
    let mut choices = DETAIL.into_iter().map(paragraph);
    let fitting = choices.find(fits);
    fitting.unwrap_or_else(|| detailed(&name, kernel, 1, 0))
}

fn detailed(name: &str, kernel: &KernelStalls, waits: usize, lines: usize) -> Paragraph {
    let mut words = Paragraph::new(BOLD, "waits");
    words.add_one(PLAIN, format!("{name}:"));
    for wait in stall_reasons::waits(&kernel.reasons).take(waits) {
        words
            .add(PLAIN, &stall_reasons::words(&wait.reason))
            .add_one(PLAIN, part(wait.samples, kernel.samples))
            .then(",");
    }
    let ready = stall_reasons::ready_samples(&kernel.reasons);
    words
        .add(PLAIN, "issues or is ready")
        .add_one(PLAIN, part(ready, kernel.samples));
    for (at, line) in kernel.lines.iter().take(lines).enumerate() {
        words
            .then(if at == 0 { ";" } else { "," })
            .add_one(PLAIN, sanitize::place(&line.file, line.line))
            .add_one(PLAIN, part(line.samples, kernel.samples));
        if let Some(reason) = line.reasons.first() {
            let reason = stall_reasons::words(&reason.reason);
            words.add(PLAIN, &format!("({reason})"));
        }
    }
    words
}

/// What to know of the kernels that are shown: which have no lines, and which are launched by
/// several functions.
pub(super) fn remarks(profile: &Profile, shown: &[&KernelStalls]) -> Vec<Paragraph> {
    let remarks = [without_lines(shown), of_several(profile, shown)];
    remarks.into_iter().flatten().collect()
}

fn without_lines(shown: &[&KernelStalls]) -> Option<Paragraph> {
    let without = shown.iter().filter(|kernel| kernel.lines.is_empty());
    line_of_names(
        BOLD,
        "without source lines:",
        without.map(|kernel| sanitize::name(&kernel.name)).collect(),
        "To get them: nvcc -lineinfo, --generate-line-info for NVRTC, or .loc in PTX. Modules \
         loaded before sampling began have them only with gpuprof run --stalls.",
    )
}

fn of_several(profile: &Profile, shown: &[&KernelStalls]) -> Option<Paragraph> {
    let mut launching: HashMap<&str, u64> = HashMap::new();
    for function in &profile.functions {
        let mut kernels: Vec<&str> = (function.activity.kernels.iter())
            .map(|kernel| &*kernel.name)
            .collect();
        kernels.sort_unstable();
        kernels.dedup();
        for kernel in kernels {
            *launching.entry(kernel).or_default() += 1;
        }
    }
    let several = shown.iter().filter_map(|kernel| {
        let functions = *launching.get(&*kernel.name)?;
        let count = number::count(functions).text();
        let name = sanitize::name(&kernel.name);
        (functions > 1).then(|| Cow::Owned(format!("{name} ({count} functions)")))
    });
    let advice = "Waits are those of all launches of a kernel.";
    line_of_names(
        BOLD,
        "launched by several functions:",
        several.collect(),
        advice,
    )
}

/// How the samples came. The default report has the line if they are to be read with care, or
/// their start took long.
pub(super) fn sampling(profile: &Profile, full: bool) -> Option<Paragraph> {
    let stalls = profile.stalls.as_ref()?;
    let (taken, dropped, other) = (stalls.samples, stalls.dropped_samples, stalls.other_samples);
    let all = taken as f64 + dropped as f64 + other as f64;
    let share = |samples: u64| samples as f64 / all.max(1.0);
    let is_doubtful = taken == 0 || share(dropped) > MUCH_DROPPED;
    let is_shown = full || is_doubtful || stalls.start_ns > LONG_START_NS;
    is_shown.then(|| {
        let style = if is_doubtful { WARN } else { BOLD };
        let mut words = Paragraph::new(style, "samples of program counters:");
        words
            .add_one(PLAIN, number::count(taken).text())
            .add(PLAIN, "in")
            .add_one(PLAIN, number::duration(stalls.sampled_ns).text())
            .then(",")
            .add(PLAIN, "of each multiprocessor one every")
            .add_one(
                PLAIN,
                format!("{} cycles", number::count(stalls.period_cycles).text()),
            );
        if full || stalls.start_ns > LONG_START_NS {
            words
                .then(";")
                .add_one(PLAIN, number::duration(stalls.start_ns).text())
                .add(PLAIN, "to start");
        }
        let missing = [
            (dropped, "dropped, as the device had no room"),
            (other, "in code that CUPTI does not name"),
        ];
        for (samples, why) in missing.into_iter().filter(|(samples, _)| *samples > 0) {
            words
                .then(";")
                .add_one(PLAIN, number::count(samples).text())
                .add_one(PLAIN, format!("({})", percent(share(samples))))
                .add(PLAIN, why);
        }
        words
    })
}
