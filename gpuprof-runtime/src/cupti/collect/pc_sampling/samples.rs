//! Samples of program counters, by kernel and instruction.

use std::collections::BTreeMap;
use std::ffi::CStr;

use rustc_hash::FxHashMap;

use crate::cupti::collect::kernel_symbol::KernelSymbol;

/// Instructions that are told apart, in all kernels; the samples of others are left out.
pub(super) const MAX_PCS: usize = 1 << 18;

/// Where samples were taken.
pub(super) struct SampledPc<'a> {
    pub(super) cubin_crc: u64,
    pub(super) function: &'a CStr,
    pub(super) offset: u64,
}

/// Samples by the name of the reason.
pub(crate) type SamplesByReason = BTreeMap<&'static str, u64>;

/// The samples in one kernel of one module.
#[derive(Clone, Debug)]
pub(crate) struct SampledKernel {
    pub(crate) cubin_crc: u64,
    pub(crate) symbol: KernelSymbol,
    /// By the offset of the instruction.
    pub(crate) instructions: FxHashMap<u64, SamplesByReason>,
}

/// The samples since sampling began, or since the window did.
#[derive(Clone, Debug, Default)]
pub(crate) struct PcSamples {
    kernels: Vec<SampledKernel>,
    /// Where a kernel is in `kernels`, by its module and its symbol.
    by_name: FxHashMap<u64, FxHashMap<Box<CStr>, usize>>,
    pcs: usize,
    /// Samples that the device had no room for.
    pub(crate) dropped: u64,
    /// Samples beyond [`MAX_PCS`].
    pub(super) left_out: u64,
    /// Samples in code of which CUPTI tells nothing.
    pub(crate) other: u64,
    /// How often a device's buffer was full, and had to be emptied unread.
    pub(super) full: u64,
    /// The most cycles between two samples; 0 if nothing was read.
    pub(super) period_cycles: u64,
}

impl PcSamples {
    pub(super) fn add(
        &mut self,
        pc: SampledPc<'_>,
        reasons: impl Iterator<Item = (&'static str, u64)>,
    ) {
        let reasons = reasons.filter(|(_, samples)| *samples > 0);
        let Some(sums) = self.sums(&pc) else {
            self.left_out += reasons.map(|(_, samples)| samples).sum::<u64>();
            return;
        };
        for (reason, samples) in reasons {
            *sums.entry(reason).or_default() += samples;
        }
    }

    /// The sums of an instruction; `None` if there is no room.
    fn sums(&mut self, pc: &SampledPc<'_>) -> Option<&mut SamplesByReason> {
        let has_room = self.pcs < MAX_PCS;
        let of_module = self.by_name.get(&pc.cubin_crc);
        let known = of_module.and_then(|kernels| kernels.get(pc.function));
        let at = match known {
            Some(at) => *at,
            None if has_room => {
                let at = self.kernels.len();
                self.kernels.push(SampledKernel {
                    cubin_crc: pc.cubin_crc,
                    symbol: KernelSymbol::from(&*pc.function.to_string_lossy()),
                    instructions: FxHashMap::default(),
                });
                let kernels = self.by_name.entry(pc.cubin_crc).or_default();
                kernels.insert(pc.function.into(), at);
                at
            }
            None => return None,
        };
        let instructions = &mut self.kernels.get_mut(at)?.instructions;
        if !instructions.contains_key(&pc.offset) {
            if !has_room {
                return None;
            }
            self.pcs += 1;
        }
        Some(instructions.entry(pc.offset).or_default())
    }

    /// Adds those of another window.
    pub(crate) fn merge(&mut self, more: &Self) {
        for (cubin_crc, kernels) in &more.by_name {
            for (function, at) in kernels {
                let kernel = more.kernels.get(*at);
                for (offset, reasons) in kernel.into_iter().flat_map(|of| &of.instructions) {
                    let pc = SampledPc {
                        cubin_crc: *cubin_crc,
                        function,
                        offset: *offset,
                    };
                    self.add(
                        pc,
                        reasons.iter().map(|(reason, samples)| (*reason, *samples)),
                    );
                }
            }
        }
        self.dropped += more.dropped;
        self.left_out += more.left_out;
        self.other += more.other;
        self.full += more.full;
        self.period_cycles = self.period_cycles.max(more.period_cycles);
    }

    pub(crate) fn kernels(&self) -> &[SampledKernel] {
        &self.kernels
    }
}

#[cfg(test)]
mod tests {
    use super::{CStr, MAX_PCS, PcSamples, SampledPc};

    fn add(samples: &mut PcSamples, function: &CStr, offset: u64) {
        let pc = SampledPc {
            cubin_crc: 1,
            function,
            offset,
        };
        samples.add(pc, [("wait", 3), ("selected", 0)].into_iter());
    }

    #[test]
    fn the_table_has_a_limit_and_what_is_beyond_is_counted() {
        let mut samples = PcSamples::default();
        (0..MAX_PCS as u64).for_each(|at| add(&mut samples, c"first", 16 * at));
        assert_eq!((samples.left_out, samples.kernels.len()), (0, 1));
        add(&mut samples, c"first", 0);
        assert_eq!(samples.left_out, 0, "it is known");
        add(&mut samples, c"first", 16 * MAX_PCS as u64);
        add(&mut samples, c"second", 0);
        assert_eq!((samples.left_out, samples.kernels.len()), (6, 1));
        assert_eq!(samples.kernels[0].instructions[&0]["wait"], 6);
        let _ = std::mem::take(&mut samples);
        add(&mut samples, c"second", 0);
        assert_eq!((samples.left_out, samples.kernels.len()), (0, 1));
    }
}
