//! Running programs with `GPUPROF_LIVE=on` or `GPUPROF=standby`: finds and asks them.

mod connection;
mod programs;
#[cfg(test)]
mod tests;

pub(crate) use connection::{LiveError, ProgramConnection};
pub(crate) use programs::connect;
#[cfg(test)]
pub(crate) use tests::answering;
