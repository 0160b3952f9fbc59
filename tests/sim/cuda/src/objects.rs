//! The objects of the driver as plain data. What calls do with them is in the `impl State` blocks
//! of the rooms that are named after them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use simbase::activity;

use crate::abi::{Destructor, Handle, HostPointer};
use crate::kernels::{Kernel, Launch};
use crate::result_codes::Code;

/// A context that exists.
pub(crate) struct Context {
    pub(crate) device: u32,
    pub(crate) id: u64,
    /// How often the primary context was retained; 1 for others.
    pub(crate) users: u64,
    /// The first asynchronous error, which every later call in the context returns.
    pub(crate) sticky: Option<Code>,
    pub(crate) legacy: Handle,
    /// The stream behind handle 0x2, by thread.
    pub(crate) per_thread: BTreeMap<u64, Handle>,
    /// When the work of destroyed streams ends, in ns of the simulator's clock.
    pub(crate) destroyed_streams_end: u64,
    /// The values of `CU_LIMIT_*`, by their number.
    pub(crate) limits: [usize; 5],
    /// `CU_FUNC_CACHE_*`: a preference without effect.
    pub(crate) cache: i32,
}

/// A stream.
pub(crate) struct Stream {
    pub(crate) context: Handle,
    pub(crate) id: u64,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    /// When all work queued so far ends, in ns of the simulator's clock.
    pub(crate) tail: u64,
    /// When each unfinished operation ends; the first one is running.
    pub(crate) unfinished: VecDeque<u64>,
    /// The capture that the stream is part of.
    pub(crate) capture: Option<u64>,
}

/// `CU_STREAM_NON_BLOCKING`, the only flag of a stream.
pub(crate) const NON_BLOCKING: u32 = 1;

impl Stream {
    /// An idle stream.
    pub(crate) fn new(context: Handle, id: u64, flags: u32, priority: i32) -> Stream {
        Stream {
            context,
            id,
            flags,
            priority,
            tail: 0,
            unfinished: VecDeque::new(),
            capture: None,
        }
    }

    /// Whether it is ordered with the legacy stream.
    pub(crate) fn is_blocking(&self) -> bool {
        self.flags & NON_BLOCKING == 0
    }
}

/// What one stream waits for the host to write.
pub(crate) struct Gate {
    pub(crate) address: u64,
    pub(crate) value: u32,
    /// This value alone; otherwise greater ones too.
    pub(crate) is_equal: bool,
    /// The end of the work before it, in ns of the simulator's clock.
    pub(crate) not_before: u64,
}

/// An event.
pub(crate) struct Event {
    pub(crate) context: Handle,
    pub(crate) flags: u32,
    pub(crate) last_record: LastRecord,
}

/// The last record of an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastRecord {
    Never,
    /// Complete from this time on, in ns of the simulator's clock.
    At(u64),
    /// On a capturing stream: the capture and the stream.
    Captured(u64, Handle),
}

/// Events whose context was destroyed before they were.
pub(crate) struct OrphanedEvents {
    events: BTreeMap<Handle, OrphanedEvent>,
}

/// An event of a destroyed context.
#[derive(Clone, Copy)]
pub(crate) struct OrphanedEvent {
    /// The id of its context.
    pub(crate) context_id: u64,
    /// Whether a context was created since, so that its memory may belong to another's objects.
    pub(crate) reused: bool,
}

impl OrphanedEvents {
    pub(crate) const fn new() -> OrphanedEvents {
        OrphanedEvents {
            events: BTreeMap::new(),
        }
    }

    /// Adds the events of the destroyed context `context_id`.
    pub(crate) fn extend(&mut self, context_id: u64, events: Vec<Handle>) {
        let orphan = OrphanedEvent {
            context_id,
            reused: false,
        };
        self.events
            .extend(events.into_iter().map(|event| (event, orphan)));
    }

    /// Removes a handle that a new event has.
    pub(crate) fn remove(&mut self, handle: Handle) {
        self.events.remove(&handle);
    }

