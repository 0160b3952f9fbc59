//! The one state of the loaded library and the lock around it. No callback of the client and no function of the driver but its
//! clock is called while holding it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{Callback, Complete, Request, User};
use crate::buffers::Buffers;
use crate::control::{Order, Stamps};
use crate::kinds::Enabled;
use crate::layout::Version;

/// Everything the library knows.
pub(crate) struct State {
    pub(crate) version: Version,
    /// What `cuptiGetVersion` answers, where that is not the version's own number.
    pub(crate) number: Option<u32>,
    pub(crate) wishes: Wishes,
    pub(crate) subscribed: bool,
    pub(crate) callback: Option<(Callback, User)>,
    pub(crate) callbacks: Option<(Request, Complete)>,
    /// The client gives zeroed buffers.
    pub(crate) zeroed: bool,
    pub(crate) enabled: Enabled,
    /// External ids by thread and kind, innermost last.
    pub(crate) pushed: BTreeMap<(u64, u32), Vec<u64>>,
    pub(crate) buffers: Buffers,
    /// Records that were dropped since the client last asked.
    pub(crate) dropped: u64,
    /// The correlation id of the last call.
    pub(crate) correlation: u32,
    /// Between two flushes of the library's own, in ns of the driver's clock; 0 for none.
    pub(crate) period: u64,
    pub(crate) last_flush: u64,
}

/// What a test wants to go otherwise than it does by itself.
pub(crate) struct Wishes {
    pub(crate) order: Order,
    /// At most so many records in a buffer, 0 for what fits.
    pub(crate) split: usize,
    /// Launches appear as calls of the runtime.
    pub(crate) runtime_launches: bool,
    /// Records to drop: their kind, 0 for any, and how many of it come before.
    pub(crate) drops: Vec<(u32, u64)>,
    /// Kernels with wrong stamps: how many come before, and what is wrong.
    pub(crate) stamps: Vec<(u64, Stamps)>,
}

static STATE: Mutex<State> = Mutex::new(State::new());

/// The state, locked. A panic under the lock was answered as UNKNOWN; the state stays in use.
pub(crate) fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number of the calling thread, from 1.
pub(crate) fn thread() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        // Without a destructor: calls from exit handlers still find it.
        static THREAD: Cell<u64> = const { Cell::new(0) };
    }
    if THREAD.get() == 0 {
        THREAD.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
    }
    THREAD.get()
}

impl State {
    /// As the library is when it is loaded.
    pub(crate) const fn new() -> State {
        State {
            version: Version::Cuda13_0,
            number: None,
            wishes: Wishes {
                order: Order::Measured,
                split: 0,
                runtime_launches: false,
                drops: Vec::new(),
                stamps: Vec::new(),
            },
            subscribed: false,
            callback: None,
            callbacks: None,
            zeroed: false,
            enabled: Enabled::new(),
            pushed: BTreeMap::new(),
            buffers: Buffers::new(),
            dropped: 0,
            correlation: 0,
            period: 0,
            last_flush: 0,
        }
    }
}
