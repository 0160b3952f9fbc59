//! The collection of CUPTI's records in this process: starts when a window asks for it, drains the
//! records, gives counts and notes, and can be suspended.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

use super::bindings::{CONTEXT_DESTROYED, DOMAIN_RESOURCE, MODULE_LOADED, MODULE_UNLOADED};
use super::buffers;
use super::callback_clock::CallbackClock;
use super::callbacks::Hooks;
use super::connection::{Connecting, connect, disable_activities, leave_between_calls};
use super::kernel_symbol::STACK_BYTES;
use super::library::{CallError, CuptiLibrary};
use super::lifecycle::{self, Subscription};
use super::opt_in_records::{MemoryRecords, OptInRecords};
use super::pc_sampling::PcSampling;
use super::pm_sampling::PmSampling;
use super::reader::{Reader, RecordSink};
use super::reader_progress::ReaderProgress;
use super::record::ApiFunction;
use super::unavailable_reason::CuptiUnavailable;
use super::used_contexts;
use crate::os;
use gpuprof_report::profile::CuptiCompleteness;

/// The note about a profiler that came first.
const HIDDEN_GRAPH_NODES: &str = "another profiler has CUPTI record replays of CUDA graphs as a \
    whole: their kernels and copies are missing";

/// What was collected since the process began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CollectionCounts {
    /// `cuptiGetVersion`.
    pub(crate) version: u32,
    /// Name or path of libcupti.
    pub(crate) library: String,
    pub(crate) records: u64,
    /// Records that CUPTI had no buffer for, and CUDA calls that did not fit in the queue.
    pub(crate) dropped: u64,
    /// Records with impossible time stamps.
    pub(crate) invalid: u64,
}

impl CollectionCounts {
    /// What was collected after `earlier`.
    pub(crate) fn since(self, earlier: &Self) -> CuptiCompleteness {
        let mut cupti = CuptiCompleteness::default();
        cupti.version = self.version;
        cupti.library = self.library;
        cupti.records = self.records.saturating_sub(earlier.records);
        cupti.dropped_records = self.dropped.saturating_sub(earlier.dropped);
        cupti.invalid_records = self.invalid.saturating_sub(earlier.invalid);
        cupti
    }
}

/// Starts CUPTI, also after [`suspend`]. If that fails, [`notes`] says why, and it is tried again
/// only if `retries` is true. Returns whether this call has started it for the first time.
pub(crate) fn start(
    sink: Box<dyn RecordSink>,
    samplings: (Arc<PmSampling>, Arc<PcSampling>),
    hooks: &'static Hooks,
    how: Connecting,
    retries: bool,
) -> bool {
    let resume = |known: &Subscription| {
        let mut opt_in = known.opt_in_records.lock();
        if known.library.own.is_subscribed() {
            opt_in.forget_memory();
        } else {
            *opt_in = OptInRecords::default();
        }
        connect(known.library, hooks, how)
    };
    let subscribe = || subscribe(sink, samplings, hooks, how);
    lifecycle::start(subscribe, resume, retries)
}

/// Leaves CUPTI, while the program goes on: what it has finished is read, at most for `limit`, and
/// nothing is enabled or subscribed to any more. CUPTI can be started again. To be called in
/// [`lifecycle::while_unchanged`].
pub(crate) fn suspend(limit: Duration) {
    lifecycle::suspend(|subscription| {
        disable_activities(subscription.library);
        let requests = &subscription.progress.requests;
        requests.drain(&subscription.reader, limit, false);
        leave_between_calls(subscription.library);
        used_contexts::end_watch();
    });
}

/// Records the optional CUDA calls too, or no longer; with `memory`, also allocations and frees,
/// from now on.
pub(crate) fn record_optional(all: bool, memory: bool) {
    if let Some(subscription) = lifecycle::subscription() {
        subscription
            .opt_in_records
            .lock()
            .record(all, memory, subscription.library);
    }
}

/// From now on callbacks report the modules that are loaded, and with `ends` also the contexts that
/// are destroyed and the modules that are unloaded.
pub(crate) fn watch_modules(ends: bool) {
    let Some(subscription) = lifecycle::subscription() else {
        return;
    };
    let ends = ends.then_some([CONTEXT_DESTROYED, MODULE_UNLOADED]);
    for cbid in [MODULE_LOADED]
        .into_iter()
        .chain(ends.into_iter().flatten())
    {
        // Without them nothing is known of the code of kernels.
        let library = subscription.library;
        let _ = library.set_callback(true, DOMAIN_RESOURCE, cbid);
    }
}

/// Whether CUPTI records allocations and frees.
pub(crate) fn records_memory() -> bool {
    let subscription = lifecycle::subscription();
    subscription.is_some_and(|all| all.opt_in_records.lock().memory() == MemoryRecords::On)
}

