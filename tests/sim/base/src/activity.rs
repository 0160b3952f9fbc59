//! What the simulated driver reports to its observer: every API call when it begins, and when it
//! ends with the activities that it caused on the device and the contexts, modules and graph nodes
//! that it made, changed or destroyed. All types are C types, because they cross from one loaded
//! library to another.

use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;

/// The name of the driver's function that sets the observer: `extern "C" fn(Option<Observer>)`.
pub const SET_OBSERVER: &[u8] = b"simcuda_set_observer";
/// The name of the driver's clock: `extern "C" fn() -> u64`, in ns.
pub const CLOCK: &[u8] = b"simcuda_now";
/// The C name of the function that advances the virtual clock, `extern "C" fn(u64)`.
pub const ADVANCE: &[u8] = b"simcuda_advance";
/// The name of the driver's function that finds the context of a handle: `extern "C" fn(u64) ->
/// FoundContext`.
pub const FIND_CONTEXT: &[u8] = b"simcuda_find_context";

/// Receives each call twice. It runs on the calling thread, before the call's work and after it,
/// and may run on several threads at once. It must not call the driver, except for the clock and to
/// find contexts.
pub type Observer = extern "C" fn(&Call<'_>);

/// An API call that begins or has ended.
#[derive(Debug)]
#[repr(C)]
pub struct Call<'a> {
    /// Whether the call has ended. When it begins, its result and end are unknown.
    pub has_ended: bool,
    /// The function's [callback id](crate::cbid).
    pub cbid: u32,
    /// The `CUresult` that it returns.
    pub result: i32,
    /// Its start, in ns of the driver's clock.
    pub start: u64,
    /// Its end, in ns of the driver's clock.
    pub end: u64,
    /// True if the call returns before its activities end; they run in stream order.
    pub is_asynchronous: bool,
    /// The current context of the calling thread when it begins; 0 for none, and when it ends.
    pub context: u64,
    /// The name of the kernel that it launches, which lives as long as the process; null if it
    /// launches none, and when it ends.
    pub kernel: *const c_char,
    /// The struct of a copy's or memset's arguments; null for other calls.
    pub parameters: *const c_void,
    activities: *const Activity,
    count: usize,
    resource_changes: *const ResourceChange,
    resource_change_count: usize,
    lifetime: PhantomData<(&'a [Activity], &'a [ResourceChange])>,
}

impl<'a> Call<'a> {
    /// A call that begins at `start` in `context`, and launches `kernel`.
    pub fn beginning(cbid: u32, start: u64, context: u64, kernel: Option<&'static CStr>) -> Self {
        Call {
            has_ended: false,
            context,
            kernel: kernel.map_or(std::ptr::null(), CStr::as_ptr),
            ..Call::new(cbid, 0, (start, start), false, &[], &[])
        }
    }

    /// A call from `start` to `end` that caused `activities` and `resource_changes`, each in its
    /// order.
    pub fn new(
        cbid: u32,
        result: i32,
        (start, end): (u64, u64),
        is_asynchronous: bool,
        activities: &'a [Activity],
        resource_changes: &'a [ResourceChange],
    ) -> Self {
        Call {
            has_ended: true,
            cbid,
            result,
            start,
            end,
            is_asynchronous,
            context: 0,
            kernel: std::ptr::null(),
            parameters: std::ptr::null(),
            activities: activities.as_ptr(),
            count: activities.len(),
            resource_changes: resource_changes.as_ptr(),
            resource_change_count: resource_changes.len(),
            lifetime: PhantomData,
        }
    }

    /// The same call with its arguments, each in 8 bytes; empty for none.
    pub fn with_parameters(self, parameters: &'a [u64]) -> Self {
        Call {
            parameters: match parameters {
                [] => std::ptr::null(),
                _ => parameters.as_ptr().cast(),
            },
            ..self
        }
    }

    /// The device activities that this call caused, in the order given to `new`.
    pub fn activities(&self) -> &'a [Activity] {
        // SAFETY: `new` took these from a slice that lives as long as 'a.
        unsafe { std::slice::from_raw_parts(self.activities, self.count) }
    }

    /// The contexts, modules and graph nodes that this call made, changed or destroyed, in the
    /// order given to `new`.
    pub fn resource_changes(&self) -> &'a [ResourceChange] {
        // SAFETY: `new` took these from a slice that lives as long as 'a.
        unsafe { std::slice::from_raw_parts(self.resource_changes, self.resource_change_count) }
    }
}

/// What CUPTI reports of contexts, modules and graph nodes. Nodes are numbered as in
/// [`Activity::node`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum ResourceChange {
    /// The context that the call returns, or makes the primary one, is new.
    ContextCreated {
        /// Its handle.
        context: u64,
    },
    /// The context was destroyed, after its modules were unloaded.
    ContextDestroyed {
        /// Its handle.
        context: u64,
        /// Its number, as in [`Activity::context`].
        number: u32,
    },
    /// The module was loaded.
    ModuleLoaded {
        /// The module.
        module: &'static Module,
    },
    /// The module was unloaded.
    ModuleUnloaded {
        /// The module.
        module: &'static Module,
    },
    /// A capture, a clone or an instantiation has made the node.
    Created {
        /// The new node.
        node: u64,
    },
    /// The node, which was just created, is a copy.
    Cloned {
        /// The new node.
        node: u64,
        /// The node that it is a copy of.
        original: u64,
    },
    /// An executable graph is about to get the parameters of a node of another graph.
    Updated {
        /// The node of the other graph.
        source: u64,
    },
    /// A node of an executable graph has got these parameters.
    ParametersSet {
        /// The node of the executable graph.
        node: u64,
    },
}

