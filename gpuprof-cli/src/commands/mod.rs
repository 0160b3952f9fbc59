//! One file for each command.

pub(crate) mod describe;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod export;
mod look_arguments;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod merge;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod snapshot;
pub(crate) mod top;
pub(crate) mod trace;
