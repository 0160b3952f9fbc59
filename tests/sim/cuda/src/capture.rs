//! Stream capture (API reference, Stream Management; programming guide, Creating a Graph Using
//! Stream Capture): how it begins, spreads and ends, and which operations become nodes. `graph` has
//! the graphs that result, `capture_rules` what a capture prohibits.

use std::collections::BTreeSet;

use crate::abi::Handle;
use crate::clock;
use crate::deferred::Task;
use crate::durations::CopyRoute;
use crate::objects::{Capture, Graph, LastRecord, Operation};
use crate::result_codes::{Answer, Code};
use crate::state::State;
use crate::thread::{self, GLOBAL, RELAXED};

impl State {
    /// The capture that `stream`, which is to be used, is part of. STREAM_CAPTURE_INVALIDATED if it
    /// was invalidated. STREAM_CAPTURE_IMPLICIT for the legacy stream while a blocking stream
    /// captures, whose capture the use invalidates.
    pub(crate) fn use_for_capture(&mut self, stream: Handle) -> Answer<Option<u64>> {
        let capture = self.find_capture(stream);
        if capture == Err(Code::STREAM_CAPTURE_IMPLICIT) {
            self.invalidate_blocking_captures(stream)?;
        }
        capture
    }

    /// [`State::use_for_capture`] without an effect.
    fn find_capture(&self, stream: Handle) -> Answer<Option<u64>> {
        self.check_implicit_dependency(stream)?;
        let Some(id) = self.streams.get(stream)?.capture else {
            return Ok(None);
        };
        match self.captures.get(&id) {
            Some(capture) if !capture.is_invalidated => Ok(Some(id)),
            _ => Err(Code::STREAM_CAPTURE_INVALIDATED),
        }
    }

    /// `CU_STREAM_CAPTURE_STATUS_*` of `stream`: 0 none, 1 active, 2 invalidated. The query
    /// invalidates nothing, even if it returns STREAM_CAPTURE_IMPLICIT (API reference,
    /// cuStreamIsCapturing).
    pub(crate) fn capture_status(&self, stream: Handle) -> Answer<i32> {
        match self.find_capture(stream) {
            Ok(capture) => Ok(i32::from(capture.is_some())),
            Err(Code::STREAM_CAPTURE_INVALIDATED) => Ok(2),
            Err(code) => Err(code),
        }
    }

    /// Invalidates capture `id`.
    pub(crate) fn invalidate(&mut self, id: u64) {
        if let Some(capture) = self.captures.get_mut(&id) {
            capture.is_invalidated = true;
        }
    }

    /// Called by cuStreamDestroy: discards the capture that began on `stream`; invalidates a
    /// capture that `stream` joined later.
    pub(crate) fn abandon_capture(&mut self, stream: Handle) {
        let stream_data = self.streams.get(stream).ok();
        let Some(id) = stream_data.and_then(|stream| stream.capture) else {
            return;
        };
        let capture = self.captures.get(&id);
        if capture.is_some_and(|capture| capture.origin == stream) {
            self.discard_capture(id);
            self.remove_streams_from_capture(id);
        } else {
            self.invalidate(id);
        }
    }

    /// Removes a capture with its graph.
    fn discard_capture(&mut self, id: u64) {
        if let Some(capture) = self.captures.remove(&id) {
            // The graph exists: nobody else has its handle before the capture ends.
            let _ = self.remove_graph(capture.graph);
        }
    }

    fn remove_streams_from_capture(&mut self, id: u64) {
        let members = self
            .streams
            .values_mut()
            .filter(|stream| stream.capture == Some(id));
        members.for_each(|stream| stream.capture = None);
    }