/// A context that a handle refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct FoundContext {
    /// Its number, as in [`Activity::context`]; 0 if the handle refers to no context.
    pub number: u32,
    /// The device's ordinal.
    pub device: u32,
}

/// A module that was loaded, which the driver never frees.
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Module {
    /// Its number, from 1, which no other module gets.
    pub id: u32,
    /// The handle of its context.
    pub context: u64,
    kernels: *const KernelName,
    count: usize,
}

// SAFETY: its pointer stands for a `&'static [KernelName]`, which is Send.
unsafe impl Send for Module {}
// SAFETY: as above, and nothing changes it.
unsafe impl Sync for Module {}

impl Module {
    /// A module with these kernels.
    pub fn new(id: u32, context: u64, kernels: &'static [KernelName]) -> Module {
        Module {
            id,
            context,
            kernels: kernels.as_ptr(),
            count: kernels.len(),
        }
    }

    /// Its kernels, in the order given to `new`.
    pub fn kernels(&self) -> &'static [KernelName] {
        // SAFETY: `new` took these from a static slice.
        unsafe { std::slice::from_raw_parts(self.kernels, self.count) }
    }
}

/// Work on the device, or the wait of a call.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Activity {
    /// Its modelled start, in ns of the driver's clock; possibly in the future.
    pub start: u64,
    /// Its modelled end, in ns of the driver's clock; possibly in the future.
    pub end: u64,
    /// The device's ordinal.
    pub device: u32,
    /// The context's number.
    pub context: u32,
    /// The stream's number, or [`NONE`].
    pub stream: u32,
    /// The graph node: the graph's number in the upper half and the node's, from 0, in the lower
    /// half; 0 outside graphs.
    pub node: u64,
    /// The kind of activity with its values.
    pub kind: ActivityKind,
}

/// CUPTI's number for the absence of a stream or event.
pub const NONE: u32 = u32::MAX;
/// CUPTI's number for a context's null stream.
pub const NULL_STREAM: u32 = 7;

/// The kinds of activity.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum ActivityKind {
    /// A kernel.
    Kernel {
        /// Its symbol.
        name: KernelName,
        /// The module that it is from.
        module: &'static Module,
        /// Blocks along x, y and z.
        grid: [u32; 3],
        /// Threads of a block along x, y and z.
        block: [u32; 3],
        /// Registers of a thread.
        registers: u32,
        /// Static shared memory of a block, in bytes.
        static_shared: u32,
        /// Dynamic shared memory of a block, in bytes.
        dynamic_shared: u32,
        /// Local memory of a thread, in bytes.
        local: u32,
        /// Device memory that the launch moves, in bytes.
        dram_bytes: u64,
        /// How long its arithmetic takes at the device's peak rates, in ns.
        arithmetic_ns: u64,
    },
    /// A copy.
    Copy {
        /// Its size in bytes.
        bytes: u64,
        /// The memory that it reads.
        from: MemoryLocation,
        /// The memory that it writes.
        to: MemoryLocation,
    },
    /// A memset.
    Memset {
        /// Its size in bytes.
        bytes: u64,
        /// The value that is written.
        value: u32,
        /// The memory that it writes.
        to: MemoryLocation,
    },
    /// An allocation or release of memory; start and end are the time of the call.
    Memory {
        /// Whether memory was allocated.
        is_allocation: bool,
        /// Its address.
        address: u64,
        /// Its size in bytes.
        bytes: u64,
        /// Its kind and device.
        location: MemoryLocation,
    },
    /// The wait of a call or stream.
    Wait {
        /// What waits for what.
        kind: WaitKind,
        /// The event's number, or [`NONE`].
        event: u32,
    },
}

/// A kind of memory, and the device that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MemoryLocation {
    /// The kind of memory.
    pub kind: MemoryKind,
    /// The device's ordinal; for host memory, that of the call's context.
    pub device: u32,
}

/// `CUpti_ActivityMemoryKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MemoryKind {
    /// Host memory that the driver did not allocate.
    Pageable = 1,
    /// Page-locked host memory.
    Pinned = 2,
    /// Device memory.
    Device = 3,
    /// Managed memory.
    Managed = 5,
}

/// `CUpti_ActivitySynchronizationType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum WaitKind {
    /// `cuEventSynchronize`.
    Event = 1,
    /// `cuStreamWaitEvent`: the stream waits, not the caller.
    StreamWaitEvent = 2,
    /// `cuStreamSynchronize`.
    Stream = 3,
    /// `cuCtxSynchronize`.
    Context = 4,
}

/// A static text as a C type.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KernelName {
    start: *const u8,
    len: usize,
}

// SAFETY: it stands for a `&'static str`, which is Send.
unsafe impl Send for KernelName {}
// SAFETY: as above, and nothing changes it.
unsafe impl Sync for KernelName {}

impl KernelName {
    /// The C form of `text`.
    pub fn new(text: &'static str) -> KernelName {
        KernelName {
            start: text.as_ptr(),
            len: text.len(),
        }
    }

    /// The text.
    pub fn text(self) -> &'static str {
        // SAFETY: `new` took these from a static text.
        let bytes = unsafe { std::slice::from_raw_parts(self.start, self.len) };
        // SAFETY: the bytes are those of a text.
        unsafe { std::str::from_utf8_unchecked(bytes) }
    }
}
