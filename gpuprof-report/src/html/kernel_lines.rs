//! The source lines of kernels that a page shows: those with samples, and those with instructions
//! of double precision.

use std::collections::HashMap;

use crate::profile::{DoubleLine, KernelStalls, MIN_STALL_SAMPLES, Profile};

/// Lines that are shown before and after each line with samples, if there is text.
pub(super) const NEAR: u32 = 3;
/// Kernels that are shown: those with the most samples.
pub(super) const MAX_KERNELS: usize = 24;
/// Lines of a kernel that are shown.
const MAX_LINES: usize = 32;

/// A kernel of which source lines are known.
pub(super) struct KernelLines<'a> {
    pub(super) name: &'a str,
    /// Without them only its lines of double precision are known.
    pub(super) stalls: Option<&'a KernelStalls>,
    pub(super) lines: Vec<KernelLine<'a>>,
}

pub(super) struct KernelLine<'a> {
    pub(super) file: &'a str,
    pub(super) line: u32,
    pub(super) samples: u64,
    /// The most frequent reason there.
    pub(super) reason: &'a str,
    /// Instructions of double precision, by name.
    pub(super) double: &'a [String],
}

/// The kernels with the most samples, and then those with lines of double precision alone.
pub(super) fn kernels_with_lines(profile: &Profile) -> Vec<KernelLines<'_>> {
    let sampled = profile.stalls.iter().flat_map(|stalls| &stalls.kernels);
    let sampled = sampled.filter(|kernel| kernel.samples >= MIN_STALL_SAMPLES);
    let mut kernels: Vec<_> = sampled.map(of_samples).collect();
    let mut known: HashMap<&str, usize> = (kernels.iter().enumerate())
        .map(|(at, kernel)| (kernel.name, at))
        .collect();
    for double in &profile.double_lines {
        let at = *known.entry(&double.kernel).or_insert_with(|| {
            kernels.push(KernelLines {
                name: &double.kernel,
                stalls: None,
                lines: Vec::new(),
            });
            kernels.len() - 1
        });
        if let Some(kernel) = kernels.get_mut(at) {
            add_double(kernel, double);
        }
    }
    kernels.retain(|kernel| !kernel.lines.is_empty());
    kernels
}

fn of_samples(stalls: &KernelStalls) -> KernelLines<'_> {
    let lines = stalls.lines.iter().take(MAX_LINES).map(|at| KernelLine {
        file: &at.file,
        line: at.line,
        samples: at.samples,
        reason: at.reasons.first().map_or("", |first| &first.reason),
        double: &[],
    });
    KernelLines {
        name: &stalls.name,
        stalls: Some(stalls),
        lines: lines.collect(),
    }
}

fn add_double<'a>(kernel: &mut KernelLines<'a>, double: &'a DoubleLine) {
    let has_room = kernel.lines.len() < MAX_LINES;
    let mut lines = kernel.lines.iter_mut();
    match lines.find(|at| at.line == double.line && at.file == double.file) {
        Some(line) => line.double = &double.names,
        None if has_room => kernel.lines.push(KernelLine {
            file: &double.file,
            line: double.line,
            samples: 0,
            reason: "",
            double: &double.names,
        }),
        None => {}
    }
}
