//! The properties of a device.

use super::peaks::{self, ChipFacts};
use crate::driver::handles;
use crate::driver::table::{Driver, FailedCall};
use gpuprof_report::profile::Device;

/// `CUdevice_attribute` values (CUDA driver API, "Data types").
mod attribute {
    pub(crate) const CLOCK_RATE_KHZ: i32 = 13;
    pub(crate) const MULTIPROCESSOR_COUNT: i32 = 16;
    pub(crate) const MEMORY_CLOCK_RATE_KHZ: i32 = 36;
    pub(crate) const MEMORY_BUS_WIDTH_BITS: i32 = 37;
    pub(crate) const CAPABILITY_MAJOR: i32 = 75;
    pub(crate) const CAPABILITY_MINOR: i32 = 76;
    pub(crate) const SINGLE_TO_DOUBLE_RATIO: i32 = 87;
    pub(crate) const THREADS_PER_SM: i32 = 39;
    pub(crate) const SHARED_BYTES_PER_SM: i32 = 81;
    pub(crate) const REGISTERS_PER_SM: i32 = 82;
    pub(crate) const BLOCKS_PER_SM: i32 = 106;
    pub(crate) const RESERVED_SHARED_BYTES_PER_BLOCK: i32 = 111;
}

/// Everything a report says about one device. What the driver does not tell stays empty.
pub(crate) fn describe(driver: &Driver, ordinal: u32) -> Device {
    let handle = handles::CuDevice(ordinal.cast_signed());
    let ask = |attribute| {
        driver
            .attribute(attribute, handle)
            .ok()
            .filter(|&value| value > 0)
    };
    let limit = |attribute| u32::try_from(ask(attribute)?).ok();
    let capability = |attribute| driver.attribute(attribute, handle).unwrap_or(0);
    let (major, minor) = (
        capability(attribute::CAPABILITY_MAJOR),
        capability(attribute::CAPABILITY_MINOR),
    );
    let sms = ask(attribute::MULTIPROCESSOR_COUNT);
    let name = text(driver.device_name(handle));
    let chip = sms
        .zip(ask(attribute::CLOCK_RATE_KHZ))
        .map(|(sms, clock_khz)| ChipFacts {
            capability: (major, minor),
            sms,
            clock_khz,
            name: &name,
        });
    let mut device = Device::default();
    device.ordinal = ordinal;
    device.uuid = driver
        .device_uuid(handle)
        .map(|uuid| shown_uuid(&uuid))
        .unwrap_or_default();
    device.compute_capability = format!("{major}.{minor}");
    device.sm_count = sms.and_then(|sms| u32::try_from(sms).ok());
    device.memory_bytes = driver.device_memory(handle).ok();
    device.peak_bytes_per_s = peaks::bandwidth(
        ask(attribute::MEMORY_CLOCK_RATE_KHZ),
        ask(attribute::MEMORY_BUS_WIDTH_BITS),
    );
    device.peak_flops_f32 = chip.and_then(|chip| chip.single());
    device.peak_flops_f64 = (device.peak_flops_f32)
        .zip(ask(attribute::SINGLE_TO_DOUBLE_RATIO))
        .map(|(peak, ratio)| peak / ratio);
    device.peak_flops = chip.map_or_else(Vec::new, |chip| chip.half_and_tensor_rates());
    device.name = name;
    device.threads_per_sm = limit(attribute::THREADS_PER_SM);
    device.blocks_per_sm = limit(attribute::BLOCKS_PER_SM);
    device.registers_per_sm = limit(attribute::REGISTERS_PER_SM);
    device.shared_bytes_per_sm = limit(attribute::SHARED_BYTES_PER_SM);
    device.reserved_shared_bytes_per_block = limit(attribute::RESERVED_SHARED_BYTES_PER_BLOCK);
    device.driver = driver.version().map(shown_version).unwrap_or_default();
    device.simulated = driver.is_simulated();
    device
}

fn text(answer: Result<String, FailedCall>) -> String {
    answer.unwrap_or_else(|_| "unknown device".to_owned())
}

fn shown_version(version: u32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

fn shown_uuid(bytes: &[u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
    format!(
        "GPU-{}-{}-{}-{}-{}",
        part(0..8),
        part(8..12),
        part(12..16),
        part(16..20),
        part(20..32)
    )
}

#[cfg(test)]
mod tests {
    use super::{shown_uuid, shown_version};

    #[test]
    fn driver_version_and_uuid_read_as_nvidia_smi_prints_them() {
        assert_eq!(shown_version(13_010), "13.1");
        assert_eq!(shown_version(12_080), "12.8");
        let uuid: [u8; 16] = std::array::from_fn(|at| at as u8);
        assert_eq!(
            shown_uuid(&uuid),
            "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
        );
    }
}
