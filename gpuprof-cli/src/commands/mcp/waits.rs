//! For what the warps of a kernel waited, at which lines, and which lines use double precision.

use std::cmp::Reverse;

use gpuprof_report::profile::{
    DoubleLine, KernelStalls, MIN_STALL_SAMPLES, Profile, StallLine, StallReasonSamples,
};
use gpuprof_report::stall_reasons;
use serde_json::{Value, json};

use super::answers::{rounded, value};

/// How much is listed of a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detail {
    waits: usize,
    lines: usize,
}

impl Detail {
    /// Of a kernel that was asked for.
    pub(super) const KERNEL: Self = Self { waits: 5, lines: 8 };
    /// Of each kernel of a function.
    pub(super) const OF_FUNCTION: Self = Self { waits: 3, lines: 2 };
}

/// Adds to what is said of a kernel its `stalls` and `double_lines`, if there are any.
pub(super) fn add(answer: &mut Value, profile: &Profile, kernel: &str, detail: Detail) {
    if let Some(stalls) = of_kernel(profile, kernel) {
        answer["stalls"] = sampled(stalls, detail);
    }
    let lines = profile.double_lines.iter();
    let mut lines: Vec<&DoubleLine> = lines.filter(|line| line.kernel == kernel).collect();
    if !lines.is_empty() {
        lines.sort_by_key(|line| Reverse(line.instructions));
        let lines = lines.into_iter().take(detail.lines).map(double_line);
        answer["double_lines"] = lines.collect();
    }
}

fn of_kernel<'a>(profile: &'a Profile, kernel: &str) -> Option<&'a KernelStalls> {
    let kernels = profile.stalls.iter().flat_map(|stalls| &stalls.kernels);
    kernels.into_iter().find(|stalls| stalls.name == kernel)
}

/// Of few samples only their number.
fn sampled(stalls: &KernelStalls, detail: Detail) -> Value {
    let samples = stalls.samples;
    let mut answer = json!({"samples": samples});
    if samples >= MIN_STALL_SAMPLES {
        let waits = stall_reasons::waits(&stalls.reasons).take(detail.waits);
        let lines = stalls.lines.iter().take(detail.lines);
        let ready = stall_reasons::ready_samples(&stalls.reasons);
        answer["waits"] = waits.map(|of| wait(of, samples)).collect();
        answer["ready_share"] = share(ready, samples);
        answer["lines"] = lines.map(|of| line(of, samples)).collect();
        answer["without_line_share"] = share(stalls.samples_without_line, samples);
    }
    answer
}

fn wait(of: &StallReasonSamples, all: u64) -> Value {
    json!({
        "reason": of.reason,
        "words": stall_reasons::words(&of.reason),
        "share": share(of.samples, all),
        "helps": stall_reasons::helps(&of.reason),
    })
}

/// A line with its most frequent reason.
fn line(of: &StallLine, all: u64) -> Value {
    let reason = of.reasons.first().map(|first| &*first.reason);
    json!({
        "file": of.file,
        "line": of.line,
        "share": share(of.samples, all),
        "reason": reason,
        "words": reason.map(stall_reasons::words),
    })
}

fn double_line(line: &DoubleLine) -> Value {
    let mut line = value(line);
    if let Value::Object(fields) = &mut line {
        fields.remove("kernel");
    }
    line
}

fn share(part: u64, all: u64) -> Value {
    rounded(part as f64 / all.max(1) as f64).into()
}

/// How to know the waits of these kernels; `None` if those of one are known.
pub(super) fn unknown<'a>(
    profile: &Profile,
    kernels: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let samples = kernels.filter_map(|kernel| of_kernel(profile, kernel));
    let samples = samples.map(|stalls| stalls.samples).max().unwrap_or(0);
    let is_reason = |note: &str| {
        let begins = ["stalls are not sampled", "stalls are no longer sampled"];
        begins.iter().any(|begin| note.contains(begin))
    };
    let mut notes = profile.diagnostics.notes.iter();
    if samples >= MIN_STALL_SAMPLES {
        None
    } else if profile.stalls.is_some() {
        Some(format!(
            "program counters have {samples} samples of it, of the {MIN_STALL_SAMPLES} that \
             shares need: run it longer"
        ))
    } else if let Some(note) = notes.find(|note| is_reason(note)) {
        Some(note.clone())
    } else {
        let off = "for what its warps wait, and at which lines, is not sampled: run it with \
                   gpuprof run --stalls, or with GPUPROF_STALLS=on, and without counters";
        Some(off.to_owned())
    }
}
