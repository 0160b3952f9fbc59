//! The CUDA driver: its table of functions, their safe wrappers, and device properties.

pub(in crate::gpu) mod api;
pub(in crate::gpu) mod current_context;
pub(in crate::gpu) mod device;
pub(in crate::gpu) mod handles;
pub(in crate::gpu) mod initialized;
mod peaks;
pub(in crate::gpu) mod table;