    /// Begins a capture on `stream`. STREAM_CAPTURE_UNSUPPORTED for the legacy stream,
    /// ILLEGAL_STATE for a stream that captures already.
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
        let number = self.new_id();
        let graph = self.graphs.insert(Graph::new(context, number));
        let capture = Capture {
            context,
            origin: stream,
            mode,
            thread: thread::number(),
            is_invalidated: false,
            graph,
            unjoined: BTreeSet::new(),
        };
        self.captures.insert(id, capture);
        Ok(())
    }

    /// Ends the capture on `stream` and returns its graph. ILLEGAL_STATE without a capture;
    /// UNMATCHED if the capture began on another stream; WRONG_THREAD on another thread than the
    /// one that began it, unless the mode is RELAXED; INVALIDATED; UNJOINED.
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
        if capture.mode != RELAXED && capture.thread != thread::number() {
            return Err(Code::STREAM_CAPTURE_WRONG_THREAD);
        }
        let graph = capture.graph;
        let result = if capture.is_invalidated {
            Err(Code::STREAM_CAPTURE_INVALIDATED)
        } else if !capture.unjoined.is_empty() {
            Err(Code::STREAM_CAPTURE_UNJOINED)
        } else {
            Ok(())
        };
        self.remove_streams_from_capture(id);
        match result {
            Ok(()) => drop(self.captures.remove(&id)),
            Err(_) => self.discard_capture(id),
        }
        result.map(|()| graph)
    }

    /// Runs `operation` on `stream`, or captures it.
    pub(crate) fn submit(&mut self, stream: Handle, operation: Operation) -> Answer {
        let Some(id) = self.use_for_capture(stream)? else {
            self.enqueue(stream, operation, 0)?;
            return self.count_operation(stream);
        };
        if let Some(capture) = self.captures.get_mut(&id) {
            let graph = capture.graph;
            if capture.origin != stream {
                capture.unjoined.insert(stream);
            }
            self.add_node(graph, operation)?;
        }
        Ok(())
    }

    /// Appends `operation` to `stream`: its modelled time and its deferred computation. `node` is
    /// the number of the graph node, or 0 outside graphs.
    pub(crate) fn enqueue(&mut self, stream: Handle, operation: Operation, node: u64) -> Answer {
        let kind = self.activity_kind(&operation, stream);
        let (ns, task) = match operation {
            Operation::EventRecord(event) => return self.record_event(event, stream),
            operation => self.model(operation)?,
        };
        let start = self.append_work(stream, ns)?;
        if let Some(kind) = kind {
            let times = (start, start.saturating_add(ns));
            self.add_stream_activity(stream, times, node, kind);
        }
        let context = self.streams.get(stream)?.context;
        self.deferred.push(context, task);
        Ok(())
    }

    /// The duration of `operation` in ns, and the task that computes it.
    fn model(&mut self, operation: Operation) -> Answer<(u64, Task)> {
        Ok(match operation {
            Operation::Launch(launch) => {
                let ns = self.durations.kernel(launch.kernel.name, launch.work());
                (ns, Task::Launch(launch))
            }
            Operation::Upload {
                target,
                source,
                len,
            } => {
                let ns = self.durations.copy(len, CopyRoute::Host);
                let bytes = {
                    let _pause = clock::Pause::new();
                    source.read(len)?
                };
                (ns, Task::Upload { target, bytes })
            }
            Operation::Download {
                target,
                source,
                len,
            } => {
                let ns = self.durations.copy(len, CopyRoute::Host);
                let task = Task::Download {
                    target,
                    source,
                    len,
                };
                (ns, task)
            }
            Operation::Copy {
                target,
                source,
                len,
            } => {
                let ns = self.durations.copy(len, CopyRoute::Device);
                let task = Task::Copy {
                    target,
                    source,
                    len,
                };
                (ns, task)
            }
            Operation::Memset { target, value, len } => {
                let ns = self.durations.memset(len);
                (ns, Task::Memset { target, value, len })
            }
            // Handled by `enqueue`, and by the launch of the graph.
            Operation::EventRecord(_) | Operation::ChildGraph { .. } => return Err(Code::UNKNOWN),
        })
    }

    /// Records `event` on a stream of capture `id`. The record takes no time.
    pub(crate) fn record_captured_event(
        &mut self,
        event: Handle,
        stream: Handle,
        id: u64,
    ) -> Answer {
        self.events.get_mut(event)?.last_record = LastRecord::Captured(id, stream);
        Ok(())
    }

    /// Makes `stream` wait for `event`. A captured event adds the stream to its capture, or joins a
    /// stream that was added before. MERGE of two captures, and ISOLATION, a dependency on work
    /// outside, invalidate the captures.
    pub(crate) fn wait_event(&mut self, stream: Handle, event: Handle) -> Answer {
        let record = self.events.get(event)?.last_record;
        match (self.use_for_capture(stream)?, record) {
            (_, LastRecord::Never) => {}
            (None, LastRecord::At(time)) => {
                let stream = self.streams.get_mut(stream)?;
                stream.tail = stream.tail.max(time);
            }
            (Some(id), LastRecord::At(_)) => {
                self.invalidate(id);
                return Err(Code::STREAM_CAPTURE_ISOLATION);
            }
            (Some(id), LastRecord::Captured(other, _)) if id != other => {
                self.invalidate(id);
                self.invalidate(other);
                return Err(Code::STREAM_CAPTURE_MERGE);
            }
            (own, LastRecord::Captured(id, from)) => {
                let capture = self.captures.get_mut(&id).ok_or(Code::CAPTURED_EVENT)?;
                if own.is_some() && from != stream {
                    capture.unjoined.remove(&from);
                }
                if own.is_none() {
                    capture.unjoined.insert(stream);
                    self.streams.get_mut(stream)?.capture = Some(id);
                }
            }
        }
        Ok(())
    }
}
