//! What CUPTI tells, as far as gpuprof reads it: what ran on the GPU, by its records, whose fields stand at the same offsets in every
//! version from CUDA 12.0 on; and CUDA calls.
//!
//! Must import nothing that calls CUPTI.

use std::sync::Arc;

/// What was told. Times are ns of CUPTI's clock.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Record {
    Kernel(Kernel),
    Copy(Copy),
    /// A CUDA call, and the call of a profiled function that it was made in, 0 for none.
    Api {
        api: Api,
        call: u64,
    },
}

/// Where and when something ran on the GPU, and which CUDA call made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) device: u32,
    pub(crate) context: u32,
    /// CUPTI's number of the stream, no handle.
    pub(crate) stream: u32,
    pub(crate) correlation: u32,
    /// 0 outside graphs.
    pub(crate) graph_node: u64,
}

/// One run of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kernel {
    pub(crate) ran: Ran,
    /// As the module has it.
    pub(crate) symbol: Arc<str>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) registers: u32,
    pub(crate) static_shared_bytes: u32,
    pub(crate) dynamic_shared_bytes: u32,
}

/// One copy or memset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    pub(crate) ran: Ran,
    pub(crate) kind: CopyKind,
    pub(crate) bytes: u64,
    /// One side of it is pageable host memory.
    pub(crate) pageable: bool,
    /// Made by a call that need not wait for it.
    pub(crate) is_async: bool,
}

/// Direction of a copy: `CUpti_ActivityMemcpyKind`, and memset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum CopyKind {
    HtoD,
    DtoH,
    HtoA,
    AtoH,
    AtoA,
    AtoD,
    DtoA,
    DtoD,
    HtoH,
    PtoP,
    Memset,
    Unknown,
}

/// One CUDA call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Api {
    pub(crate) function: Function,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) correlation: u32,
    /// It did not answer success.
    pub(crate) failed: bool,
}

/// A function of the driver or the runtime, by CUPTI's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Function {
    pub(crate) runtime: bool,
    pub(crate) cbid: u32,
}
