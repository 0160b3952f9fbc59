//! What CUPTI reports, as plain data: activities of the GPU, and CUDA calls and graph nodes of the
//! program.
//!
//! Times are ns of CUPTI's clock.

use super::kernel_symbol::KernelSymbol;
use super::stack_table::StackId;
use crate::stats::profiled_call::CallPosition;
use gpuprof_report::profile::{CopyKind, MemoryKind};

/// A kernel, copy or memset that ran on the GPU.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ActivityRecord {
    Kernel(KernelRecord),
    Copy(CopyRecord),
}

impl ActivityRecord {
    pub(crate) fn span(&self) -> &ActivitySpan {
        match self {
            Self::Kernel(kernel) => &kernel.span,
            Self::Copy(copy) => &copy.span,
        }
    }
}

/// Where and when an activity ran, and which CUDA call caused it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ActivitySpan {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) device: u32,
    pub(crate) context: u32,
    /// CUPTI's number of the stream, not its handle.
    pub(crate) stream: u32,
    pub(crate) correlation: u32,
    /// 0 outside graphs.
    pub(crate) graph_node: u64,
}

/// One run of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KernelRecord {
    pub(crate) span: ActivitySpan,
    pub(crate) symbol: KernelSymbol,
    pub(crate) shape: LaunchShape,
}

/// How a kernel was launched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LaunchShape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared_bytes: u32,
    pub(crate) static_shared_bytes: u32,
    pub(crate) registers: u32,
    pub(crate) local_bytes_per_thread: u32,
}

/// One copy or memset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopyRecord {
    pub(crate) span: ActivitySpan,
    pub(crate) kind: CopyKind,
    pub(crate) bytes: u64,
    /// Source or destination is pageable host memory.
    pub(crate) is_pageable: bool,
    /// The CUDA call may return before the copy is done.
    pub(crate) is_async: bool,
}

/// One allocation or free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryRecord {
    pub(crate) operation: MemoryOperation,
    pub(crate) space: MemorySpace,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) time: u64,
    pub(crate) correlation: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryOperation {
    Allocate,
    Free,
}

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MemorySpace {
    pub(crate) kind: MemoryKind,
    /// `None` for host memory, which belongs to no device.
    pub(crate) device: Option<u32>,
}

/// A CUDA call, and the profiled call that it was made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ApiEvent {
    pub(crate) api: ApiRecord,
    /// The innermost profiled call on the thread.
    pub(crate) call: CallPosition,
    /// Where it was made, if that was looked at.
    pub(crate) stack: Option<StackId>,
    /// The system's number of the thread; 0 if it is unknown.
    pub(crate) thread: u32,
}

/// A change of a node of a CUDA graph. Nodes have the numbers of [`ActivitySpan::graph_node`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeEvent {
    /// A capture, a clone or an instantiation made it inside the profiled call `by`.
    Created {
        node: u64,
        by: CallPosition,
        /// Of the captured CUDA call, if that was looked at.
        stack: Option<StackId>,
    },
    /// It was just created as a copy.
    Cloned { node: u64, original: u64 },
    /// A node of an executable graph got the parameters of `source`.
    Updated { node: u64, source: u64 },
}

/// A profiled call that has ended and in which graph nodes were created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CapturedCall {
    pub(crate) position: CallPosition,
    /// The id of the enclosing call; 0 for none.
    pub(crate) parent: u64,
    /// Its stream was being captured.
    pub(crate) is_captured: bool,
}

/// One CUDA call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ApiRecord {
    pub(crate) function: ApiFunction,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) correlation: u32,
    /// The call returned an error.
    pub(crate) failed: bool,
    /// The call copies or sets no bytes, which causes no activity.
    pub(crate) moves_nothing: bool,
}

impl ApiRecord {
    /// Whether the time stamps can be true.
    pub(crate) fn is_plausible(&self) -> bool {
        self.start != 0 && self.start <= self.end
    }
}

/// A function of the CUDA driver or runtime, by CUPTI's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ApiFunction {
    pub(crate) is_runtime: bool,
    pub(crate) cbid: u32,
}
