//! The CUDA driver: its functions, their safe wrappers, and what it says about a device.

pub(in crate::gpu) mod api;
pub(in crate::gpu) mod device;
pub(in crate::gpu) mod handles;
pub(in crate::gpu) mod table;
