//! The legacy default stream: its order with the context's blocking streams (API reference, Stream
//! synchronization behavior), and its use during their capture (programming guide, Prohibited and
//! Unhandled Operations). A per-thread default stream is a blocking one.

use crate::abi::Handle;
use crate::clock;
use crate::objects::Stream;
use crate::result_codes::{Answer, Code};
use crate::state::State;

impl State {
    /// Appends `ns` of work to the resolved `stream` and returns when it starts: after the present,
    /// the stream's tail, and the work that the order with the legacy stream puts before it.
    pub(crate) fn append_work(&mut self, stream: Handle, ns: u64) -> Answer<u64> {
        let start = self.next_start(stream)?;
        self.streams.get_mut(stream)?.tail = start.saturating_add(ns);
        Ok(start)
    }

    /// When work that is appended to the resolved `stream` now starts.
    pub(crate) fn next_start(&self, stream: Handle) -> Answer<u64> {
        Ok(self.end_of_earlier_work(stream)?.max(clock::now()))
    }

    /// When the work that a wait for the resolved `stream` covers ends: for the legacy stream, that
    /// of every blocking stream of its context.
    pub(crate) fn busy_until(&self, stream: Handle) -> Answer<u64> {
        if self.is_legacy(stream) {
            self.end_of_earlier_work(stream)
        } else {
            Ok(self.streams.get(stream)?.tail)
        }
    }

    /// STREAM_CAPTURE_IMPLICIT if `stream` is the legacy one and a blocking stream of its context
    /// captures.
    pub(crate) fn check_implicit_dependency(&self, stream: Handle) -> Answer {
        let context = self.streams.get(stream)?.context;
        let mut blocking = self.blocking_streams(context);
        if self.is_legacy(stream) && blocking.any(|stream| stream.capture.is_some()) {
            Err(Code::STREAM_CAPTURE_IMPLICIT)
        } else {
            Ok(())
        }
    }

    /// Invalidates the captures of the blocking streams in the context of `stream`.
    pub(crate) fn invalidate_blocking_captures(&mut self, stream: Handle) -> Answer {
        let context = self.streams.get(stream)?.context;
        let blocking = self.blocking_streams(context);
        let captures: Vec<u64> = blocking.filter_map(|stream| stream.capture).collect();
        captures.into_iter().for_each(|id| self.invalidate(id));
        Ok(())
    }

    fn end_of_earlier_work(&self, stream: Handle) -> Answer<u64> {
        let own = self.streams.get(stream)?;
        if !own.is_blocking() {
            return Ok(own.tail);
        }
        let legacy = self.context(own.context)?.legacy;
        if stream == legacy {
            let blocking = self.blocking_streams(own.context);
            let tails = blocking.map(|stream| stream.tail);
            return Ok(tails.max().unwrap_or(own.tail));
        }
        Ok(own.tail.max(self.streams.get(legacy)?.tail))
    }

    /// The blocking streams of `context`, including the legacy stream.
    fn blocking_streams(&self, context: Handle) -> impl Iterator<Item = &Stream> {
        self.streams
            .values()
            .filter(move |stream| stream.context == context && stream.is_blocking())
    }
}
