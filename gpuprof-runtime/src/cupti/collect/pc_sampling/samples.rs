//! Samples of program counters, by kernel and instruction.

use std::collections::BTreeMap;
use std::ffi::CStr;

use rustc_hash::FxHashMap;

use crate::cupti::collect::kernel_symbol::KernelSymbol;

/// Instructions that are told apart, in all kernels; the samples of others are dropped.
const MAX_PCS: usize = 1 << 18;

/// Where samples were taken.
pub(super) struct SampledPc<'a> {
    pub(super) cubin_crc: u64,
    pub(super) function: &'a CStr,
    pub(super) offset: u64,
}

/// Samples by the index of the reason.
pub(crate) type SamplesByReason = BTreeMap<u32, u64>;

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
    reasons: BTreeMap<u32, String>,
    /// Samples that the device, or this table, had no room for.
    pub(crate) dropped: u64,
    /// Samples in kernels of which CUPTI tells nothing.
    pub(crate) other: u64,
    /// How often the device's buffer was full, and had to be emptied unread.
    pub(crate) full: u64,
}

impl PcSamples {
    pub(super) fn name_reason(&mut self, index: u32, name: &str) {
        self.reasons.insert(index, name.to_owned());
    }

    /// The name of a reason.
    pub(crate) fn reason(&self, index: u32) -> &str {
        self.reasons.get(&index).map_or("unknown", String::as_str)
    }

    pub(super) fn add(
        &mut self,
        pc: SampledPc<'_>,
        reasons: impl Iterator<Item = (u32, u32)> + Clone,
    ) {
        let kernels = self.by_name.entry(pc.cubin_crc).or_default();
        let at = match kernels.get(pc.function) {
            Some(at) => *at,
            None => {
                let at = self.kernels.len();
                self.kernels.push(SampledKernel {
                    cubin_crc: pc.cubin_crc,
                    symbol: KernelSymbol::from(&*pc.function.to_string_lossy()),
                    instructions: FxHashMap::default(),
                });
                kernels.insert(pc.function.into(), at);
                at
            }
        };
        let Some(kernel) = self.kernels.get_mut(at) else {
            return;
        };
        if !kernel.instructions.contains_key(&pc.offset) {
            if self.pcs >= MAX_PCS {
                self.dropped += reasons.map(|(_, samples)| u64::from(samples)).sum::<u64>();
                return;
            }
            self.pcs += 1;
        }
        let sums = kernel.instructions.entry(pc.offset).or_default();
        for (reason, samples) in reasons.filter(|(_, samples)| *samples > 0) {
            *sums.entry(reason).or_default() += u64::from(samples);
        }
    }

    pub(crate) fn kernels(&self) -> &[SampledKernel] {
        &self.kernels
    }

    /// Forgets all samples.
    pub(super) fn clear(&mut self) {
        let reasons = std::mem::take(&mut self.reasons);
        *self = Self {
            reasons,
            ..Self::default()
        };
    }
}
