//! The state of the loaded library, behind one lock. While it is held, no callback of the client is
//! called, and of the driver only the clock.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use crate::clients::{Client, MAX_CLIENTS};
use crate::control::{InvalidStamps, Order};
use crate::known_kernels::KnownKernels;
use crate::modules::Modules;
use crate::pc_sampling::PcSampling;
use crate::pm_sampling::Sampling;
use crate::profiler_host::Hosts;
use crate::record_sizes::Version;

pub(crate) struct State {
    pub(crate) version: Version,
    /// The result of `cuptiGetVersion`, if it is not the version's own number.
    pub(crate) number: Option<u32>,
    pub(crate) overrides: Overrides,
    /// The first serves the functions of the process.
    pub(crate) clients: [Client; MAX_CLIENTS],
    /// Whether subscribers of the newer functions share the library; decided by the first of them.
    pub(crate) is_shared: Option<bool>,
    /// Whether subscribers get no records of the nodes of graphs.
    pub(crate) hides_graph_nodes: bool,
    /// External ids by thread and kind, innermost last.
    pub(crate) pushed: BTreeMap<(u64, u32), Vec<u64>>,
    /// The correlation id of the last call.
    pub(crate) correlation: u32,
    /// How often the last subscriber has left.
    pub(crate) ended_subscriptions: u64,
    /// The period of automatic flushes, in ns of the driver's clock; 0 for none.
    pub(crate) period: u64,
    pub(crate) last_flush: u64,
    pub(crate) hosts: Hosts,
    pub(crate) sampling: Sampling,
    pub(crate) pc_sampling: PcSampling,
    pub(crate) known_kernels: KnownKernels,
    pub(crate) modules: Modules,
}

/// Deviations from the normal behaviour that a test has asked for.
pub(crate) struct Overrides {
    pub(crate) order: Order,
    /// Limit of records per buffer; 0 for as many as fit.
    pub(crate) split: usize,
    /// Launches, and calls that start and stop a profiler, are reported as those of the runtime.
    pub(crate) runtime_launches: bool,
    /// Launches are reported as `cuLaunchKernel_ptsz`.
    pub(crate) per_thread_launches: bool,
    /// Each copy is reported as two records.
    pub(crate) split_copies: bool,
    /// How long calls take that wait for the GPU, µs of the host.
    pub(crate) wait_us: u64,
    /// Records to drop: their kind (0 for any), and how many of that kind to pass before.
    pub(crate) drops: Vec<(u32, u64)>,
    /// Kernels with invalid time stamps: how many to pass before, and which stamps.
    pub(crate) stamps: Vec<(u64, InvalidStamps)>,
}

static STATE: Mutex<State> = Mutex::new(State::new());

/// Locks the state. A panic under the lock has returned UNKNOWN to the client; the state remains in
/// use.
pub(crate) fn lock() -> MutexGuard<'static, State> {
    static START: Once = Once::new();
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    START.call_once(|| state.version = Version::from_environment());
    state
}

/// A number of the calling thread, from 1.
pub(crate) fn thread() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        // Has no destructor, so that calls from exit handlers still find it.
        static THREAD: Cell<u64> = const { Cell::new(0) };
    }
    if THREAD.get() == 0 {
        THREAD.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
    }
    THREAD.get()
}

impl State {
    /// The state after loading.
    pub(crate) const fn new() -> State {
        State {
            version: Version::Cuda13_0,
            number: None,
            overrides: Overrides {
                order: Order::Measured,
                split: 0,
                runtime_launches: false,
                per_thread_launches: false,
                split_copies: false,
                wait_us: 0,
                drops: Vec::new(),
                stamps: Vec::new(),
            },
            clients: [const { Client::new() }; MAX_CLIENTS],
            is_shared: None,
            hides_graph_nodes: false,
            pushed: BTreeMap::new(),
            correlation: 0,
            ended_subscriptions: 0,
            period: 0,
            last_flush: 0,
            hosts: Hosts::new(),
            sampling: Sampling::new(),
            pc_sampling: PcSampling::new(),
            known_kernels: KnownKernels::new(),
            modules: Modules::new(),
        }
    }
}
