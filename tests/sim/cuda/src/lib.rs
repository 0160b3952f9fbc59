//! A simulated CUDA driver, so that machines without a GPU build, test and demonstrate gpuprof.
//!
//! One source, two libraries. The cdylib *is* the driver: it exports the `cu*` functions that cudarc and
//! gpuprof resolve, and its SONAME `libcuda.so` makes a later `dlopen("libcuda.so")` find it once it is
//! loaded. The rlib loads that file ([`install`], [`install_with`], [`real_or_simulated`]) and steers it
//! ([`Sim`]). All driver state lives in the loaded library. The rlib carries a second, dead copy of the
//! driver's code: nothing in [`Sim`] may call it, only what `dlsym` gives.
//!
//! A program that uses the rlib must load its driver at run time, as cudarc does by default. Linked with
//! `-lcuda` it could bind to that dead copy.
//!
//! Time is modelled, not slept: each stream has a tail; an operation starts at max(tail, now, awaited
//! events) and ends after its modelled duration. "Now" is the host's monotonic clock or, for tests, a
//! virtual clock that only synchronizing calls, [`Sim::set_call_ns`] and [`Sim::advance`] move.
//! Kernels compute real results on the host, by name and known signature.
//!
//! # Environment
//! | variable | meaning |
//! |---|---|
//! | `GPUPROF_SIM=1` | [`real_or_simulated`] takes the simulator without asking for a real device |
//! | `GPUPROF_SIM_DRIVER` | path of the built `libsimcuda.so` |
//! | `GPUPROF_SIM_CUPTI` | path of the built `libsimcupti.so` |
//! | `GPUPROF_SIM_DEVICES` | number of devices where the program does not install the simulator itself |
//! | `GPUPROF_SIM_KERNEL_NS` | modelled duration of every kernel, in ns |
//!
//! This crate must never depend on gpuprof or cudarc: it stands below both.

mod abi;
mod capture;
mod capture_rules;
mod clock;
mod codes;
mod context;
mod control;
mod deferred;
mod device;
mod durations;
mod event;
mod executor;
mod exports;
mod fault;
mod graph;
mod handle_table;
mod kernels;
mod legacy_stream;
mod load;
mod memory;
mod module;
mod objects;
mod observer;
mod probe;
mod state;
mod stream;
mod stream_queue;
mod symbols;
mod thread;

pub use control::Sim;
pub use load::{InstallError, Options, install, install_with};
pub use probe::{Device, real_or_simulated};
