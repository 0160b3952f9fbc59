//! From a driver call to its records, in CUPTI's order: the external ids pushed on the thread, the
//! activities that the call causes, the call itself. Never calls the client while the state is
//! locked.

use std::cell::{Cell, RefCell};

use simbase::activity::{Activity, ActivityKind, Call, ResourceChange};
use simbase::cbid;

use crate::callbacks::{DRIVER_API, Notification, RESOURCE, RESOURCE_CALLBACKS, RUNTIME_API};
use crate::clients::{Client, MAX_CLIENTS};
use crate::kinds::{self, Enabled};
use crate::record::{ApiCall, Cause, Record};
use crate::state::{self, Overrides, State, thread};
use crate::{buffers, calls_in_waits, driver, kernel_records, launch_locks};

/// Functions in place of which programs that use the runtime call another.
const LAUNCH: u32 = cbid::driver("cuLaunchKernel");
const PROFILER_START: u32 = cbid::driver("cuProfilerStart");
const PROFILER_STOP: u32 = cbid::driver("cuProfilerStop");

thread_local! {
    /// The calls that this thread is in, the innermost last, each with the value that the callbacks
    /// of each client share.
    static OPEN_CALLS: RefCell<Vec<OpenCall>> = const { RefCell::new(Vec::new()) };
    /// The same without a destructor, for the last call that the thread is in while it ends: exit
    /// handlers make calls, of which none is inside another.
    static LAST_CALL: Cell<Option<OpenCall>> = const { Cell::new(None) };
}

type OpenCall = (VisibleCall, [u64; MAX_CLIENTS]);

/// A call as the client sees it.
#[derive(Clone, Copy)]
struct VisibleCall {
    kind: u32,
    cbid: u32,
    correlation: u32,
}

/// Called by the driver before and after every call once anything is enabled.
pub(crate) extern "C" fn on_driver_call(call: &Call<'_>) {
    // A panic must not unwind into the driver. It loses the call's records, so the tests that
    // expect them fail.
    let _ = std::panic::catch_unwind(|| {
        if call.has_ended {
            launch_locks::end();
            kernel_records::end();
            calls_in_waits::end();
        }
        state::lock().begin_changes(call);
        let opened = if call.has_ended { pop() } else { None };
        let (visible, mut shared) =
            opened.unwrap_or_else(|| (state::lock().new_call(call), [0; MAX_CLIENTS]));
        let notifications = state::lock().notifications(&visible);
        for (notification, shared) in notifications.iter().zip(&mut shared) {
            if let Some(notification) = notification {
                notification.deliver(call, shared);
            }
        }
        if !call.has_ended {
            push((visible, shared));
            launch_locks::begin(call);
            kernel_records::begin(call);
            let mut made = notifications.iter().flatten();
            if made.any(|made| made.api.is_some()) {
                calls_in_waits::begin(call);
            }
            return;
        }
        let records = state::lock().make_records(call, &visible);
        for (slot, records) in records.into_iter().enumerate() {
            buffers::store(slot, records);
        }
        state::lock().end_changes(call);
        if let Ok(now) = driver::now() {
            buffers::flush_if_due(now);
        }
    });
}

fn push(call: OpenCall) {
    if OPEN_CALLS
        .try_with(|open| open.borrow_mut().push(call))
        .is_err()
    {
        LAST_CALL.set(Some(call));
    }
}

fn pop() -> Option<OpenCall> {
    OPEN_CALLS
        .try_with(|open| open.borrow_mut().pop())
        .unwrap_or_else(|_| LAST_CALL.take())
}

/// The id after `last`. 0 is no call.
fn next_correlation(last: u32) -> u32 {
    last.wrapping_add(1).max(1)
}

impl State {
    fn new_call(&mut self, call: &Call<'_>) -> VisibleCall {
        self.correlation = next_correlation(self.correlation);
        let correlation = calls_in_waits::id(self.correlation, self.ended_subscriptions);
        let by_runtime = self.overrides.runtime_launches;
        let (kind, cbid) = match call.cbid {
            LAUNCH if by_runtime => (kinds::RUNTIME, cbid::CUDA_LAUNCH_KERNEL),
            PROFILER_START if by_runtime => (kinds::RUNTIME, cbid::CUDA_PROFILER_START),
            PROFILER_STOP if by_runtime => (kinds::RUNTIME, cbid::CUDA_PROFILER_STOP),
            LAUNCH if self.overrides.per_thread_launches => {
                (kinds::DRIVER, cbid::driver("cuLaunchKernel_ptsz"))
            }
            cbid => (kinds::DRIVER, cbid),
        };
        VisibleCall {
            kind,
            cbid,
            correlation,
        }
    }

    /// The callbacks to make for a call, to each client that is subscribed.
    fn notifications(&self, visible: &VisibleCall) -> [Option<Notification>; MAX_CLIENTS] {
        std::array::from_fn(|slot| self.clients[slot].notification(visible))
    }

    /// Builds the images of modules that `call` has loaded.
    fn begin_changes(&mut self, call: &Call<'_>) {
        for change in call.resource_changes() {
            if let ResourceChange::ModuleLoaded { module } = change {
                self.modules.image(module);
            }
        }
    }

    /// Forgets what `call` has unloaded and destroyed.
    fn end_changes(&mut self, call: &Call<'_>) {
        for change in call.resource_changes() {
            match change {
                ResourceChange::ModuleUnloaded { module } => self.modules.unload(module),
                ResourceChange::ContextDestroyed { number, .. } => self.pc_sampling.forget(*number),
                _ => {}
            }
        }
    }

