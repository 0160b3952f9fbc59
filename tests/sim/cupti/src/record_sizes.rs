//! The sizes of records in each version of libcupti, from compiling against its headers. The
//! offsets of fields are the same in all versions (`record`). Of a real library the sizes can be
//! observed by walking its buffers.

use crate::kinds;

/// A version of libcupti, as the layout of its records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Version {
    /// CUDA 12.0: `cuptiGetVersion` returns 18.
    Cuda12_0,
    /// CUDA 13.0: `cuptiGetVersion` returns 130001.
    #[default]
    Cuda13_0,
}

impl Version {
    /// The result of `cuptiGetVersion`.
    pub fn number(self) -> u32 {
        match self {
            Version::Cuda12_0 => 18,
            Version::Cuda13_0 => 130_001,
        }
    }

    /// The size of a record of `kind` in bytes; `None` if the kind is not simulated.
    pub(crate) fn size(self, kind: u32) -> Option<usize> {
        let old = self == Version::Cuda12_0;
        let size = match kind {
            kinds::KERNEL | kinds::CONCURRENT_KERNEL => [216, 208],
            kinds::MEMCPY => [96, 88],
            kinds::MEMCPY2 => [96, 96],
            kinds::MEMSET => [88, 88],
            kinds::MEMORY2 => [128, 120],
            kinds::SYNCHRONIZATION => [56, 40],
            kinds::DRIVER | kinds::RUNTIME => [40, 40],
            kinds::EXTERNAL_CORRELATION => [24, 24],
            _ => return None,
        };
        Some(size[usize::from(old)])
    }
}
