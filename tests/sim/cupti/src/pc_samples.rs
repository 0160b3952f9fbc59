//! What PC sampling gives its client.

/// What was collected for one instruction.
#[derive(Clone)]
pub(crate) struct PcSamples {
    pub(crate) checksum: u64,
    pub(crate) function: &'static str,
    pub(crate) symbol: u32,
    pub(crate) offset: u64,
    /// Index and samples of each stall reason, ascending.
    pub(crate) reasons: Vec<(u32, u32)>,
}

/// What one read gives.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) pcs: Vec<PcSamples>,
    pub(crate) remaining: usize,
    /// Samples since the last read, of all stall reasons, dropped ones and other kernels' included.
    pub(crate) total: u64,
    pub(crate) dropped: u64,
    pub(crate) other: u64,
    pub(crate) range: u64,
    pub(crate) is_full: bool,
}
