//! What the rest of the runtime calls where gpuprof is built without its feature `cupti`: nothing is recorded.
//!
//! Must import nothing of gpuprof's but what is plain data.

use std::time::Duration;

use super::Counts;

pub(crate) fn start() {}

pub(crate) fn drain(_limit: Duration) {}

pub(crate) fn drain_last(_limit: Duration) {}

pub(crate) fn counts() -> Option<Counts> {
    None
}

/// For a session that asks for it; whoever asked by the environment was told at once.
pub(crate) fn notes() -> Vec<String> {
    vec!["kernels are not recorded: gpuprof is built without its feature cupti".to_owned()]
}
