//! Stream capture (API reference, Stream Management; programming guide, Creating a Graph Using
//! Stream Capture): what a capturing stream makes of the calls on it. The graphs themselves are in
//! `graph`.

use std::collections::BTreeSet;

use crate::abi::{Answer, Handle, Host};
use crate::clock::StandStill;
use crate::codes::Code;
use crate::durations::Way;
use crate::event::Mark;
use crate::executor::Task;
use crate::graph::Graph;
use crate::kernels::Launch;
use crate::state::State;
use crate::stream::thread;

/// `CU_STREAM_CAPTURE_MODE_GLOBAL`; 1 is THREAD_LOCAL.
pub(crate) const GLOBAL: i32 = 0;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
pub(crate) const RELAXED: i32 = 2;

/// One capture in progress.
pub(crate) struct Capture {
    pub(crate) context: Handle,
    origin: Handle,
    pub(crate) mode: i32,
    pub(crate) thread: u64,
    pub(crate) invalidated: bool,
    /// What is being captured into.
    pub(crate) graph: Handle,
    /// Streams that the capture has spread to and whose work nobody has waited for.
    unjoined: BTreeSet<Handle>,
}

/// One operation on a stream. In a graph, host memory is read and written at each replay.
#[derive(Clone)]
pub(crate) enum Node {
    Launch(Launch),
    Upload {
        target: u64,
        source: Host,
        len: usize,
    },
    Download {
        target: Host,
        source: u64,
        len: usize,
    },
    Copy {
        target: u64,
        source: u64,
        len: usize,
    },
    Fill {
        target: u64,
        value: u8,
        len: usize,
    },
    /// An external event record.
    Stamp(Handle),
    /// A graph that was launched on a capturing stream.
    Child(Vec<Node>),
}

impl State {
    /// The capture that `stream`, about to be used, is part of; STREAM_CAPTURE_INVALIDATED when it
    /// is spoilt. STREAM_CAPTURE_IMPLICIT for the legacy stream beside a capturing blocking one,
    /// whose capture it spoils.
    pub(crate) fn capture_of(&mut self, stream: Handle) -> Answer<Option<u64>> {
        let capture = self.membership(stream);
        if capture == Err(Code::STREAM_CAPTURE_IMPLICIT) {
            self.spoil_blocking_captures(stream)?;
        }
        capture
    }

    /// [`State::capture_of`] as a question, which spoils nothing.
    fn membership(&self, stream: Handle) -> Answer<Option<u64>> {
        self.not_implicit(stream)?;
        let Some(id) = self.streams.get(stream)?.capture else {
            return Ok(None);
        };
        match self.captures.get(&id) {
            Some(capture) if !capture.invalidated => Ok(Some(id)),
            _ => Err(Code::STREAM_CAPTURE_INVALIDATED),
        }
    }

    /// `CU_STREAM_CAPTURE_STATUS_*` of `stream`: 0 none, 1 active, 2 invalidated. Asking spoils
    /// nothing, also where the answer is STREAM_CAPTURE_IMPLICIT (API reference,
    /// cuStreamIsCapturing).
    pub(crate) fn capture_status(&self, stream: Handle) -> Answer<i32> {
        match self.membership(stream) {
            Ok(capture) => Ok(i32::from(capture.is_some())),
            Err(Code::STREAM_CAPTURE_INVALIDATED) => Ok(2),
            Err(code) => Err(code),
        }
    }

    /// Spoils capture `id`.
    pub(crate) fn invalidate(&mut self, id: u64) {
        if let Some(capture) = self.captures.get_mut(&id) {
            capture.invalidated = true;
        }
    }

    /// Before `stream` is destroyed: ends the capture that began on it, spoils one that spread to
    /// it.
    pub(crate) fn abandon_capture(&mut self, stream: Handle) {
        let Some(id) = self
            .streams
            .get(stream)
            .ok()
            .and_then(|stream| stream.capture)
        else {
            return;
        };
        if self
            .captures
            .get(&id)
            .is_some_and(|capture| capture.origin == stream)
        {
            self.drop_capture(id);
            self.leave_capture(id);
        } else {
            self.invalidate(id);
        }
    }

    /// Forgets a capture and the graph it would have made.
    fn drop_capture(&mut self, id: u64) {
        if let Some(capture) = self.captures.remove(&id) {
            // Made when the capture began, and out of anybody's reach until its end.
            let _ = self.remove_graph(capture.graph);
        }
    }

    fn leave_capture(&mut self, id: u64) {
        let members = self
            .streams
            .values_mut()
            .filter(|stream| stream.capture == Some(id));
        members.for_each(|stream| stream.capture = None);
    }

