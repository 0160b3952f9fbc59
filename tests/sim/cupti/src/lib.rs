//! A simulated libcupti, so that machines without a GPU build, test and demonstrate what gpuprof makes of CUPTI's records.
//!
//! One source, two libraries, as with the simulated driver that feeds it. The cdylib *is* libcupti: it exports the `cupti*`
//! functions that gpuprof looks up, and its SONAME `libcupti.so.13` makes a later `dlopen("libcupti.so.13")` find it once it is
//! loaded. The rlib loads that file ([`install`], [`install_with`]) and steers it ([`Cupti`]); `simcuda::real_or_simulated` loads it
//! too. All state lives in the loaded library: nothing in [`Cupti`] may call the copy of its code that the rlib carries.
//!
//! It behaves as CUPTI 13.0 did on an H200 with driver 580.159.04: what the records say, in which order they stand, when a buffer
//! is handed back. Times are those of the simulated driver's clock, which `cuptiGetTimestamp` gives. What was not seen there, or is
//! simpler here, is said where it is done.
//!
//! # Environment
//! | variable | meaning |
//! |---|---|
//! | `GPUPROF_SIM_CUPTI` | path of the built `libsimcupti.so` |
//!
//! This crate must never depend on gpuprof, cudarc or simcuda: the library must export CUPTI's names alone.

mod abi;
mod buffers;
mod callbacks;
mod codes;
mod collect;
mod control;
mod driver;
mod exports;
mod fault;
mod kinds;
mod layout;
mod load;
mod record;
mod state;
mod symbols;

pub use control::{Cupti, Order, Stamps};
pub use layout::Version;
pub use load::{InstallError, Options, install, install_with};
