//! A simulated CUDA driver, so that gpuprof can be built, tested and demonstrated on machines
//! without a GPU.
//!
//! One source makes two libraries. The cdylib *is* the driver: it exports the `cu*` functions that
//! cudarc and gpuprof resolve, and because its SONAME is `libcuda.so`, a `dlopen("libcuda.so")`
//! finds it once it is loaded. The rlib loads that file ([`install`], [`install_with`],
//! [`real_or_simulated`]) and controls it ([`Sim`]). All state is in the loaded library: nothing in
//! [`Sim`] may call the copy of its code that is linked into the rlib.
//!
//! A program that uses the rlib must load its driver at run time, as cudarc does by default. If it
//! links with `-lcuda`, it may bind to that copy.
//!
//! Time is modelled: each stream has a tail. An operation starts at the latest of the tail, the
//! present and the events that it waits for, and ends after its modelled duration. The present is
//! the host's monotonic clock or, for tests, a virtual clock that only synchronizing calls,
//! [`Sim::set_call_ns`] and [`Sim::advance`] move. Kernels are identified by name and signature,
//! and compute real results on the host.
//!
//! # Environment
//! | variable | meaning |
//! |---|---|
//! | `GPUPROF_SIM=1` | [`real_or_simulated`] installs the simulator even if there is a device |
//! | `GPUPROF_SIM_DRIVER` | path of the built `libsimcuda.so` |
//! | `GPUPROF_SIM_CUPTI` | path of the built `libsimcupti.so` |
//! | `GPUPROF_SIM_DEVICES` | number of devices, if the program does not install the simulator |
//! | `GPUPROF_SIM_KERNEL_NS` | modelled duration of every kernel, in ns |
//!
//! This crate must never depend on gpuprof or cudarc, which both use it in place of a driver.

mod abi;
mod call_wrapper;
mod capture;
mod capture_rules;
mod clock;
mod context;
mod control;
mod deferred;
mod device;
mod durations;
mod event;
mod executor;
mod exports;
mod function_names;
mod graph;
mod graph_copies;
mod handle_table;
mod injection;
mod kernels;
mod legacy_stream;
mod load;
mod memory;
mod module;
mod objects;
mod observer;
mod probe;
mod result_codes;
mod state;
mod stream_gate;
mod stream_handles;
mod stream_queue;
mod thread;
mod user_objects;

pub use control::Sim;
pub use load::{InstallError, Options, install, install_with};
pub use probe::{Device, real_or_simulated, real_or_simulated_with};