    /// Starts a capture on `stream`. The legacy stream cannot be captured:
    /// STREAM_CAPTURE_UNSUPPORTED; a stream that captures already is ILLEGAL_STATE.
    pub(crate) fn begin_capture(&mut self, stream: Handle, mode: i32) -> Answer {
        if !(GLOBAL..=RELAXED).contains(&mode) {
            return Err(Code::INVALID_VALUE);
        }
        if self.is_legacy(stream) {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        let id = self.new_id();
        let target = self.streams.get_mut(stream)?;
        if target.capture.is_some() {
            return Err(Code::ILLEGAL_STATE);
        }
        target.capture = Some(id);
        let context = target.context;
        let capture = Capture {
            context,
            origin: stream,
            mode,
            thread: thread(),
            invalidated: false,
            graph: self.graphs.insert(Graph::new(context, id)),
            unjoined: BTreeSet::new(),
        };
        self.captures.insert(id, capture);
        Ok(())
    }

    /// Ends the capture on `stream` and gives its graph. ILLEGAL_STATE where none is going on, and
    /// as the codes say: UNMATCHED on another stream than its origin, WRONG_THREAD unless relaxed,
    /// INVALIDATED, UNJOINED.
    pub(crate) fn end_capture(&mut self, stream: Handle) -> Answer<Handle> {
        let id = self
            .streams
            .get(stream)?
            .capture
            .ok_or(Code::ILLEGAL_STATE)?;
        let capture = self.captures.get(&id).ok_or(Code::ILLEGAL_STATE)?;
        if capture.origin != stream {
            return Err(Code::STREAM_CAPTURE_UNMATCHED);
        }
        if capture.mode != RELAXED && capture.thread != thread() {
            return Err(Code::STREAM_CAPTURE_WRONG_THREAD);
        }
        let (graph, ended) = if capture.invalidated {
            (capture.graph, Err(Code::STREAM_CAPTURE_INVALIDATED))
        } else if !capture.unjoined.is_empty() {
            (capture.graph, Err(Code::STREAM_CAPTURE_UNJOINED))
        } else {
            (capture.graph, Ok(()))
        };
        self.leave_capture(id);
        match ended {
            Ok(()) => drop(self.captures.remove(&id)),
            Err(_) => self.drop_capture(id),
        }
        ended.map(|()| graph)
    }

    /// Does `node` on `stream`, or captures it.
    pub(crate) fn issue(&mut self, stream: Handle, node: Node) -> Answer {
        let Some(id) = self.capture_of(stream)? else {
            self.enqueue(stream, node, 0)?;
            return self.takes_room(stream);
        };
        if let Some(capture) = self.captures.get_mut(&id) {
            self.graphs.get_mut(capture.graph)?.nodes.push(node);
            if capture.origin != stream {
                capture.unjoined.insert(stream);
            }
        }
        Ok(())
    }

    /// Queues `node` on `stream`: modelled time and deferred work. `number` is the node's where a
    /// graph runs, else 0; a child graph's nodes have that of the node they are in.
    pub(crate) fn enqueue(&mut self, stream: Handle, node: Node, number: u64) -> Answer {
        let what = self.watched_as(&node, stream);
        let (ns, task) = match node {
            Node::Stamp(event) => return self.stamp(event, stream),
            Node::Child(nodes) => {
                let mut nodes = nodes.into_iter();
                return nodes.try_for_each(|node| self.enqueue(stream, node, number));
            }
            Node::Launch(launch) => (
                self.durations.kernel(launch.kernel.name, launch.work()),
                Task::Launch(launch),
            ),
            Node::Upload {
                target,
                source,
                len,
            } => (
                self.durations.copy(len, Way::Host),
                Task::Upload {
                    target,
                    bytes: {
                        let _no_time_passes = StandStill::begin();
                        source.bytes(len)?
                    },
                },
            ),
            Node::Download {
                target,
                source,
                len,
            } => (
                self.durations.copy(len, Way::Host),
                Task::Download {
                    target,
                    source,
                    len,
                },
            ),
            Node::Copy {
                target,
                source,
                len,
            } => (
                self.durations.copy(len, Way::Device),
                Task::Copy {
                    target,
                    source,
                    len,
                },
            ),
            Node::Fill { target, value, len } => (
                self.durations.memset(len),
                Task::Fill { target, value, len },
            ),
        };
        let start = self.occupy(stream, ns)?;
        if let Some(what) = what {
            self.note(stream, (start, start.saturating_add(ns)), number, what);
        }
        let context = self.streams.get(stream)?.context;
        self.queue.push(context, task);
        Ok(())
    }

    /// Records `event` in a stream of capture `id`: no time is taken, the event marks the place.
    pub(crate) fn mark_captured(&mut self, event: Handle, stream: Handle, id: u64) -> Answer {
        self.events.get_mut(event)?.mark = Mark::Captured(id, stream);
        Ok(())
    }

    /// Makes `stream` wait for `event`. A captured event draws the stream into its capture, or
    /// joins what the capture had forked; MERGE of two captures and a dependency on work outside
    /// (ISOLATION) spoil it.
    pub(crate) fn wait_event(&mut self, stream: Handle, event: Handle) -> Answer {
        let mark = self.events.get(event)?.mark;
        match (self.capture_of(stream)?, mark) {
            (_, Mark::Never) => {}
            (None, Mark::At(stamp)) => {
                let stream = self.streams.get_mut(stream)?;
                stream.tail = stream.tail.max(stamp);
            }
            (Some(id), Mark::At(_)) => {
                self.invalidate(id);
                return Err(Code::STREAM_CAPTURE_ISOLATION);
            }
            (Some(id), Mark::Captured(other, _)) if id != other => {
                self.invalidate(id);
                self.invalidate(other);
                return Err(Code::STREAM_CAPTURE_MERGE);
            }
            (here, Mark::Captured(id, from)) => {
                let capture = self.captures.get_mut(&id).ok_or(Code::CAPTURED_EVENT)?;
                if here.is_some() && from != stream {
                    capture.unjoined.remove(&from);
                }
                if here.is_none() {
                    capture.unjoined.insert(stream);
                    self.streams.get_mut(stream)?.capture = Some(id);
                }
            }
        }
        Ok(())
    }
}
