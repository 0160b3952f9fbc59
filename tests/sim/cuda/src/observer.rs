//! Reports each API call, with the activities that it caused on the device and the contexts,
//! modules and graph nodes that it made, changed or destroyed, to an observer: the simulated
//! libcupti. Without an observer a call only loads one atomic more. An observer changes neither
//! what a call does nor how long it takes.

use std::any::Any;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use simbase::activity::{
    Activity, ActivityKind, Call, KernelName, MemoryKind, MemoryLocation, NONE, NULL_STREAM,
    Observer, ResourceChange, WaitKind,
};

use crate::abi::{Handle, HostPointer};
use crate::clock;
use crate::function_names::{NAMES, Symbol};
use crate::objects::{Operation, Stream};
use crate::state::{self, State};
use crate::thread;

static IS_OBSERVED: AtomicBool = AtomicBool::new(false);
static OBSERVER: Mutex<Option<Observer>> = Mutex::new(None);

/// CUPTI's number for the first stream of a process's first context is 13 on an H200 with driver
/// 580; the simulator's own number for it is 3, after the context and its null stream.
const STREAM_NUMBER_OFFSET: u64 = 13 - 3;

/// Sets or removes the observer.
pub(crate) fn set(observer: Option<Observer>) {
    *OBSERVER.lock().unwrap_or_else(PoisonError::into_inner) = observer;
    IS_OBSERVED.store(observer.is_some(), Ordering::Release);
}

/// What is reported of a call's arguments.
#[derive(Default)]
pub(crate) struct ObservedArguments {
    /// The name of the kernel that it launches.
    kernel: Option<&'static CStr>,
    /// All arguments of a copy or memset.
    parameters: Vec<u64>,
}

/// Makes a call and reports it. The activities of a failed call are not reported.
pub(crate) fn call(
    symbol: Symbol,
    ObservedArguments { kernel, parameters }: ObservedArguments,
    body: impl FnOnce() -> i32,
) -> i32 {
    if !is_observed() {
        return body();
    }
    // A call that was in progress when the observer was set may have left activities.
    drop(state::lock().take_reports());
    let start = clock::now();
    if let Some(observer) = observer() {
        let call = Call::beginning(symbol.cbid(), start, thread::current_context(), kernel);
        observer(&call.with_parameters(&parameters));
    }
    let result = body();
    let (mut activities, mut resource_changes) = state::lock().take_reports();
    if result != 0 {
        activities.clear();
        resource_changes.clear();
    }
    let name = NAMES[symbol.0];
    let is_asynchronous = name.contains("Async") || name == "cuGraphLaunch";
    let times = (start, clock::now());
    if let Some(observer) = observer() {
        let call = Call::new(
            symbol.cbid(),
            result,
            times,
            is_asynchronous,
            &activities,
            &resource_changes,
        );
        observer(&call.with_parameters(&parameters));
    }
    result
}

/// Adds the wait of the call in progress, since `start`, for a context, or for the stream or event
/// `target`. Must be called without the state lock.
pub(crate) fn add_wait(kind: WaitKind, context: Handle, target: Option<Handle>, start: u64) {
    if !is_observed() {
        return;
    }
    let mut state = state::lock();
    let (stream, event) = match (kind, target) {
        (WaitKind::Stream, Some(stream)) => (state.stream_number(stream), NONE),
        (WaitKind::Event, Some(event)) => (NONE, event_number(event)),
        _ => (NONE, NONE),
    };
    let kind = ActivityKind::Wait { kind, event };
    state.add_activity(context, stream, (start, clock::now()), 0, kind);
}

/// Nothing without an observer.
pub(crate) fn observed_arguments(symbol: Symbol, arguments: &[&dyn Any]) -> ObservedArguments {
    let name = NAMES[symbol.0];
    let mut observed = ObservedArguments::default();
    if !is_observed() {
        return observed;
    }
    if name == "cuLaunchKernel" {
        observed.kernel = launched_kernel(arguments);
    } else if name.starts_with("cuMemcpy") || name.starts_with("cuMemset") {
        let words = arguments.iter().map(|argument| word(*argument));
        observed.parameters = words.collect();
    }
    observed
}

/// An argument of a copy or memset, of which none shares its 8 bytes of the C struct with another.
fn word(argument: &dyn Any) -> u64 {
    let address = || Some(argument.downcast_ref::<HostPointer>()?.address());
    let count = || Some(*argument.downcast_ref::<usize>()? as u64);
    let value = || Some(u64::from(*argument.downcast_ref::<u8>()?));
    let device = argument.downcast_ref::<u64>().copied();
    let known = device.or_else(address).or_else(count).or_else(value);
    known.expect("a type of the arguments of copies and memsets")
}

/// The name of the kernel that a launch with these arguments launches. Each name is allocated once
/// and never freed.
fn launched_kernel(arguments: &[&dyn Any]) -> Option<&'static CStr> {
    static KERNELS: Mutex<BTreeSet<&'static CStr>> = Mutex::new(BTreeSet::new());
    let function = *arguments.first()?.downcast_ref::<Handle>()?;
    let name = state::lock().functions.get(function).ok()?.name.clone();
    let name = CString::new(name).ok()?;
    let mut kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kernels.get(&*name) {
        return Some(known);
    }
    let name: &'static CStr = Box::leak(name.into_boxed_c_str());
    kernels.insert(name);
    Some(name)
}

