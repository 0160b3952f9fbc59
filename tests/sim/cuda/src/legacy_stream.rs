//! The legacy default stream: its order with the context's blocking streams (API reference, Stream
//! synchronization behavior) and what it must not do beside their capture (programming guide,
//! Prohibited and Unhandled Operations). A per-thread default stream is a blocking one. Must never
//! decide what an operation does.

use crate::abi::{Answer, Handle};
use crate::clock;
use crate::codes::Code;
use crate::state::State;
use crate::stream::Stream;

impl State {
    /// Queues `ns` of work on the resolved `stream` and gives when it starts: not before now, after
    /// what the stream has queued, and after what the legacy stream's order puts before it.
    pub(crate) fn occupy(&mut self, stream: Handle, ns: u64) -> Answer<u64> {
        let before = self.queued_before(stream)?;
        let start = before.max(clock::now());
        self.streams.get_mut(stream)?.tail = start.saturating_add(ns);
        Ok(start)
    }

    /// When everything that the resolved `stream` stands for has ended: the legacy one stands for
    /// every blocking stream of its context.
    pub(crate) fn ended(&self, stream: Handle) -> Answer<u64> {
        if self.is_legacy(stream) {
            self.queued_before(stream)
        } else {
            Ok(self.streams.get(stream)?.tail)
        }
    }

    /// STREAM_CAPTURE_IMPLICIT where `stream` is the legacy one and a blocking stream of its
    /// context captures.
    pub(crate) fn not_implicit(&self, stream: Handle) -> Answer {
        let context = self.streams.get(stream)?.context;
        if self.is_legacy(stream) && self.blocking(context).any(|s| s.capture.is_some()) {
            Err(Code::STREAM_CAPTURE_IMPLICIT)
        } else {
            Ok(())
        }
    }

    /// Spoils the captures that a use of the legacy stream of `stream`'s context would depend on.
    pub(crate) fn spoil_blocking_captures(&mut self, stream: Handle) -> Answer {
        let context = self.streams.get(stream)?.context;
        let spoilt: Vec<u64> = self.blocking(context).filter_map(|s| s.capture).collect();
        spoilt.into_iter().for_each(|id| self.invalidate(id));
        Ok(())
    }

    fn queued_before(&self, stream: Handle) -> Answer<u64> {
        let own = self.streams.get(stream)?;
        if !own.blocking() {
            return Ok(own.tail);
        }
        let legacy = self.living(own.context)?.legacy;
        if stream == legacy {
            let tails = self.blocking(own.context).map(|stream| stream.tail);
            return Ok(tails.max().unwrap_or(own.tail));
        }
        Ok(own.tail.max(self.streams.get(legacy)?.tail))
    }

    /// The blocking streams of `context`, the legacy one among them.
    fn blocking(&self, context: Handle) -> impl Iterator<Item = &Stream> {
        self.streams
            .values()
            .filter(move |stream| stream.context == context && stream.blocking())
    }
}
