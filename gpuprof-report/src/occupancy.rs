//! Theoretical occupancy: the share of a multiprocessor's warps that a kernel can keep resident,
//! given the resources that each of its blocks needs.
//!
//! The calculation follows `cuda_occupancy.h` of the CUDA toolkit (CUDA 13.5), for compute
//! capability 5.0 to 12.x and the largest shared memory carve-out.

use crate::profile::{Device, KernelStats, Profile};

const THREADS_PER_WARP: u32 = 32;
/// Registers are allocated to warps in units of this many (`cudaOccRegAllocationGranularity`).
const REGISTER_UNIT: u32 = 256;

/// The resources of one multiprocessor.
struct Limits {
    major: u32,
    minor: u32,
    threads: u32,
    blocks: u32,
    registers: u32,
    shared_bytes: u32,
    reserved_bytes: u32,
}

impl Limits {
    /// `None` if the driver does not report a limit, or the calculation is not known for the
    /// compute capability.
    fn for_device(device: &Device) -> Option<Self> {
        let (major, minor) = device.compute_capability.split_once('.')?;
        let (major, minor) = (major.parse().ok()?, minor.parse().ok()?);
        let is_known = matches!(major, 5..=10 | 12);
        let limit = |limit: Option<u32>| limit.filter(|_| is_known);
        Some(Self {
            major,
            minor,
            threads: limit(device.threads_per_sm)?,
            blocks: limit(device.blocks_per_sm)?,
            registers: limit(device.registers_per_sm)?,
            shared_bytes: limit(device.shared_bytes_per_sm)?,
            reserved_bytes: device.reserved_shared_bytes_per_block.unwrap_or(0),
        })
    }

    /// Partitions of a multiprocessor, each with its own registers
    /// (`cudaOccSubPartitionsPerMultiprocessor`).
    fn partitions(&self) -> u32 {
        match (self.major, self.minor) {
            (6, 0) => 2,
            _ => 4,
        }
    }

    /// Shared memory is allocated to blocks in units of this many bytes
    /// (`cudaOccSMemAllocationGranularity`).
    fn shared_unit(&self) -> u32 {
        if self.major < 8 { 256 } else { 128 }
    }

    /// Maximum number of resident blocks.
    fn resident_blocks(&self, kernel: &BlockResources) -> u32 {
        let warps = kernel.threads.div_ceil(THREADS_PER_WARP).max(1);
        let by_warps = self.threads / THREADS_PER_WARP / warps;
        let registers_per_warp =
            (kernel.registers * THREADS_PER_WARP).next_multiple_of(REGISTER_UNIT);
        let by_registers = match registers_per_warp {
            0 => u32::MAX,
            _ => {
                self.registers / self.partitions() / registers_per_warp * self.partitions() / warps
            }
        };
        let shared = kernel.shared_bytes.saturating_add(self.reserved_bytes);
        let by_shared = match shared.checked_next_multiple_of(self.shared_unit()) {
            Some(0) => u32::MAX,
            Some(shared) => self.shared_bytes / shared,
            None => 0,
        };
        self.blocks.min(by_warps).min(by_registers).min(by_shared)
    }
}

/// The resources that one block needs.
struct BlockResources {
    threads: u32,
    registers: u32,
    shared_bytes: u32,
}

/// Blocks of a kernel that a multiprocessor can hold at once; `None` if the limits are unknown, or
/// no block fits.
#[must_use]
pub fn resident_blocks(device: &Device, kernel: &KernelStats) -> Option<u32> {
    let limits = Limits::for_device(device)?;
    let threads = threads(kernel)?;
    let shared_bytes = kernel
        .static_shared_bytes
        .saturating_add(kernel.dynamic_shared_bytes);
    let is_sound = threads > 0 && threads <= limits.threads && kernel.registers <= 256;
    let block = BlockResources {
        threads,
        registers: kernel.registers,
        shared_bytes,
    };
    let blocks = limits.resident_blocks(&block);
    (is_sound && blocks > 0).then_some(blocks)
}

