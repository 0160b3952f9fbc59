//! Running programs with `GPUPROF_LIVE=on`: finds and asks them.

mod connection;
mod programs;

pub(crate) use connection::{Connection, LiveError};
pub(crate) use programs::connect;
