//! The CUDA driver: its table of functions, their safe wrappers, and device properties.

pub(crate) mod api;
pub(crate) mod current_context;
pub(crate) mod device;
pub(crate) mod handles;
pub(crate) mod initialized;
mod peaks;
pub(crate) mod table;

pub(crate) use initialized::is_initialized;
pub(crate) use table::Driver;
#[cfg(gpuprof_test_hooks)]
pub use table::replace;
