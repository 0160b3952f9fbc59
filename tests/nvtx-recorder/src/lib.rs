//! An NVTX injection library that records every call of a program.
//!
//! Tests need exactly what NVTX received, on any machine and within milliseconds. At its first call
//! NVTX loads the library named by `NVTX_INJECTION64_PATH` and passes it the table of its
//! functions. The cdylib of this package is such a library. It writes one JSON line per call to the
//! file named by [`LOG`]; the rlib of this package runs a program with it ([`record`]) and reads
//! the lines back ([`read`]).
//!
//! All functions of NVTX's modules CORE and CORE2 are recorded except the naming of resources. The
//! A and the W form of a function produce the same line.
//!
//! This package depends neither on gpuprof nor on the `nvtx` crate, which are under test.

mod abi;
mod call;
mod domain_calls;
mod event_attributes;
mod global_calls;
mod handles;
mod injection;
mod log;
mod run;

pub use call::{Call, Op, PayloadType};
pub use run::{LOG, library, read, record};
