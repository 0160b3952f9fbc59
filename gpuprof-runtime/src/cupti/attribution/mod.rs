//! Attributes CUPTI records: finds the CUDA API call that caused each activity and the profiled
//! call that made it, and sums totals per function and window.

mod captures;
mod correlate;
mod correlation;
mod exposed_copies;
mod interval_union;
mod open_calls;
pub(crate) mod shared;
pub(crate) mod symbols;
pub(crate) mod tables;
pub(crate) mod to_profile;
mod totals;
mod windows;
