//! The peak rates of a device, by published formulas. What these do not know has no peak: none is
//! better than a wrong one.

use gpuprof_report::profile::{PeakRate, Precision};

/// What the formulas need of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChipFacts<'a> {
    /// Compute capability.
    pub(super) capability: (u64, u64),
    pub(super) sms: u64,
    /// Largest clock of the SMs.
    pub(super) clock_khz: u64,
    pub(super) name: &'a str,
}

/// Two transfers a memory clock over the whole bus (CUDA C++ Best Practices Guide, "Theoretical
/// Bandwidth Calculation"). Bytes per second.
pub(super) fn bandwidth(clock_khz: Option<u64>, bus_bits: Option<u64>) -> Option<u64> {
    Some(clock_khz? * 1_000 * 2 * (bus_bits? / 8))
}

impl ChipFacts<'_> {
    /// Single precision, FLOP/s.
    pub(super) fn single(&self) -> Option<u64> {
        let per_sm = match self.capability {
            (6, 0) | (7, _) | (8, 0) => 64,
            (5, _) | (6, _) | (8, _) | (9, _) | (10, _) | (12, _) => 128,
            _ => return None,
        };
        Some(self.rate(per_sm))
    }

    /// Half precision and the tensor cores.
    pub(super) fn half_and_tensor_rates(&self) -> Vec<PeakRate> {
        let half = self.half().map(|per_sm| (Precision::F16, per_sm));
        let tensor = self.tensor().iter().copied();
        let all = half.into_iter().chain(tensor);
        all.map(|(precision, per_sm)| {
            let halved = self.is_halved(precision);
            let rate = self.rate(per_sm) / if halved { 2 } else { 1 };
            PeakRate::new(precision, rate)
        })
        .collect()
    }

    /// Two operations per fused multiply-add and clock.
    const fn rate(&self, per_sm: u64) -> u64 {
        per_sm * 2 * self.sms * self.clock_khz * 1_000
    }

    /// Half-precision multiply-adds per clock and SM, outside tensor cores (CUDA C++ Programming
    /// Guide, "Arithmetic Instructions", as for single precision above).
    const fn half(&self) -> Option<u64> {
        match self.capability {
            (5, 3) | (6, 2) | (8, 0) | (9, 0) => Some(256),
            (6, 0) | (7, _) | (8, 6 | 9) => Some(128),
            (6, 1) => Some(2),
            _ => None,
        }
    }

    /// Multiply-adds of the tensor cores per clock and SM, without sparsity: tensor cores of an SM
    /// by their rate (NVIDIA's white papers on the architectures V100, Turing TU102, A100, GA102,
    /// AD102, H100 and RTX Blackwell; for 10.0 the data sheet of HGX B200 over its SMs and clock).
    const fn tensor(&self) -> &'static [(Precision, u64)] {
        use Precision::{Bf16Tensor, F8Tensor, F16Tensor, F64Tensor, I8Tensor, Tf32Tensor};
        match self.capability {
            (7, 0) => &[(F16Tensor, 512)],
            (7, 5) => &[(F16Tensor, 512), (I8Tensor, 1024)],
            (8, 0) => &[
                (F64Tensor, 64),
                (Tf32Tensor, 512),
                (F16Tensor, 1024),
                (Bf16Tensor, 1024),
                (I8Tensor, 2048),
            ],
            (8, 6) => &[
                (Tf32Tensor, 256),
                (F16Tensor, 512),
                (Bf16Tensor, 512),
                (I8Tensor, 1024),
            ],
            (8, 9) | (12, 0) => &[
                (Tf32Tensor, 256),
                (F16Tensor, 512),
                (Bf16Tensor, 512),
                (F8Tensor, 1024),
                (I8Tensor, 1024),
            ],
            (9, 0) => &[
                (F64Tensor, 128),
                (Tf32Tensor, 1024),
                (F16Tensor, 2048),
                (Bf16Tensor, 2048),
                (F8Tensor, 4096),
                (I8Tensor, 4096),
            ],
            (10, 0) => &[
                (F64Tensor, 64),
                (Tf32Tensor, 2048),
                (F16Tensor, 4096),
                (Bf16Tensor, 4096),
                (F8Tensor, 8192),
                (I8Tensor, 8192),
            ],
            _ => &[],
        }
    }

    /// GeForce boards accumulate in single precision at half the rate of other boards with the same
    /// chip (the same white papers). Half and 8-bit precision can accumulate in half precision, at
    /// the full rate.
    fn is_halved(&self, precision: Precision) -> bool {
        let accumulates_in_single =
            matches!(precision, Precision::Tf32Tensor | Precision::Bf16Tensor);
        accumulates_in_single && self.name.contains("GeForce")
    }
}