/// Resident warps over the warps that a multiprocessor can hold; `None` if the limits are unknown,
/// or no block fits.
fn occupancy(device: &Device, kernel: &KernelStats) -> Option<f64> {
    let warps = resident_blocks(device, kernel)? * threads(kernel)?.div_ceil(THREADS_PER_WARP);
    let all = Limits::for_device(device)?.threads / THREADS_PER_WARP;
    Some(f64::from(warps) / f64::from(all))
}

/// The most warps that a multiprocessor has at once, over those that it can hold: less than the
/// occupancy if the grid is too small for it. `None` where the occupancy is unknown.
#[cfg(feature = "table")]
pub(crate) fn most_resident_warps(device: &Device, kernel: &KernelStats) -> Option<f64> {
    let sides = kernel.grid.iter().chain(&kernel.block);
    let launched: f64 = sides.map(|side| f64::from(*side)).product();
    let room = f64::from(device.sm_count?) * f64::from(device.threads_per_sm?);
    Some(kernel.occupancy?.min(launched / room.max(1.0)))
}

/// Threads of a block.
fn threads(kernel: &KernelStats) -> Option<u32> {
    let sides = kernel.block.iter();
    sides.copied().try_fold(1, u32::checked_mul)
}

/// Computes the occupancy of every kernel of the profile.
pub fn fill_occupancy(profile: &mut Profile) {
    let Profile {
        devices,
        functions,
        kernels,
        ..
    } = profile;
    let inside = functions
        .iter_mut()
        .flat_map(|function| &mut function.activity.kernels);
    for kernel in kernels.iter_mut().chain(inside) {
        let device = devices
            .iter()
            .find(|device| device.ordinal == kernel.device);
        kernel.occupancy = device.and_then(|device| occupancy(device, kernel));
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockResources, Limits};

    /// (compute capability, threads, blocks, shared memory and reserved shared memory of a
    /// multiprocessor.)
    const DEVICES: [(u32, u32, u32, u32, u32); 4] = [
        (75, 1_024, 16, 65_536, 0),
        (80, 2_048, 32, 167_936, 1_024),
        (86, 1_536, 16, 102_400, 1_024),
        (90, 2_048, 32, 233_472, 1_024),
    ];

    /// (registers, shared memory, threads of a block, resident blocks on each of the devices
    /// above), as `cudaOccMaxActiveBlocksPerMultiprocessor` of CUDA 13.5 answers, compiled from its
    /// header.
    const KNOWN: [(u32, u32, u32, [u32; 4]); 12] = [
        (32, 0, 256, [4, 8, 6, 8]),
        (33, 0, 256, [4, 6, 6, 6]),
        (40, 0, 128, [8, 12, 12, 12]),
        (64, 0, 1_024, [1, 1, 1, 1]),
        (255, 0, 32, [8, 8, 8, 8]),
        (128, 0, 96, [5, 5, 5, 5]),
        (72, 0, 160, [5, 5, 5, 5]),
        (32, 4_096, 64, [16, 32, 16, 32]),
        (24, 12_288, 128, [5, 12, 7, 16]),
        (16, 49_152, 256, [1, 3, 2, 4]),
        (96, 33_000, 384, [1, 1, 1, 1]),
        (10, 0, 33, [16, 32, 16, 32]),
    ];

    #[test]
    fn resident_blocks_agree_with_nvidias_own_calculation() {
        for (at, (capability, threads, blocks, shared_bytes, reserved_bytes)) in
            DEVICES.into_iter().enumerate()
        {
            let limits = Limits {
                major: capability / 10,
                minor: capability % 10,
                threads,
                blocks,
                registers: 65_536,
                shared_bytes,
                reserved_bytes,
            };
            for (registers, shared_bytes, threads, resident) in KNOWN {
                let block = BlockResources {
                    threads,
                    registers,
                    shared_bytes,
                };
                let found = limits.resident_blocks(&block);
                assert_eq!(
                    found, resident[at],
                    "{capability}: {registers} {shared_bytes} {threads}"
                );
            }
        }
    }
}