/// Waits at most `limit` until everything that CUPTI has finished was passed to the sink; returns
/// whether it was. Does not wait for GPU work.
pub(crate) fn drain(limit: Duration) -> bool {
    lifecycle::subscription().is_none_or(|subscription| {
        let requests = &subscription.progress.requests;
        requests.drain(&subscription.reader, limit, false)
    })
}

/// [`drain`] at the end of the process. Afterwards nothing is read any more, and no callback calls
/// CUPTI's clock, because libcupti may be shutting down.
pub(crate) fn drain_last(limit: Duration) {
    lifecycle::set_shutting_down(limit);
    if let Some(subscription) = lifecycle::subscription() {
        let requests = &subscription.progress.requests;
        requests.drain(&subscription.reader, limit, true);
    }
}

/// [`drain_last`] while the program goes on. Afterwards CUPTI is as if nobody had used it.
#[cfg(feature = "inject")]
pub(crate) fn stop(limit: Duration) {
    let Some(subscription) = lifecycle::subscription() else {
        return;
    };
    // First, so that no buffer is taken after the last flush.
    disable_activities(subscription.library);
    drain_last(limit);
    super::connection::disconnect(subscription.library);
}

/// What was collected since the process began; `None` if CUPTI does not run.
pub(crate) fn counts() -> Option<CollectionCounts> {
    let Subscription {
        library, progress, ..
    } = lifecycle::subscription()?;
    let counters = &progress.counters;
    Some(CollectionCounts {
        version: library.version,
        library: library.name.clone(),
        records: counters.records.load(Relaxed),
        dropped: counters.dropped.load(Relaxed),
        invalid: counters.invalid.load(Relaxed),
    })
}

/// Why CUPTI is unavailable, or which calls have failed since it started: one line each.
pub(crate) fn notes() -> Vec<String> {
    if let Some(unavailable) = lifecycle::unavailable() {
        return vec![unavailable];
    }
    let Some(subscription) = lifecycle::subscription() else {
        return Vec::new();
    };
    let library = subscription.library;
    let failures = library.failures().into_iter();
    let lines = failures.map(|(CallError { call, status }, count)| {
        let name = library.status_name(status);
        format!(
            "{call} failed {count}x with {status} ({name}): kernels may be missing, or attributed \
             to the wrong function"
        )
    });
    let memory = subscription.opt_in_records.lock().memory();
    let no_memory = match memory {
        MemoryRecords::Refused(CallError { call, status }) => {
            let name = library.status_name(status);
            Some(format!(
                "allocations and frees are not recorded: {call} failed with {status} ({name})"
            ))
        }
        MemoryRecords::Off | MemoryRecords::On => None,
    };
    let handed_over = subscription.handed_over_to.get().cloned();
    let hides_nodes = library.own.hides_graph_nodes.load(Relaxed);
    let hidden_nodes = hides_nodes.then(|| HIDDEN_GRAPH_NODES.to_owned());
    let lines = lines.chain(hidden_nodes).chain(no_memory);
    lines.chain(handed_over).collect()
}

/// The name of a CUDA function; `None` if CUPTI does not run.
pub(crate) fn function_name(function: ApiFunction) -> Option<String> {
    let subscription = lifecycle::subscription()?;
    Some(subscription.library.function_name(function))
}

fn subscribe(
    sink: Box<dyn RecordSink>,
    samplings: (Arc<PmSampling>, Arc<PcSampling>),
    hooks: &'static Hooks,
    how: Connecting,
) -> Result<Subscription, CuptiUnavailable> {
    let library = Box::new(CuptiLibrary::open()?);
    let pool = buffers::pool();
    connect(&library, hooks, how)?;
    let library: &'static CuptiLibrary = Box::leak(library);
    let clock: &'static CallbackClock = Box::leak(Box::new(CallbackClock::new()));
    let _ = clock.set_anchor(library);
    let progress: &'static ReaderProgress = Box::leak(Box::default());
    let reader = Reader::new(library, clock, progress, sink, samplings, hooks.poll_clocks);
    let run = move || reader.run();
    let thread = match os::thread_signals::spawn_with_stack("gpuprof-cupti", STACK_BYTES, run) {
        Ok(thread) => thread,
        Err(error) => {
            disable_activities(library);
            library.leave();
            return Err(CuptiUnavailable::NoThread { error });
        }
    };
    let reader = thread.thread().clone();
    pool.set_reader(reader.clone());
    Ok(Subscription {
        library,
        clock,
        reader,
        progress,
        opt_in_records: Mutex::default(),
        handed_over_to: OnceLock::new(),
    })
}
