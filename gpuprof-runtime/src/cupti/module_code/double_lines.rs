//! The lines of a profile's kernels that use double precision.

use std::collections::BTreeMap;
use std::time::Duration;

use gpuprof_report::profile::{DoubleLine, KernelStats, Metric, Profile};
use gpuprof_report::sorting::sort_by;

use super::{Module, ModuleCode, cubin, double_precision};
use crate::cupti::collect::library::CuptiLibrary;
use crate::cupti::collect::source_lines::KernelLines;

/// The share of the unit's peak below which its use is not looked for.
const MIN_SHARE: f64 = 0.001;
/// Lines of a kernel that are kept at most.
const MAX_LINES: usize = 8;

/// Adds the lines of the kernels in which the unit for double precision has worked.
pub(crate) fn write_to_profile(
    profile: &mut Profile,
    modules: &ModuleCode,
    cupti: &CuptiLibrary,
    limit: Duration,
) {
    let uses_double = |kernel: &&KernelStats| {
        let counters = kernel.counters.as_ref();
        counters
            .and_then(|all| all.mean(Metric::Fp64Active))
            .is_some_and(|share| share > MIN_SHARE)
    };
    let modules = modules.modules(limit);
    let mut lines: Vec<DoubleLine> = Vec::new();
    for kernel in profile.kernels.iter().filter(uses_double) {
        if lines.iter().any(|line| line.kernel == kernel.name) {
            continue;
        }
        let of_kernel = modules
            .iter()
            .map(|module| lines_of(module, kernel, cupti))
            .find(|lines| !lines.is_empty());
        lines.extend(of_kernel.into_iter().flatten());
    }
    profile.double_lines = lines;
}

/// The lines with the most such instructions; empty if the kernel is not in the module.
fn lines_of(module: &Module, kernel: &KernelStats, cupti: &CuptiLibrary) -> Vec<DoubleLine> {
    let Some(code) = cubin::code(&module.cubin, &kernel.symbol) else {
        return Vec::new();
    };
    let Some(lines) = KernelLines::new(cupti, &module.cubin, &kernel.symbol) else {
        return Vec::new();
    };
    let mut by_line: BTreeMap<(String, u32), BTreeMap<&str, u32>> = BTreeMap::new();
    for (offset, name) in double_precision::instructions(code) {
        if let Some(place) = lines.at(offset) {
            *by_line.entry(place).or_default().entry(name).or_default() += 1;
        }
    }
    let lines = by_line.into_iter().map(|((file, line), names)| {
        let mut double = DoubleLine::default();
        double.kernel.clone_from(&kernel.name);
        (double.file, double.line) = (file, line);
        double.instructions = names.values().sum();
        let mut names: Vec<(&str, u32)> = names.into_iter().collect();
        sort_by(&mut names, |a, b| b.1.cmp(&a.1));
        double.names = names.into_iter().map(|(name, _)| name.to_owned()).collect();
        double
    });
    let mut lines: Vec<DoubleLine> = lines.collect();
    sort_by(&mut lines, |a, b| b.instructions.cmp(&a.instructions));
    lines.truncate(MAX_LINES);
    lines
}
