//! What the simulated driver tells whoever watches it: every API call once it is over, with what
//! the call had the device do. These types cross from one loaded library to another, so all of them
//! are C types. Must never say how CUPTI writes it down.

use std::marker::PhantomData;

/// The name of the driver's function that sets the watcher: `extern "C" fn(Option<Watcher>)`, none
/// for nobody.
pub const WATCH: &[u8] = b"simcuda_watch";
/// The name of the driver's clock: `extern "C" fn() -> u64`, in ns.
pub const NOW: &[u8] = b"simcuda_now";

/// Who is told. It runs on the calling thread, after the call's work and before its return, and may
/// be called by several threads at once. It must not call the driver, the clock excepted.
pub type Watcher = extern "C" fn(&Call<'_>);

/// One API call that is over.
#[derive(Debug)]
#[repr(C)]
pub struct Call<'a> {
    /// The function's [number](crate::cbid).
    pub cbid: u32,
    /// The `CUresult` that it answers.
    pub result: i32,
    /// When it was called, in ns of the driver's clock.
    pub start: u64,
    /// When it returned, in ns of the driver's clock.
    pub end: u64,
    /// Whether what it had the device do is ordered by a stream, and the caller goes on.
    pub asynchronous: bool,
    activities: *const Activity,
    count: usize,
    lifetime: PhantomData<&'a [Activity]>,
}

impl<'a> Call<'a> {
    /// A call from `start` to `end` that had the device do `activities`, in their order.
    pub fn new(
        cbid: u32,
        result: i32,
        (start, end): (u64, u64),
        asynchronous: bool,
        activities: &'a [Activity],
    ) -> Self {
        Call {
            cbid,
            result,
            start,
            end,
            asynchronous,
            activities: activities.as_ptr(),
            count: activities.len(),
            lifetime: PhantomData,
        }
    }

    /// What it had the device do, in order.
    pub fn activities(&self) -> &'a [Activity] {
        // SAFETY: `new` took these from a slice that lives as long as 'a.
        unsafe { std::slice::from_raw_parts(self.activities, self.count) }
    }
}

/// Something that the device does, or that a call waits for.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Activity {
    /// When it starts, in ns of the driver's clock; modelled, so it may be in the future.
    pub start: u64,
    /// When it ends, in ns of the driver's clock; modelled, so it may be in the future.
    pub end: u64,
    /// The device's ordinal.
    pub device: u32,
    /// The context's number.
    pub context: u32,
    /// The stream's number, [`NONE`] where there is none.
    pub stream: u32,
    /// The node of a graph that it is: the graph's number in the upper half and the node's in the
    /// lower, from 0; 0 outside graphs.
    pub node: u64,
    /// What it is.
    pub what: What,
}

/// What CUPTI writes for a stream or event that there is none of.
pub const NONE: u32 = u32::MAX;
/// CUPTI's number for a context's null stream.
pub const NULL_STREAM: u32 = 7;

/// The kinds of activity.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum What {
    /// A kernel.
    Kernel {
        /// Its symbol's name.
        name: Name,
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
    },
    /// A copy.
    Copy {
        /// How many bytes.
        bytes: u64,
        /// The memory it reads.
        from: Place,
        /// The memory it writes.
        to: Place,
    },
    /// A memset.
    Set {
        /// How many bytes.
        bytes: u64,
        /// What each becomes.
        value: u32,
        /// The memory it writes.
        to: Place,
    },
    /// Memory given or taken back; start and end are the time of the call.
    Memory {
        /// Whether it was given.
        given: bool,
        /// Its address.
        address: u64,
        /// How many bytes.
        bytes: u64,
        /// What memory.
        place: Place,
    },
    /// A call that waited.
    Wait {
        /// For what.
        on: On,
        /// The event's number, [`NONE`] where it is no event.
        event: u32,
    },
}

/// Memory, and the device it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Place {
    /// What memory.
    pub memory: Memory,
    /// The device's ordinal; that of the call's context for host memory.
    pub device: u32,
}

/// `CUpti_ActivityMemoryKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Memory {
    /// Host memory of the program's own.
    Pageable = 1,
    /// Page-locked host memory.
    Pinned = 2,
    /// The device's.
    Device = 3,
    /// Managed.
    Managed = 5,
}

/// `CUpti_ActivitySynchronizationType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum On {
    /// `cuEventSynchronize`.
    Event = 1,
    /// `cuStreamWaitEvent`: the stream waits, not the caller.
    StreamWaitEvent = 2,
    /// `cuStreamSynchronize`.
    Stream = 3,
    /// `cuCtxSynchronize`.
    Context = 4,
}

/// A text that is never taken away.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Name {
    start: *const u8,
    len: usize,
}

// SAFETY: a `&'static str` is Send, and this is nothing else.
unsafe impl Send for Name {}

impl Name {
    /// The C form of `text`.
    pub fn new(text: &'static str) -> Name {
        Name {
            start: text.as_ptr(),
            len: text.len(),
        }
    }

    /// The text.
    pub fn text(self) -> &'static str {
        // SAFETY: `new` took these from a text that is never taken away.
        let bytes = unsafe { std::slice::from_raw_parts(self.start, self.len) };
        // SAFETY: as above, it was a text.
        unsafe { std::str::from_utf8_unchecked(bytes) }
    }
}
