//! The state of the loaded driver and its lock. Every call of every thread takes the lock, so
//! nobody computes or waits while holding it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use simbase::activity::{Activity, ResourceChange};

use crate::abi::Handle;
use crate::deferred::DeferredQueue;
use crate::durations::Durations;
use crate::handle_table::HandleTable;
use crate::memory::Memory;
use crate::objects::{
    Capture, Context, Event, Function, Gate, Graph, KernelResources, Module, NodeReference,
    OrphanedEvents, Stream, UserObject,
};
use crate::result_codes::{Answer, Code};

pub(crate) struct State {
    pub(crate) is_initialized: bool,
    /// The devices that `cuInit` finds; if there are none it returns NO_DEVICE.
    pub(crate) device_count: u32,
    /// Whether the number of devices was chosen.
    pub(crate) is_configured: bool,
    /// Whether the launch of an unknown kernel fails, instead of being a no-op.
    pub(crate) unknown_kernels_fail: bool,
    pub(crate) contexts: BTreeMap<Handle, Context>,
    pub(crate) streams: HandleTable<Stream>,
    pub(crate) events: HandleTable<Event>,
    pub(crate) orphaned_events: OrphanedEvents,
    pub(crate) modules: HandleTable<Module>,
    pub(crate) functions: HandleTable<Function>,
    pub(crate) graphs: HandleTable<Graph>,
    pub(crate) executables: HandleTable<Graph>,
    pub(crate) graph_nodes: HandleTable<NodeReference>,
    pub(crate) user_objects: HandleTable<UserObject>,
    /// References to user objects that are to be released, and when.
    pub(crate) pending_releases: Vec<(u64, Handle)>,
    pub(crate) captures: BTreeMap<u64, Capture>,
    pub(crate) memory: Memory,
    pub(crate) deferred: DeferredQueue,
    pub(crate) durations: Durations,
    /// By kernel.
    pub(crate) resources: BTreeMap<String, KernelResources>,
    /// For the observer: the activities of calls in progress, with the calling thread.
    pub(crate) activities: Vec<(u64, Activity)>,
    /// For the observer: the contexts, modules and graph nodes that calls in progress made, changed
    /// or destroyed, with the calling thread.
    pub(crate) resource_changes: Vec<(u64, ResourceChange)>,
    /// Whether an event record needs a current context also for a stream of its own handle.
    pub(crate) records_need_context: bool,
    /// The depth of a stream's queue, if it was set.
    pub(crate) stream_depth: Option<u32>,
    /// What a stream waits for the host to write.
    pub(crate) gate: Option<Gate>,
    /// When the last gate opened, in ns of the simulator's clock.
    pub(crate) gate_opened: u64,
    last_id: u64,
    /// The number of the last module.
    pub(crate) last_module: u32,
}

static STATE: Mutex<State> = Mutex::new(State::new());

/// Locks the state. A panic under the lock was reported as UNKNOWN; the state stays in use.
pub(crate) fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks the state; NOT_INITIALIZED before `cuInit` (API reference, Initialization).
pub(crate) fn lock_initialized() -> Answer<MutexGuard<'static, State>> {
    let mut state = lock();
    state.look_at_gate();
    if state.is_initialized {
        Ok(state)
    } else {
        Err(Code::NOT_INITIALIZED)
    }
}

impl State {
    const fn new() -> State {
        State {
            is_initialized: false,
            device_count: 1,
            is_configured: false,
            unknown_kernels_fail: false,
            contexts: BTreeMap::new(),
            streams: HandleTable::new(0x11),
            events: HandleTable::new(0x12),
            orphaned_events: OrphanedEvents::new(),
            modules: HandleTable::new(0x13),
            functions: HandleTable::new(0x14),
            graphs: HandleTable::new(0x15),
            executables: HandleTable::new(0x16),
            graph_nodes: HandleTable::new(0x17),
            user_objects: HandleTable::new(0x18),
            pending_releases: Vec::new(),
            captures: BTreeMap::new(),
            memory: Memory::new(),
            deferred: DeferredQueue::new(),
            durations: Durations::new(),
            resources: BTreeMap::new(),
            activities: Vec::new(),
            resource_changes: Vec::new(),
            records_need_context: false,
            stream_depth: None,
            gate: None,
            gate_opened: 0,
            last_id: 0,
            last_module: 0,
        }
    }

    /// Reads the number of devices from `GPUPROF_SIM_DEVICES` unless it was chosen before: for
    /// programs that do not install the simulator themselves.
    pub(crate) fn read_device_count(&mut self) {
        if self.is_configured {
            return;
        }
        self.is_configured = true;
        let value = std::env::var("GPUPROF_SIM_DEVICES").ok();
        if let Some(devices) = value.and_then(|text| text.parse().ok()) {
            self.device_count = devices;
        }
    }

    /// A unique number for a context, stream or graph.
    pub(crate) fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}
