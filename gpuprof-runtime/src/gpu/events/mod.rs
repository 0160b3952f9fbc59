//! Event pairs: pools per context, a cache per thread, and recording them.

pub(in crate::gpu) mod async_share;
pub(in crate::gpu) mod pool;
pub(in crate::gpu) mod pools;
pub(in crate::gpu) mod record;
pub(in crate::gpu) mod thread_cache;
pub(in crate::gpu) mod thread_context;
