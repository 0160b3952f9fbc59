//! Stated work as a share of what devices can do: arithmetic, the bandwidth of their memory, or
//! that of their link to the host.

use crate::profile::{CopyKind, Device, Function, GpuSpanStats, Precision};

/// Which of a device's peaks a share is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeakKind {
    /// Bandwidth of device memory.
    Memory,
    /// Bandwidth of the link to the host.
    Link,
    /// Arithmetic of this precision.
    Arithmetic(Precision),
}

/// What moves the bytes that a function states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bandwidth {
    /// Kernels, or copies and memsets within device memory.
    Memory,
    /// Copies between host and device.
    Link,
    /// No record says which of the two.
    Unknown,
}

/// The share of a peak that a row shows. `peak` is that of device memory or of arithmetic, `parts`
/// are the row's spans on each device.
pub(super) fn shown(
    peak: Option<(f64, PeakKind)>,
    function: &Function,
    parts: &[GpuSpanStats],
    devices: &[Device],
) -> Option<(f64, PeakKind)> {
    let bandwidth = bandwidth(function, parts, devices);
    let peak =
        peak.filter(|(_, limit)| *limit != PeakKind::Memory || bandwidth == Bandwidth::Memory);
    let of_link = || {
        let bytes = parts.iter().filter_map(|part| part.timed_bytes);
        let bytes = bytes.reduce(|sum, bytes| sum + bytes);
        let share = share(bytes, parts, devices, link_bytes_per_s)?;
        // More than all of it went another way.
        (share <= 1.0).then_some((share, PeakKind::Link))
    };
    match bandwidth {
        Bandwidth::Link => peak.or_else(of_link),
        Bandwidth::Memory | Bandwidth::Unknown => peak,
    }
}

/// Stated work over what the devices could have done in the same time, each weighted by the time it
/// ran.
///
/// `None` where no work is stated or the peak of a device that ran is not known.
pub(super) fn share(
    work: Option<f64>,
    parts: &[GpuSpanStats],
    devices: &[Device],
    peak: impl Fn(&Device) -> Option<u64>,
) -> Option<f64> {
    let work = work?;
    let mut possible = 0.0;
    for part in parts {
        let device = devices
            .iter()
            .find(|device| Some(device.ordinal) == part.device)?;
        possible += peak(device)? as f64 * (part.timed_ns as f64 / 1e9);
    }
    let share = work / possible;
    share.is_finite().then_some(share)
}

fn bandwidth(function: &Function, parts: &[GpuSpanStats], devices: &[Device]) -> Bandwidth {
    let work = &function.activity;
    if work.busy_ns.is_some() {
        // With CUPTI.
        if work.launches > 0 || !work.kernels.is_empty() {
            return Bandwidth::Memory;
        }
        let (mut host_ns, mut device_ns) = (0_u64, 0_u64);
        for copies in &work.copies {
            let sum = match copies.kind {
                kind if kind.is_between_host_and_device() => &mut host_ns,
                CopyKind::DtoD | CopyKind::Memset => &mut device_ns,
                _ => continue,
            };
            *sum = sum.saturating_add(copies.times.total_ns);
        }
        return match (host_ns, device_ns) {
            (0, 0) => Bandwidth::Unknown,
            (host, device) if host > device => Bandwidth::Link,
            _ => Bandwidth::Memory,
        };
    }
    // Events cannot tell a copy from a kernel. A function that states arithmetic has a kernel, and
    // no copy is faster than the link.
    let is_faster = |part: &GpuSpanStats| {
        let device = devices
            .iter()
            .find(|device| Some(device.ordinal) == part.device);
        let rate = part.timed_bytes.unwrap_or(0.0) / (part.timed_ns as f64 / 1e9);
        device.is_some_and(|device| rate > fastest_link(device))
    };
    if function.flops.is_some() || parts.iter().any(is_faster) {
        Bandwidth::Memory
    } else {
        Bandwidth::Unknown
    }
}

/// The PCIe link in one direction, bytes per second, if the host is reached by it.
fn link_bytes_per_s(device: &Device) -> Option<u64> {
    device
        .peak_link_bytes_per_s
        .filter(|_| !has_processor(device))
}

/// Whether the chip has a processor of its own, with which NVLink-C2C connects it.
fn has_processor(device: &Device) -> bool {
    let mut chips = ["GH200", "GB200", "GB300", "GB10"].iter();
    chips.any(|chip| device.name.contains(chip))
}

