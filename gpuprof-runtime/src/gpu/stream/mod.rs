//! Streams: how programs name one, and what it resolves to.

pub(in crate::gpu) mod call_streams;
pub(in crate::gpu) mod context_guard;
pub(in crate::gpu) mod hold;
mod inherit;
pub(in crate::gpu) mod parameter_search;
pub(in crate::gpu) mod resolve;
pub(in crate::gpu) mod span_streams;
pub(in crate::gpu) mod stream_ref;
