//! Tells a watcher, the simulated libcupti, of every API call and of what the device does for it.
//! While nobody watches, a call costs one load more and nothing is written down. Must never change
//! what a call does or how long it takes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use simbase::activity::{
    Activity, Call, Memory, NONE, NULL_STREAM, Name, On, Place, Watcher, What,
};

use crate::abi::Handle;
use crate::capture::Node;
use crate::clock;
use crate::state::{self, State};
use crate::stream::{Stream, thread};
use crate::symbols::{NAMES, Symbol};

static WATCHED: AtomicBool = AtomicBool::new(false);
static WATCHER: Mutex<Option<Watcher>> = Mutex::new(None);

/// CUPTI's number for the first stream of a process's first context, as on an H200 with driver 580;
/// the simulator's own number for that stream is 3, after the context and its null stream.
const FIRST_STREAM: u64 = 13 - 3;

/// What calls under way had the device do so far, by the thread that calls.
pub(crate) struct Seen(Vec<(u64, Activity)>);

impl Seen {
    /// Nothing.
    pub(crate) const fn new() -> Seen {
        Seen(Vec::new())
    }

    fn take(&mut self, thread: u64) -> Vec<Activity> {
        let own = self.0.extract_if(.., |(of, _)| *of == thread);
        own.map(|(_, activity)| activity).collect()
    }
}

/// Sets who is told, or nobody.
pub(crate) fn set(watcher: Option<Watcher>) {
    *WATCHER.lock().unwrap_or_else(PoisonError::into_inner) = watcher;
    WATCHED.store(watcher.is_some(), Ordering::Release);
}

/// Makes a call and tells the watcher of it. What a failed call had begun is not told.
pub(crate) fn call(symbol: Symbol, body: impl FnOnce() -> i32) -> i32 {
    if !watched() {
        return body();
    }
    // Left by a call that was under way when the watcher came.
    drop(state::lock().seen.take(thread()));
    let start = clock::now();
    let result = body();
    let mut activities = state::lock().seen.take(thread());
    if result != 0 {
        activities.clear();
    }
    let name = NAMES[symbol.0];
    let asynchronous = name.contains("Async") || name == "cuGraphLaunch";
    let times = (start, clock::now());
    let watcher = *WATCHER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(watcher) = watcher {
        watcher(&Call::new(
            symbol.cbid(),
            result,
            times,
            asynchronous,
            &activities,
        ));
    }
    result
}

/// Notes that the call under way has waited since `begun`, for the context or for the stream or
/// event that `for_what` is. Must be called without the state lock.
pub(crate) fn waited(on: On, context: Handle, for_what: Option<Handle>, begun: u64) {
    if !watched() {
        return;
    }
    let mut state = state::lock();
    let (stream, event) = match (on, for_what) {
        (On::Stream, Some(stream)) => (state.stream_number(stream), NONE),
        (On::Event, Some(event)) => (NONE, event_number(event)),
        _ => (NONE, NONE),
    };
    let what = What::Wait { on, event };
    state.write_down(context, stream, (begun, clock::now()), 0, what);
}

fn watched() -> bool {
    WATCHED.load(Ordering::Acquire)
}

/// A small number of a living event's own: its place in the table.
fn event_number(event: Handle) -> u32 {
    (event >> 4) as u32 & 0xff_ffff
}

impl State {
    /// What a watcher is told of `node`, about to run on `stream`; none where nobody watches or it
    /// is no work of the device's.
    pub(crate) fn watched_as(&self, node: &Node, stream: Handle) -> Option<What> {
        if !watched() {
            return None;
        }
        let context = self.streams.get(stream).ok()?.context;
        let device = self.living(context).ok()?.device;
        let at = |address, otherwise| {
            let memory = otherwise;
            self.memory
                .place(address)
                .unwrap_or(Place { memory, device })
        };
        let copy = |bytes: usize, from, to| What::Copy {
            bytes: bytes as u64,
            from,
            to,
        };
        use Memory::{Device, Pageable};
        Some(match node {
            Node::Launch(launch) => {
                let (registers, static_shared) = self.resources(launch.kernel.name);
                What::Kernel {
                    name: Name::new(launch.kernel.name),
                    grid: launch.grid,
                    block: launch.block,
                    registers,
                    static_shared,
                    dynamic_shared: launch.shared,
                }
            }
            Node::Upload {
                target,
                source,
                len,
            } => copy(*len, at(source.address(), Pageable), at(*target, Device)),
            Node::Download {
                target,
                source,
                len,
            } => copy(*len, at(*source, Device), at(target.address(), Pageable)),
            Node::Copy {
                target,
                source,
                len,
            } => copy(*len, at(*source, Device), at(*target, Device)),
            Node::Fill { target, value, len } => What::Set {
                bytes: *len as u64,
                value: u32::from(*value),
                to: at(*target, Device),
            },
            Node::Stamp(_) | Node::Child(_) => return None,
        })
    }

    /// Notes what the resolved `stream` does from when to when.
    pub(crate) fn note(&mut self, stream: Handle, times: (u64, u64), node: u64, what: What) {
        if let Ok(of) = self.streams.get(stream) {
            self.write_down(of.context, self.stream_number(stream), times, node, what);
        }
    }

    /// Notes memory that was given or taken back, where somebody watches; `stream` is the resolved
    /// one that orders it.
    pub(crate) fn note_memory(
        &mut self,
        context: Handle,
        stream: Option<Handle>,
        given: bool,
        address: u64,
        bytes: usize,
    ) {
        let Some(place) = self.memory.place(address).filter(|_| watched()) else {
            return;
        };
        let stream = stream.map_or(NONE, |stream| self.stream_number(stream));
        let what = What::Memory {
            given,
            address,
            bytes: bytes as u64,
            place,
        };
        let now = clock::now();
        self.write_down(context, stream, (now, now), 0, what);
    }

    /// Notes that the resolved `stream` was told to wait for `event`, where somebody watches and it
    /// does not capture.
    pub(crate) fn note_wait_event(&mut self, stream: Handle, event: Handle) {
        let captures = |of: &Stream| of.capture.is_some();
        if !watched() || self.streams.get(stream).is_ok_and(captures) {
            return;
        }
        let what = What::Wait {
            on: On::StreamWaitEvent,
            event: event_number(event),
        };
        let now = clock::now();
        self.note(stream, (now, now), 0, what);
    }

    /// A context that is gone by now has nothing written down.
    fn write_down(
        &mut self,
        context: Handle,
        stream: u32,
        (start, end): (u64, u64),
        node: u64,
        what: What,
    ) {
        let Ok(of) = self.living(context) else {
            return;
        };
        let activity = Activity {
            start,
            end,
            device: of.device,
            context: of.id as u32,
            stream,
            node,
            what,
        };
        self.seen.0.push((thread(), activity));
    }

    /// CUPTI's number for the resolved `stream`.
    fn stream_number(&self, stream: Handle) -> u32 {
        match self.streams.get(stream) {
            Ok(_) if self.is_legacy(stream) => NULL_STREAM,
            Ok(stream) => (stream.id + FIRST_STREAM) as u32,
            Err(_) => NONE,
        }
    }
}
