//! The run time of gpuprof. Programs use the crate `gpuprof`, which re-exports what is public here.

pub mod profile;
#[cfg(feature = "enable")]
pub mod report;
