//! The events of a time line. Times are ns since [`Trace::base_unix_ns`](super::Trace).

use crate::profile::CopyKind;

/// One call of an annotated function on the CPU, or one poll of an async one.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CpuSpan {
    /// Index of the thread.
    pub thread: u32,
    /// Index of the name.
    pub name: u32,
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// The number that its [`GpuSpan`]s have as well; 0 if it has none.
    pub call: u64,
    /// The arguments of `args(…)`: names and values.
    pub args: Vec<(String, String)>,
}

/// One call of an annotated function on one stream, from event to event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GpuSpan {
    /// Index of the stream.
    pub stream: u32,
    /// Index of the name.
    pub name: u32,
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// The number of the call, as in [`CpuSpan::call`].
    pub call: u64,
}

/// A kernel, copy or memset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Activity {
    /// Index of the stream.
    pub stream: u32,
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// The number of the [`ApiCall`] that launched it; 0 if there is none.
    pub correlation: u32,
    /// Index of the name of the function that launched it; `None` for none.
    pub function: Option<u32>,
    /// Index of the name of the source line that launched it; `None` if that is unknown.
    pub launch_line: Option<u32>,
    /// What it is.
    pub kind: ActivityKind,
}

/// What an [`Activity`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActivityKind {
    /// A kernel.
    #[non_exhaustive]
    Kernel {
        /// Index of the name.
        name: u32,
        /// Blocks in x, y and z.
        grid: [u32; 3],
        /// Threads of a block in x, y and z.
        block: [u32; 3],
        /// Registers per thread.
        registers: u32,
        /// Static and dynamic shared memory of a block, bytes.
        shared_bytes: u32,
    },
    /// A copy or memset.
    #[non_exhaustive]
    Copy {
        /// Its direction.
        kind: CopyKind,
        /// Its size.
        bytes: u64,
    },
}

impl ActivityKind {
    /// A kernel of this name (index), grid and block, with its registers per thread and the shared
    /// memory of a block in bytes.
    #[must_use]
    pub fn kernel(
        name: u32,
        grid: [u32; 3],
        block: [u32; 3],
        registers: u32,
        shared_bytes: u32,
    ) -> Self {
        Self::Kernel {
            name,
            grid,
            block,
            registers,
            shared_bytes,
        }
    }

    /// A copy or memset of so many bytes.
    #[must_use]
    pub fn copy(kind: CopyKind, bytes: u64) -> Self {
        Self::Copy { kind, bytes }
    }
}

impl Default for ActivityKind {
    fn default() -> Self {
        Self::copy(CopyKind::default(), 0)
    }
}

/// A CUDA call of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApiCall {
    /// Index of the thread; `None` if it is unknown.
    pub thread: Option<u32>,
    /// Index of the name, such as `cuLaunchKernel`.
    pub name: u32,
    /// When it began.
    pub start_ns: u64,
    /// When it returned.
    pub end_ns: u64,
    /// CUPTI's number of the call; unique until it wraps.
    pub correlation: u32,
    /// Whether it is of the CUDA runtime and not of the driver.
    pub is_runtime: bool,
    /// Index of the name of the source line that made it; `None` if that is unknown.
    pub launch_line: Option<u32>,
}

/// A value over time.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CounterTrack {
    /// What it counts, with its unit: `DRAM read (GB/s)`.
    pub name: String,
    /// CUDA ordinal of the device; `None` for the process.
    pub device: Option<u32>,
    /// Time in ns, and the value from then on.
    pub samples: Vec<(u64, f64)>,
}

/// A time of which events are missing, because newer ones took their place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// Index of the thread whose events these were; `None` for those of the GPU.
    pub thread: Option<u32>,
    /// Start of the first missing event.
    pub start_ns: u64,
    /// End of the last missing event.
    pub end_ns: u64,
    /// How many are missing.
    pub events: u64,
}
