//! From records to a profile: which CUDA call caused an activity, which profiled call made that
//! CUDA call, and the totals per function and window.

mod captures;
mod correlate;
mod correlation;
mod exposed_copies;
mod interval_union;
mod open_calls;
pub(crate) mod state;
pub(crate) mod symbols;
pub(crate) mod tables;
pub(crate) mod to_profile;
mod totals;
mod windows;
