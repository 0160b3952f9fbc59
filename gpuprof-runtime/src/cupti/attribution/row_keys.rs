//! What identifies the rows of kernels and copies.

use super::activity_path::ActivityPath;
use gpuprof_report::profile::CopyKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KernelKey {
    pub(crate) path: ActivityPath,
    /// `None` beyond [`MAX_KERNEL_ROWS`](super::limits::MAX_KERNEL_ROWS).
    pub(crate) symbol: Option<u32>,
    pub(crate) device: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CopyKey {
    pub(crate) path: ActivityPath,
    pub(crate) kind: CopyKind,
    pub(crate) device: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RowKey {
    Kernel(KernelKey),
    Copy(CopyKey),
}

/// Kernels whose rows differ only in the path: the symbol and the device of [`KernelKey`].
pub(crate) type KernelRowKey = (Option<u32>, u32);

/// Copies whose rows differ only in the path.
pub(crate) type CopyRowKey = (CopyKind, u32);