    pub(crate) fn mark_all_reused(&mut self) {
        self.events
            .values_mut()
            .for_each(|event| event.reused = true);
    }

    pub(crate) fn get(&self, event: Handle) -> Option<OrphanedEvent> {
        self.events.get(&event).copied()
    }
}

/// The `.entry` names that a PTX text declares. A binary image may contain any name.
pub(crate) enum EntryNames {
    Declared(Vec<String>),
    Any,
}

/// A loaded module.
pub(crate) struct Module {
    pub(crate) context: Handle,
    /// What the observer is told of it.
    pub(crate) reported: &'static activity::Module,
    pub(crate) names: EntryNames,
    pub(crate) functions: BTreeMap<String, Handle>,
}

/// A kernel function of a module.
pub(crate) struct Function {
    pub(crate) context: Handle,
    pub(crate) module: Handle,
    pub(crate) name: String,
    /// What computes it, if the simulator knows it.
    pub(crate) kernel: Option<&'static Kernel>,
    /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
    pub(crate) dynamic_shared: u32,
}

/// What the threads and blocks of a kernel use.
#[derive(Clone, Copy)]
pub(crate) struct KernelResources {
    /// Of a thread.
    pub(crate) registers: u32,
    /// Static shared memory of a block, in bytes.
    pub(crate) static_shared: u32,
    /// Local memory of a thread, in bytes.
    pub(crate) local: u32,
}

/// A stream capture in progress.
pub(crate) struct Capture {
    pub(crate) context: Handle,
    pub(crate) origin: Handle,
    pub(crate) mode: i32,
    pub(crate) thread: u64,
    pub(crate) is_invalidated: bool,
    /// The graph that is being built.
    pub(crate) graph: Handle,
    /// Streams that joined the capture and that the origin has not waited for since.
    pub(crate) unjoined: BTreeSet<Handle>,
}

/// One operation on a stream, or one node of a graph. A graph reads and writes host memory at each
/// launch.
#[derive(Clone, PartialEq)]
pub(crate) enum Operation {
    Launch(Launch),
    Upload {
        target: u64,
        source: HostPointer,
        len: usize,
    },
    Download {
        target: HostPointer,
        source: u64,
        len: usize,
    },
    Copy {
        target: u64,
        source: u64,
        len: usize,
    },
    Memset {
        target: u64,
        value: u8,
        len: usize,
    },
    /// An event record; in a capture, an external one.
    EventRecord(Handle),
    /// A copy of another graph.
    ChildGraph {
        /// The number of the node's own copy of that graph.
        graph: u64,
        nodes: Vec<Operation>,
    },
}

/// A captured graph, or an executable one.
pub(crate) struct Graph {
    pub(crate) context: Handle,
    pub(crate) nodes: Vec<Operation>,
    /// A unique number.
    pub(crate) id: u64,
    /// For an executable graph, the number of the graph that it was instantiated from.
    pub(crate) source: Option<u64>,
    /// The handles of the first nodes, as many as were asked for.
    pub(crate) node_handles: Vec<Handle>,
    /// User objects that it retains, once for each reference.
    pub(crate) user_objects: Vec<Handle>,
    /// When its last launch ends, in ns of the simulator's clock.
    pub(crate) last_launch_end: u64,
}

impl Graph {
    /// A graph without nodes.
    pub(crate) fn new(context: Handle, id: u64) -> Graph {
        Graph {
            context,
            nodes: Vec::new(),
            id,
            source: None,
            node_handles: Vec::new(),
            user_objects: Vec::new(),
            last_launch_end: 0,
        }
    }
}

/// What the handle of a graph node refers to.
pub(crate) struct NodeReference {
    /// The graph's number.
    pub(crate) graph_id: u64,
    pub(crate) index: usize,
    /// The graph that the handle was requested from.
    pub(crate) graph: Handle,
}

/// An object of the caller whose destructor runs when its last reference is released.
pub(crate) struct UserObject {
    pub(crate) references: usize,
    pub(crate) destructor: Destructor,
}