    /// The records of `call` for each client, without those that a test drops.
    fn make_records(&mut self, call: &Call<'_>, visible: &VisibleCall) -> Vec<Vec<Record>> {
        self.sampling.add_activities(call.activities());
        let (modules, now) = (&mut self.modules, call.end);
        let known = &mut self.known_kernels;
        self.pc_sampling
            .add_activities(call.activities(), modules, known, now);
        (0..MAX_CLIENTS)
            .map(|slot| self.records_of_client(slot, call, visible))
            .collect()
    }

    fn records_of_client(
        &mut self,
        slot: usize,
        call: &Call<'_>,
        visible: &VisibleCall,
    ) -> Vec<Record> {
        let VisibleCall {
            kind,
            cbid,
            correlation,
        } = *visible;
        let enabled = &self.clients[slot].enabled;
        let recorded = enabled.has_call(kind, cbid);
        let mut records = Vec::new();
        if recorded && enabled.has(kinds::EXTERNAL_CORRELATION) {
            self.push_external_ids(correlation, &mut records);
        }
        let cause = Cause {
            correlation,
            asynchronous: call.is_asynchronous,
        };
        let is_recorded = |activity: &&Activity| !self.hides_graph_nodes || activity.node == 0;
        for activity in call.activities().iter().filter(is_recorded) {
            if let Some(kind) = kind_of(activity, enabled) {
                for part in self.overrides.parts(activity) {
                    let mut record = Record::activity(self.version, kind, &part, cause);
                    self.overrides.corrupt_if_requested(&mut record);
                    records.push(record);
                }
            }
        }
        if recorded {
            let api = ApiCall {
                kind,
                cbid,
                start: call.start,
                end: call.end,
                result: call.result,
                correlation,
            };
            records.push(Record::api(self.version, &api));
        }
        let all = records.len();
        records.retain(|record| !self.overrides.take_drop_order(record.kind));
        self.clients[slot].dropped += (all - records.len()) as u64;
        records
    }

    /// One record per kind of external id, with the innermost id.
    fn push_external_ids(&self, correlation: u32, records: &mut Vec<Record>) {
        let here = (thread(), 0)..=(thread(), u32::MAX);
        for ((_, kind), ids) in self.pushed.range(here) {
            let record = |id: &u64| Record::external(self.version, *kind, *id, correlation);
            records.extend(ids.last().map(record));
        }
    }
}

impl Client {
    /// The callbacks to make for a call, if there is a subscriber.
    fn notification(&self, visible: &VisibleCall) -> Option<Notification> {
        let domain = match visible.kind {
            kinds::RUNTIME => RUNTIME_API,
            _ => DRIVER_API,
        };
        let (callback, user) = self.callback?;
        let is_enabled = |domain, cbid| self.enabled.has_callback(domain, cbid);
        let api = (domain, visible.cbid, visible.correlation);
        let mut resource_callbacks = RESOURCE_CALLBACKS.to_vec();
        resource_callbacks.retain(|cbid| is_enabled(RESOURCE, *cbid));
        Some(Notification {
            callback,
            user,
            api: is_enabled(domain, visible.cbid).then_some(api),
            resource_callbacks,
        })
    }
}

impl Overrides {
    /// What an activity is reported as: itself, or the two halves of a copy.
    fn parts(&self, activity: &Activity) -> Vec<Activity> {
        let (mut first, mut second) = (*activity, *activity);
        let halves = (&mut first.kind, &mut second.kind);
        if let (ActivityKind::Copy { bytes, .. }, ActivityKind::Copy { bytes: rest, .. }) = halves
            && self.split_copies
        {
            *bytes /= 2;
            *rest -= *bytes;
            first.end = activity.start + (activity.end - activity.start) / 2;
            second.start = first.end;
            return vec![first, second];
        }
        vec![first]
    }

    /// Gives a kernel wrong time stamps if a test asked for it.
    fn corrupt_if_requested(&mut self, record: &mut Record) {
        if !matches!(record.kind, kinds::KERNEL | kinds::CONCURRENT_KERNEL) {
            return;
        }
        self.stamps.retain_mut(|(before, stamps)| {
            if *before == 0 {
                record.corrupt(*stamps);
                return false;
            }
            *before -= 1;
            true
        });
    }

    /// Whether to drop a record of `kind`. Each drop order counts it; the first that is due ends.
    fn take_drop_order(&mut self, kind: u32) -> bool {
        let mut dropped = false;
        self.drops.retain_mut(|(of, before)| {
            if *of != 0 && *of != kind {
                return true;
            }
            if *before == 0 && !dropped {
                dropped = true;
                return false;
            }
            *before = before.saturating_sub(1);
            true
        });
        dropped
    }
}

/// The kind of record for `activity`; `None` if it is not enabled.
fn kind_of(activity: &Activity, enabled: &Enabled) -> Option<u32> {
    let kind = match activity.kind {
        ActivityKind::Kernel { .. } => return enabled.kernels(),
        ActivityKind::Copy { from, to, .. } if from.device != to.device => kinds::MEMCPY2,
        ActivityKind::Copy { .. } => kinds::MEMCPY,
        ActivityKind::Memset { .. } => kinds::MEMSET,
        ActivityKind::Memory { .. } => kinds::MEMORY2,
        ActivityKind::Wait { .. } => kinds::SYNCHRONIZATION,
    };
    enabled.has(kind).then_some(kind)
}
