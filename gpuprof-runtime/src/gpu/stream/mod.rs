//! Streams: how programs name one, and what keeps it and its context alive.

pub(in crate::gpu) mod context_guard;
pub(in crate::gpu) mod hold;
pub(in crate::gpu) mod stream_ref;
