//! Event pairs: pools per context, the streams of each thread, and recording.

pub(in crate::gpu) mod async_share;
pub(in crate::gpu) mod event_overhead;
pub(in crate::gpu) mod handshake;
pub(in crate::gpu) mod pair_stock;
pub(in crate::gpu) mod pool;
pub(in crate::gpu) mod pools;
pub(in crate::gpu) mod record;
pub(in crate::gpu) mod span;
pub(in crate::gpu) mod thread_stream;
