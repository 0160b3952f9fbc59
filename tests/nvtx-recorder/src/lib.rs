//! An NVTX injection library that writes down every call a program makes.
//!
//! Why: Nsight Systems shows what NVTX received, but a test needs it exactly, on any machine and in
//! milliseconds. NVTX itself offers the way: at the first call it loads the library named by
//! `NVTX_INJECTION64_PATH` and hands it the table of its functions. The cdylib of this package is
//! such a library. It writes one JSON line per call to the file named by [`LOG`]; the rlib of this
//! package runs a program that way ([`record`]) and reads the lines back ([`read`]).
//!
//! Recorded are all functions of NVTX's modules CORE and CORE2 except the naming of resources. The
//! A and the W form of a function make the same line.
//!
//! Must never import: gpuprof or the `nvtx` crate. What is under test cannot be the witness too.

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
