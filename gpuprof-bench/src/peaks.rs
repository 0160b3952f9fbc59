//! What a device has reached, as a result.

use std::fmt;

use gpuprof_report::profile::{Device, Precision};

/// What a device has reached, measured; see [`peaks`](crate::peaks()).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Peaks {
    /// The device.
    pub device: Device,
    /// Bytes read and written per second by a copy of memory that is far larger than the L2 cache.
    pub copy_bytes_per_s: f64,
    /// Single-precision operations per second of multiply-adds in registers, each of which is two.
    pub fma_f32_flops_per_s: f64,
    /// The same in double precision.
    pub fma_f64_flops_per_s: f64,
}

impl Peaks {
    /// Multiply-adds in this precision, FLOP/s; `None` for one that is not measured.
    #[must_use]
    pub const fn fma_flops_per_s(&self, precision: Precision) -> Option<f64> {
        match precision {
            Precision::F32 => Some(self.fma_f32_flops_per_s),
            Precision::F64 => Some(self.fma_f64_flops_per_s),
            _ => None,
        }
    }
}

impl fmt::Display for Peaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = &self.device;
        write!(f, "{}: measured copy bandwidth ", device.shown_name())?;
        rate(
            f,
            self.copy_bytes_per_s,
            1e9,
            "GB/s",
            device.peak_bytes_per_s,
        )?;
        f.write_str(", measured multiply-adds f32 ")?;
        let single = self.fma_f32_flops_per_s;
        rate(f, single, 1e12, "TFLOP/s", device.peak_flops_f32)?;
        f.write_str(", f64 ")?;
        let double = self.fma_f64_flops_per_s;
        rate(f, double, 1e12, "TFLOP/s", device.peak_flops_f64)
    }
}

fn rate(
    f: &mut fmt::Formatter<'_>,
    measured: f64,
    of: f64,
    unit: &str,
    peak: Option<u64>,
) -> fmt::Result {
    write!(f, "{:.1} {unit}", measured / of)?;
    match peak.filter(|&peak| peak > 0) {
        Some(peak) => {
            let (share, peak) = (measured / peak as f64 * 100.0, peak as f64 / of);
            write!(f, " ({share:.1} % of {peak:.1} by its attributes)")
        }
        None => Ok(()),
    }
}
