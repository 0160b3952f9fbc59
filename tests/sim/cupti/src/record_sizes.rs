//! The sizes of records in each version of libcupti, from compiling against its headers. The
//! offsets of fields are the same in all versions (`record`). Of a real library the sizes can be
//! observed by walking its buffers.

use crate::kinds;

/// A version of libcupti, as the layout of its records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Version {
    /// CUDA 12.0: `cuptiGetVersion` returns 18.
    Cuda12_0,
    /// CUDA 13.0: `cuptiGetVersion` returns 130001.
    #[default]
    Cuda13_0,
    /// CUDA 13.3: `cuptiGetVersion` returns 130301. It has functions for each subscriber.
    Cuda13_3,
}

impl Version {
    /// That of `GPUPROF_SIM_CUPTI_VERSION`; the default for none and for others.
    pub(crate) fn from_environment() -> Version {
        match std::env::var("GPUPROF_SIM_CUPTI_VERSION").as_deref() {
            Ok("12.0") => Version::Cuda12_0,
            Ok("13.3") => Version::Cuda13_3,
            _ => Version::default(),
        }
    }

    /// The result of `cuptiGetVersion`.
    pub fn number(self) -> u32 {
        match self {
            Version::Cuda12_0 => 18,
            Version::Cuda13_0 => 130_001,
            Version::Cuda13_3 => 130_301,
        }
    }

    /// The size of a record of `kind` in bytes; `None` if the kind is not simulated.
    pub(crate) fn size(self, kind: u32) -> Option<usize> {
        let size = match kind {
            kinds::KERNEL | kinds::CONCURRENT_KERNEL => [208, 216, 232],
            kinds::MEMCPY => [88, 96, 96],
            kinds::MEMCPY2 => [96; 3],
            kinds::MEMSET => [88; 3],
            kinds::MEMORY2 => [120, 128, 128],
            kinds::SYNCHRONIZATION => [40, 56, 56],
            kinds::DRIVER | kinds::RUNTIME => [40; 3],
            kinds::EXTERNAL_CORRELATION => [24; 3],
            _ => return None,
        };
        Some(size[self as usize])
    }
}
