//! The simulated device: a GPU of compute capability 7.5. The roofline that models durations uses
//! the same numbers as its attributes.

use std::ops::RangeInclusive;

use crate::result_codes::{Answer, Code};

pub(crate) const NAME: &str = "simulated device";
/// `cuDriverGetVersion`: CUDA 13.0.
pub(crate) const DRIVER_VERSION: i32 = 13_000;
pub(crate) const MEMORY_BYTES: u64 = 16 << 30;
/// Memory that a real driver reserves for itself.
pub(crate) const RESERVED_BYTES: u64 = 300 << 20;

pub(crate) const SM_COUNT: i32 = 40;
const CLOCK_KHZ: i32 = 1_590_000;
const MEMORY_CLOCK_KHZ: i32 = 5_001_000;
const BUS_BITS: i32 = 256;
const F32_LANES_PER_SM: i32 = 64;
const SINGLE_TO_DOUBLE: i32 = 32;
pub(crate) const MAX_THREADS_PER_BLOCK: u32 = 1024;
pub(crate) const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
pub(crate) const MAX_GRID: [u32; 3] = [2_147_483_647, 65_535, 65_535];
pub(crate) const THREADS_PER_SM: u32 = 1024;
pub(crate) const BLOCKS_PER_SM: u32 = 16;
pub(crate) const WARP: u32 = 32;
pub(crate) const SHARED_PER_BLOCK: u32 = 48 << 10;
pub(crate) const SHARED_PER_BLOCK_OPTIN: u32 = 64 << 10;

/// The range of `CU_DEVICE_ATTRIBUTE_*`.
const ATTRIBUTES: RangeInclusive<i32> = 1..=162;

/// Peak memory bandwidth in bytes per ns: two transfers per memory clock over the bus.
pub(crate) const PEAK_BYTES_PER_NS: f64 =
    2.0 * MEMORY_CLOCK_KHZ as f64 * 1e3 * (BUS_BITS / 8) as f64 / 1e9;
/// Peak f32 rate in flop per ns: two flops (one multiply-add) per lane and clock.
pub(crate) const PEAK_F32_PER_NS: f64 =
    2.0 * (SM_COUNT * F32_LANES_PER_SM) as f64 * CLOCK_KHZ as f64 * 1e3 / 1e9;
/// Peak f64 rate in flop per ns.
pub(crate) const PEAK_F64_PER_NS: f64 = PEAK_F32_PER_NS / SINGLE_TO_DOUBLE as f64;
/// Host-to-device bandwidth in bytes per ns, as PCIe 3.0 x16 gives in practice.
pub(crate) const HOST_BYTES_PER_NS: f64 = 12.0;

/// The value of `CU_DEVICE_ATTRIBUTE_*` number `attribute` on device `ordinal`: 0 if the device
/// lacks it, INVALID_VALUE if there is no such attribute (API reference, Device Management).
pub(crate) fn attribute(attribute: i32, ordinal: u32) -> Answer<i32> {
    let value = match attribute {
        1 => MAX_THREADS_PER_BLOCK as i32,
        2..=4 => MAX_BLOCK[(attribute - 2) as usize] as i32,
        5..=7 => MAX_GRID[(attribute - 5) as usize] as i32,
        8 => SHARED_PER_BLOCK as i32,
        9 => 64 << 10, // TOTAL_CONSTANT_MEMORY
        10 => WARP as i32,
        11 => i32::MAX,    // MAX_PITCH
        12 | 82 => 65_536, // MAX_REGISTERS_PER_BLOCK, _PER_MULTIPROCESSOR
        13 => CLOCK_KHZ,
        14 => 512, // TEXTURE_ALIGNMENT
        // GPU_OVERLAP, CAN_MAP_HOST_MEMORY, CONCURRENT_KERNELS, UNIFIED_ADDRESSING
        15 | 19 | 31 | 41 => 1,
        16 => SM_COUNT,
        33 => pci_bus(ordinal),
        36 => MEMORY_CLOCK_KHZ,
        37 => BUS_BITS,
        38 => 4 << 20, // L2_CACHE_SIZE
        39 => THREADS_PER_SM as i32,
        40 => 2, // ASYNC_ENGINE_COUNT
        75 => 7, // COMPUTE_CAPABILITY_MAJOR
        76 => 5, // COMPUTE_CAPABILITY_MINOR
        // STREAM_PRIORITIES, GLOBAL_L1_CACHE, LOCAL_L1_CACHE, MANAGED_MEMORY,
        // CONCURRENT_MANAGED_ACCESS
        78 | 79 | 80 | 83 | 89 => 1,
        81 => 64 << 10, // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
        87 => SINGLE_TO_DOUBLE,
        97 => SHARED_PER_BLOCK_OPTIN as i32,
        106 => BLOCKS_PER_SM as i32,
        115 => 1, // MEMORY_POOLS_SUPPORTED
        _ if ATTRIBUTES.contains(&attribute) => 0,
        _ => return Err(Code::INVALID_VALUE),
    };
    Ok(value)
}

/// The UUID of device `ordinal`, the same in every run.
pub(crate) fn uuid(ordinal: u32) -> [u8; 16] {
    let mut uuid = *b"simulated-dev-00";
    uuid[14] = b'0' + (ordinal / 10 % 10) as u8;
    uuid[15] = b'0' + (ordinal % 10) as u8;
    uuid
}

/// `domain:bus:device.function`, as `cuDeviceGetPCIBusId` writes it.
pub(crate) fn pci_bus_id(ordinal: u32) -> String {
    format!("0000:{:02X}:00.0", pci_bus(ordinal))
}

fn pci_bus(ordinal: u32) -> i32 {
    1 + ordinal as i32
}
