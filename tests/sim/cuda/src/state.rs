//! The one state of the loaded driver and the lock around it. Every call of every thread takes this
//! lock, so nobody computes or waits while holding it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{Answer, Handle};
use crate::capture::Capture;
use crate::codes::Code;
use crate::context::Context;
use crate::durations::Durations;
use crate::event::{Event, Gone};
use crate::executor::Queue;
use crate::graph::{Graph, NodeOf, UserObject};
use crate::handle_table::Table;
use crate::memory::Memory;
use crate::module::{Function, Module};
use crate::observer::Seen;
use crate::stream::Stream;

/// Everything the driver knows.
pub(crate) struct State {
    pub(crate) initialized: bool,
    /// How many devices `cuInit` finds; 0 makes it answer NO_DEVICE.
    pub(crate) devices: u32,
    /// The number of devices was chosen.
    pub(crate) configured: bool,
    /// A kernel without a signature here fails its launch; else it is a no-op.
    pub(crate) unknown_kernels_fail: bool,
    pub(crate) contexts: BTreeMap<Handle, Context>,
    pub(crate) streams: Table<Stream>,
    pub(crate) events: Table<Event>,
    pub(crate) gone: Gone,
    pub(crate) modules: Table<Module>,
    pub(crate) functions: Table<Function>,
    pub(crate) graphs: Table<Graph>,
    pub(crate) executables: Table<Graph>,
    pub(crate) nodes: Table<NodeOf>,
    pub(crate) objects: Table<UserObject>,
    /// References to give back, and when.
    pub(crate) held: Vec<(u64, Handle)>,
    pub(crate) captures: BTreeMap<u64, Capture>,
    pub(crate) memory: Memory,
    pub(crate) queue: Queue,
    pub(crate) durations: Durations,
    /// Registers of a thread and static shared memory of a block, in bytes, of the kernels for
    /// which they were set.
    pub(crate) resources: BTreeMap<String, (u32, u32)>,
    /// What calls under way had the device do so far, while somebody watches.
    pub(crate) seen: Seen,
    /// How many operations a stream takes behind the one that runs, where that was set.
    pub(crate) depth: Option<u32>,
    last_id: u64,
}

static STATE: Mutex<State> = Mutex::new(State::new());

/// The state, locked. A panic under the lock was answered as UNKNOWN; the state stays in use.
pub(crate) fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state, locked; NOT_INITIALIZED before `cuInit` (API reference, Initialization).
pub(crate) fn ready() -> Answer<MutexGuard<'static, State>> {
    let state = lock();
    if state.initialized {
        Ok(state)
    } else {
        Err(Code::NOT_INITIALIZED)
    }
}

impl State {
    const fn new() -> State {
        State {
            initialized: false,
            devices: 1,
            configured: false,
            unknown_kernels_fail: false,
            contexts: BTreeMap::new(),
            streams: Table::new(0x11),
            events: Table::new(0x12),
            gone: Gone::new(),
            modules: Table::new(0x13),
            functions: Table::new(0x14),
            graphs: Table::new(0x15),
            executables: Table::new(0x16),
            nodes: Table::new(0x17),
            objects: Table::new(0x18),
            held: Vec::new(),
            captures: BTreeMap::new(),
            memory: Memory::new(),
            queue: Queue::new(),
            durations: Durations::new(),
            resources: BTreeMap::new(),
            seen: Seen::new(),
            depth: None,
            last_id: 0,
        }
    }

    /// Where nobody chose the number of devices, `GPUPROF_SIM_DEVICES` does: for programs that know
    /// nothing of the simulator.
    pub(crate) fn count_devices(&mut self) {
        if self.configured {
            return;
        }
        self.configured = true;
        let stated = std::env::var("GPUPROF_SIM_DEVICES").ok();
        if let Some(devices) = stated.and_then(|text| text.parse().ok()) {
            self.devices = devices;
        }
    }

    /// A number that nothing had before, for contexts, streams and captures.
    pub(crate) fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}