#[cfg(test)]
mod tests {
    use gpuprof_report::profile::Precision;

    use super::{ChipFacts, bandwidth};

    fn chip(capability: (u64, u64), sms: u64, mhz: u64) -> ChipFacts<'static> {
        ChipFacts {
            capability,
            sms,
            clock_khz: mhz * 1_000,
            name: "",
        }
    }

    /// In units of 10¹² FLOP/s.
    fn peak(chip: &ChipFacts<'_>, precision: Precision) -> Option<f64> {
        let others = chip.half_and_tensor_rates();
        let found = others.iter().find(|peak| peak.precision == precision)?;
        Some(found.flops_per_s as f64 / 1e12)
    }

    #[test]
    fn single_precision_and_bandwidth_are_those_of_data_sheets() {
        // Tesla T4: 8.1 TFLOP/s and 320 GB/s.
        let t4 = chip((7, 5), 40, 1_590);
        assert_eq!(t4.single(), Some(8_140_800_000_000));
        assert_eq!(bandwidth(Some(5_001_000), Some(256)), Some(320_064_000_000));
        // Tesla V100 SXM2: 15.7 TFLOP/s and 900 GB/s.
        let v100 = chip((7, 0), 80, 1_530);
        assert_eq!(v100.single(), Some(15_667_200_000_000));
        assert_eq!(bandwidth(Some(877_000), Some(4096)), Some(898_048_000_000));
        let unknown = chip((99, 0), 1, 1);
        assert_eq!(
            (unknown.single(), unknown.half_and_tensor_rates()),
            (None, Vec::new())
        );
        assert_eq!(bandwidth(None, Some(1)), None);
    }

    /// At the clocks that the data sheets and white papers state.
    #[test]
    fn tensor_cores_and_half_precision_are_those_of_data_sheets() {
        use Precision::*;
        for (chip, precision, tera) in [
            (chip((7, 0), 80, 1_530), F16Tensor, 125.0),
            (chip((8, 0), 108, 1_410), F16, 78.0),
            (chip((8, 0), 108, 1_410), F64Tensor, 19.5),
            (chip((8, 0), 108, 1_410), Tf32Tensor, 156.0),
            (chip((8, 0), 108, 1_410), Bf16Tensor, 312.0),
            (chip((8, 0), 108, 1_410), I8Tensor, 624.0),
            (chip((9, 0), 132, 1_980), F16, 133.8),
            (chip((9, 0), 132, 1_980), F64Tensor, 66.9),
            (chip((9, 0), 132, 1_830), Tf32Tensor, 494.7),
            (chip((9, 0), 132, 1_830), F16Tensor, 989.4),
            (chip((9, 0), 132, 1_830), F8Tensor, 1_978.9),
            // RTX 4090, with half-precision accumulation.
            (chip((8, 9), 128, 2_520), F16Tensor, 330.3),
        ] {
            let found = peak(&chip, precision).unwrap();
            assert!((found / tera - 1.0).abs() < 0.003, "{precision}: {found}");
        }
    }

    #[test]
    fn geforce_boards_accumulate_in_single_precision_at_half_the_rate() {
        let mut chip = chip((8, 9), 128, 2_520);
        chip.name = "NVIDIA GeForce RTX 4090";
        // Its white paper: 82.6 TFLOP/s.
        let tf32 = peak(&chip, Precision::Tf32Tensor).unwrap();
        assert!((tf32 / 82.6 - 1.0).abs() < 0.003, "{tf32}");
        assert!(peak(&chip, Precision::F16Tensor) > Some(330.0));
    }
}
