//! Rules about the launch shape of kernels: grids that do not fill the device.

use super::candidate::FindingCandidate;
use super::profile_facts::ProfileFacts;
use super::profile_index::scaled;
use super::rule::FindingCheck;
use super::thresholds::{
    ALONE_SHARE, KERNEL_CALLS, KERNEL_MEAN, MAX_BLOCKS_PER_SM, TAIL_LOSS, TAIL_MEAN,
};
use super::wording;
use crate::collectives::Collective;
use crate::occupancy;
use crate::profile::KernelStats;

pub(super) fn underused(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    rule.of_kernels(facts, |_, kernel| {
        let grid = lone_grid(facts, kernel)?;
        (grid.filled <= MAX_BLOCKS_PER_SM.0 && is_long(kernel)).then(|| {
            let evidence = format!(
                "{} for {} SMs: {}, {} of GPU time",
                wording::counted(grid.blocks, "block", "blocks"),
                grid.multiprocessors,
                wording::kernel_name(kernel),
                wording::percent(kernel.times.total_ns, facts.activity_ns),
            );
            let advice = "launch more blocks: less work per thread, or a larger batch per launch";
            let gain = scaled(grid.alone_ns, 1.0 - grid.filled);
            (evidence, advice, gain)
        })
    })
}

/// A kernel that mostly runs alone.
pub(super) struct LoneGrid {
    pub(super) blocks: u64,
    pub(super) multiprocessors: u32,
    /// Blocks per multiprocessor.
    pub(super) filled: f64,
    /// Time for which no other kernel ran, ns.
    pub(super) alone_ns: u64,
}

/// The grid of a kernel; `None` if it mostly runs beside others, if that is unknown, or if it has
/// several launch shapes, whose times are not known apart, or if it is one of NCCL's.
pub(super) fn lone_grid(facts: &ProfileFacts<'_>, kernel: &KernelStats) -> Option<LoneGrid> {
    if Collective::of_kernel(&kernel.symbol).is_some() {
        // NCCL leaves most multiprocessors to others on purpose.
        return None;
    }
    let blocks = blocks(kernel);
    let multiprocessors = facts.device(kernel.device)?.sm_count?;
    let alone_ns = facts.alone_ns(kernel)?;
    let is_alone = ALONE_SHARE.reached_by(alone_ns, kernel.times.total_ns);
    (is_alone && blocks > 0 && kernel.shapes <= 1).then(|| LoneGrid {
        blocks,
        multiprocessors,
        filled: blocks as f64 / f64::from(multiprocessors.max(1)),
        alone_ns,
    })
}

/// Whether launches of a kernel are long enough, and not few.
fn is_long(kernel: &KernelStats) -> bool {
    KERNEL_MEAN.reached(kernel.times.mean_ns as f64)
        && KERNEL_CALLS.reached(kernel.times.calls as f64)
}

fn blocks(kernel: &KernelStats) -> u64 {
    let sides = kernel.grid.iter();
    sides.fold(1, |blocks: u64, side| blocks.saturating_mul((*side).into()))
}

pub(super) fn tail_wave(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    rule.of_kernels(facts, |_, kernel| {
        let grid = lone_grid(facts, kernel)?;
        let device = facts.device(kernel.device)?;
        let resident = occupancy::resident_blocks(device, kernel)?;
        let wave = u64::from(resident) * u64::from(grid.multiprocessors);
        let waves = grid.blocks as f64 / wave.max(1) as f64;
        let loss = 1.0 - waves / waves.ceil().max(1.0);
        let applies = waves > 1.0
            && TAIL_LOSS.reached(loss)
            && TAIL_MEAN.reached(kernel.times.mean_ns as f64)
            && is_long(kernel);
        applies.then(|| {
            let evidence = format!(
                "{waves:.2} waves: {} of {} blocks, {} of GPU time, {} fit at once",
                wording::kernel_name(kernel),
                wording::count(grid.blocks),
                wording::percent(kernel.times.total_ns, facts.activity_ns),
                wording::count(wave),
            );
            let advice = format!(
                "launch a multiple of {wave} blocks, or {wave} that loop over the rest (grid \
                 stride)",
            );
            let gain = scaled(grid.alone_ns, loss);
            (evidence, advice, gain)
        })
    })
}