fn observer() -> Option<Observer> {
    *OBSERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_observed() -> bool {
    IS_OBSERVED.load(Ordering::Acquire)
}

/// A small unique number of an event that exists: its index in the table.
fn event_number(event: Handle) -> u32 {
    (event >> 4) as u32 & 0xff_ffff
}

impl State {
    /// Removes and returns what the calling thread's call caused and changed.
    fn take_reports(&mut self) -> (Vec<Activity>, Vec<ResourceChange>) {
        let here = thread::number();
        let own = self
            .activities
            .extract_if(.., |(thread, _)| *thread == here);
        let activities = own.map(|(_, activity)| activity).collect();
        let own = self
            .resource_changes
            .extract_if(.., |(thread, _)| *thread == here);
        (activities, own.map(|(_, change)| change).collect())
    }

    /// Adds a change of a context, module or graph node by the call in progress.
    pub(crate) fn add_resource_change(&mut self, change: ResourceChange) {
        if is_observed() {
            self.resource_changes.push((thread::number(), change));
        }
    }

    /// How `operation`, which is to run on `stream`, is reported; `None` without an observer, and
    /// for an operation that is not reported, as are copies and memsets of no bytes.
    pub(crate) fn activity_kind(
        &self,
        operation: &Operation,
        stream: Handle,
    ) -> Option<ActivityKind> {
        if !is_observed() {
            return None;
        }
        let context = self.streams.get(stream).ok()?.context;
        let device = self.context(context).ok()?.device;
        let locate = |address, default| {
            let location = self.memory.location(address);
            location.unwrap_or(MemoryLocation {
                kind: default,
                device,
            })
        };
        let copy = |bytes: usize, from, to| ActivityKind::Copy {
            bytes: bytes as u64,
            from,
            to,
        };
        use MemoryKind::{Device, Pageable};
        Some(match operation {
            Operation::Upload { len: 0, .. }
            | Operation::Download { len: 0, .. }
            | Operation::Copy { len: 0, .. }
            | Operation::Memset { len: 0, .. } => return None,
            Operation::Launch(launch) => {
                let resources = self.resources(launch.kernel.name);
                let work = launch.work();
                ActivityKind::Kernel {
                    name: KernelName::new(launch.kernel.name),
                    module: launch.module,
                    grid: launch.grid,
                    block: launch.block,
                    registers: resources.registers,
                    static_shared: resources.static_shared,
                    dynamic_shared: launch.shared,
                    local: resources.local,
                    dram_bytes: work.bytes as u64,
                    arithmetic_ns: work.arithmetic_ns() as u64,
                }
            }
            Operation::Upload {
                target,
                source,
                len,
            } => {
                let source = locate(source.address(), Pageable);
                copy(*len, source, locate(*target, Device))
            }
            Operation::Download {
                target,
                source,
                len,
            } => {
                let target = locate(target.address(), Pageable);
                copy(*len, locate(*source, Device), target)
            }
            Operation::Copy {
                target,
                source,
                len,
            } => copy(*len, locate(*source, Device), locate(*target, Device)),
            Operation::Memset { target, value, len } => ActivityKind::Memset {
                bytes: *len as u64,
                value: u32::from(*value),
                to: locate(*target, Device),
            },
            Operation::EventRecord(_) | Operation::ChildGraph { .. } => return None,
        })
    }

    /// Adds an activity of the resolved `stream` (the handles 0, legacy and per-thread replaced by
    /// the stream that they mean) with its start and end.
    pub(crate) fn add_stream_activity(
        &mut self,
        stream: Handle,
        times: (u64, u64),
        node: u64,
        kind: ActivityKind,
    ) {
        if let Ok(Stream { context, .. }) = self.streams.get(stream) {
            let context = *context;
            self.add_activity(context, self.stream_number(stream), times, node, kind);
        }
    }

    /// Adds an allocation, or a release, of memory; `stream` is the resolved stream that orders it.
    pub(crate) fn add_memory_activity(
        &mut self,
        context: Handle,
        stream: Option<Handle>,
        is_allocation: bool,
        address: u64,
        bytes: usize,
    ) {
        let location = self.memory.location(address);
        let Some(location) = location.filter(|_| is_observed()) else {
            return;
        };
        let stream = stream.map_or(NONE, |stream| self.stream_number(stream));
        let kind = ActivityKind::Memory {
            is_allocation,
            address,
            bytes: bytes as u64,
            location,
        };
        let now = clock::now();
        self.add_activity(context, stream, (now, now), 0, kind);
    }

    /// Adds the resolved `stream`'s wait for `event`, unless the stream captures.
    pub(crate) fn add_stream_wait(&mut self, stream: Handle, event: Handle) {
        let captures = |stream: &Stream| stream.capture.is_some();
        if !is_observed() || self.streams.get(stream).is_ok_and(captures) {
            return;
        }
        let kind = ActivityKind::Wait {
            kind: WaitKind::StreamWaitEvent,
            event: event_number(event),
        };
        let now = clock::now();
        self.add_stream_activity(stream, (now, now), 0, kind);
    }

    /// Adds an activity, unless its context was destroyed in the meantime.
    fn add_activity(
        &mut self,
        context: Handle,
        stream: u32,
        (start, end): (u64, u64),
        node: u64,
        kind: ActivityKind,
    ) {
        let Ok(context) = self.context(context) else {
            return;
        };
        let activity = Activity {
            start,
            end,
            device: context.device,
            context: context.id as u32,
            stream,
            node,
            kind,
        };
        self.activities.push((thread::number(), activity));
    }

    /// CUPTI's number for the resolved `stream`.
    fn stream_number(&self, stream: Handle) -> u32 {
        match self.streams.get(stream) {
            Ok(_) if self.is_legacy(stream) => NULL_STREAM,
            Ok(stream) => (stream.id + STREAM_NUMBER_OFFSET) as u32,
            Err(_) => NONE,
        }
    }
}