/// An upper bound of the link to the host in one direction, bytes per second: what NVML reports, or
/// else 16 lanes of the PCIe generation that the architecture has (0.985, 1.97, 3.94 and 7.56 GB/s
/// a lane from generation 3 on), and 450 GB/s of NVLink-C2C.
fn fastest_link(device: &Device) -> f64 {
    let major = device.compute_capability.split('.').next();
    let major = major.and_then(|major| major.parse().ok()).unwrap_or(0_u32);
    match (link_bytes_per_s(device), major) {
        (Some(link), _) => link as f64,
        _ if has_processor(device) => 450e9,
        (None, 1..8) => 15.8e9,
        (None, 8) => 31.5e9,
        (None, 9) => 63.0e9,
        (None, _) => 121e9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{CopyStats, KernelStats};

    fn device() -> Device {
        Device {
            compute_capability: "9.0".into(),
            peak_bytes_per_s: Some(4_000_000_000_000),
            ..Device::default()
        }
    }

    /// A function that states so many bytes in a second.
    fn function(bytes: f64) -> Function {
        let gpu = GpuSpanStats {
            device: Some(0),
            timed_ns: 1_000_000_000,
            timed_bytes: Some(bytes),
            ..GpuSpanStats::default()
        };
        Function {
            gpu: Some(gpu),
            ..Function::default()
        }
    }

    fn copies(kind: CopyKind) -> CopyStats {
        let mut copies = CopyStats {
            kind,
            ..CopyStats::default()
        };
        copies.times.total_ns = 1_000;
        copies
    }

    fn with_cupti(bytes: f64, kinds: &[CopyKind]) -> Function {
        let mut function = function(bytes);
        function.activity.busy_ns = Some(1_000);
        function.activity.copies = kinds.iter().map(|kind| copies(*kind)).collect();
        function
    }

    fn peak(function: &Function, device: Device) -> Option<(f64, PeakKind)> {
        let (parts, devices) = (function.gpu_on_each_device(), [device]);
        let bytes = parts.first().and_then(|part| part.timed_bytes);
        let of_memory = share(bytes, parts, &devices, |device| device.peak_bytes_per_s)
            .map(|share| (share, PeakKind::Memory));
        shown(of_memory, function, parts, &devices)
    }

    #[test]
    fn host_copies_are_compared_with_the_link_where_it_is_known() {
        let upload = with_cupti(12.6e9, &[CopyKind::HtoD]);
        assert_eq!(peak(&upload, device()), None);
        let linked = || Device {
            peak_link_bytes_per_s: Some(63_000_000_000),
            ..device()
        };
        assert_eq!(peak(&upload, linked()), Some((0.2, PeakKind::Link)));
        assert_eq!(peak(&with_cupti(100e9, &[CopyKind::DtoH]), linked()), None);
        let with_processor = Device {
            name: "NVIDIA GH200 480GB".into(),
            ..linked()
        };
        assert_eq!(peak(&upload, with_processor), None);
        let memory = Some((0.5, PeakKind::Memory));
        for kind in [CopyKind::Memset, CopyKind::DtoD] {
            assert_eq!(peak(&with_cupti(2e12, &[kind]), linked()), memory);
        }
        let mut kernel = with_cupti(2e12, &[CopyKind::HtoD]);
        kernel.activity.launches = 1;
        kernel.activity.kernels = vec![KernelStats::default()];
        assert_eq!(peak(&kernel, linked()), memory);
        let between_devices = with_cupti(1e9, &[CopyKind::PtoP]);
        assert_eq!(peak(&between_devices, linked()), None);
    }

    #[test]
    fn without_cupti_what_may_be_a_host_copy_has_no_peak_of_device_memory() {
        assert_eq!(peak(&function(40e9), device()), None);
        assert_eq!(
            peak(&function(80e9), device()),
            Some((0.02, PeakKind::Memory))
        );
        let with_processor = Device {
            name: "NVIDIA GH200 480GB".into(),
            ..device()
        };
        assert_eq!(peak(&function(80e9), with_processor), None);
        // A function that states arithmetic has a kernel.
        let mut kernel = function(40e9);
        kernel.flops = Some(1.0);
        assert_eq!(peak(&kernel, device()), Some((0.01, PeakKind::Memory)));
    }
}
