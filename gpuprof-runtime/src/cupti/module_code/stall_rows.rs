//! Samples of program counters as a profile has them: by kernel, reason and source line.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gpuprof_report::profile::{
    KernelStalls, MAX_STALL_LINES, Profile, StallInstruction, StallLine, StallReasonSamples,
    add_reasons,
};
use gpuprof_report::sorting::sort_by_key;
use rustc_hash::FxHashMap;

use super::{Module, ModuleCode};
use crate::cupti::collect::library::CuptiLibrary;
use crate::cupti::collect::pc_sampling::{SampledKernel, SampledStalls, SamplesByReason};
use crate::cupti::collect::source_lines::KernelLines;

/// Adds what was sampled to the profile, whose kernels it has by then. Returns whether the code of
/// all sampled kernels is known.
pub(crate) fn write_to_profile(
    profile: &mut Profile,
    sampled: &SampledStalls,
    modules: &ModuleCode,
    cupti: &CuptiLibrary,
    limit: Duration,
) -> bool {
    let mut has_all_code = true;
    let mut stalls = sampled.figures();
    let modules = modules.modules(limit);
    let names: FxHashMap<&str, &str> = profile
        .kernels
        .iter()
        .map(|kernel| (kernel.symbol.as_str(), kernel.name.as_str()))
        .collect();
    let mut kernels: Vec<KernelStalls> = Vec::new();
    for sampled in sampled.samples.kernels() {
        let symbol = sampled.symbol.as_str();
        let name = names.get(symbol).copied();
        let name = name.unwrap_or_else(|| sampled.symbol.full_name());
        let module = modules
            .iter()
            .find(|module| module.crc(cupti) == Some(sampled.cubin_crc));
        has_all_code &= module.is_some();
        let row = kernel_row(name, sampled, module, cupti);
        stalls.samples += row.samples;
        // A kernel of two modules is one row.
        match kernels.iter_mut().find(|known| known.name == row.name) {
            Some(known) => merge(known, row),
            None => kernels.push(row),
        }
    }
    kernels.retain(|kernel| kernel.samples > 0);
    kernels.iter_mut().for_each(order);
    sort_by_key(&mut kernels, |kernel| Reverse(kernel.samples));
    stalls.kernels = kernels;
    profile.stalls = Some(stalls);
    has_all_code
}

fn kernel_row(
    name: &str,
    sampled: &SampledKernel,
    module: Option<&Arc<Module>>,
    cupti: &CuptiLibrary,
) -> KernelStalls {
    let mut row = KernelStalls::default();
    name.clone_into(&mut row.name);
    let lines =
        module.and_then(|module| KernelLines::new(cupti, &module.cubin, sampled.symbol.as_str()));
    let mut by_line: BTreeMap<(String, u32), Vec<StallReasonSamples>> = BTreeMap::new();
    for (offset, reasons) in &sampled.instructions {
        let reasons = named(reasons);
        let count: u64 = reasons.iter().map(|of| of.samples).sum();
        row.samples += count;
        add_reasons(&mut row.reasons, &reasons);
        match lines.as_ref().and_then(|lines| lines.at(*offset)) {
            Some(place) => add_reasons(by_line.entry(place).or_default(), &reasons),
            None => {
                row.samples_without_line += count;
                let mut instruction = StallInstruction::default();
                (instruction.offset, instruction.samples) = (*offset, count);
                add_reasons(&mut instruction.reasons, &reasons);
                row.instructions.push(instruction);
            }
        }
    }
    row.lines = by_line
        .into_iter()
        .map(|((file, number), reasons)| {
            let mut line = StallLine::default();
            (line.file, line.line) = (file, number);
            line.samples = reasons.iter().map(|of| of.samples).sum();
            line.reasons = reasons;
            line
        })
        .collect();
    row
}

fn named(reasons: &SamplesByReason) -> Vec<StallReasonSamples> {
    let named = reasons.iter().map(|(reason, count)| {
        let mut of = StallReasonSamples::default();
        of.reason = (*reason).to_owned();
        of.samples = *count;
        of
    });
    named.collect()
}

fn merge(sum: &mut KernelStalls, more: KernelStalls) {
    sum.samples += more.samples;
    sum.samples_without_line += more.samples_without_line;
    add_reasons(&mut sum.reasons, &more.reasons);
    for line in more.lines {
        let is_same = |known: &&mut StallLine| (known.line, &known.file) == (line.line, &line.file);
        match sum.lines.iter_mut().find(is_same) {
            Some(known) => {
                known.samples += line.samples;
                add_reasons(&mut known.reasons, &line.reasons);
            }
            None => sum.lines.push(line),
        }
    }
    // Offsets in two modules are two instructions.
    sum.instructions.extend(more.instructions);
}

/// Puts the lines and instructions with the most samples first, and leaves out the others.
fn order(kernel: &mut KernelStalls) {
    sort_by_key(&mut kernel.lines, |line| Reverse(line.samples));
    kernel.lines.truncate(MAX_STALL_LINES);
    sort_by_key(&mut kernel.instructions, |of| {
        (Reverse(of.samples), of.offset)
    });
    kernel.instructions.truncate(MAX_STALL_LINES);
}
