//! A simulated libcupti, so that gpuprof's use of CUPTI can be built, tested and demonstrated on
//! machines without a GPU.
//!
//! As with the simulated driver that feeds it, one source makes two libraries. The cdylib *is*
//! libcupti: it exports the `cupti*` functions that gpuprof looks up, and because its SONAME is
//! `libcupti.so.13`, a `dlopen("libcupti.so.13")` finds it once it is loaded. The rlib loads that
//! file ([`install`], [`install_with`]) and controls it ([`Cupti`]); `simcuda::real_or_simulated`
//! loads it too. All state is in the loaded library: nothing in [`Cupti`] may call the copy of its
//! code that is linked into the rlib.
//!
//! It behaves as CUPTI 13.0 did on an H200 with driver 580.159.04: the fields of the records, their
//! order, and when a buffer is returned. Time stamps are those of the simulated driver's clock,
//! which `cuptiGetTimestamp` returns. Comments mark behaviour that was not observed there or is
//! simplified.
//!
//! # Environment
//! | variable | meaning |
//! |---|---|
//! | `GPUPROF_SIM_CUPTI` | path of the built `libsimcupti.so` |
//! | `GPUPROF_SIM_CUPTI_VERSION` | `12.0`, `13.0` or `13.3`, if the program does not install it |
//!
//! This crate must never depend on gpuprof, cudarc or simcuda, because the library must export no
//! names but CUPTI's.

mod abi;
mod buffers;
mod call_records;
mod call_wrapper;
mod callbacks;
mod calls_in_waits;
mod clients;
mod control;
mod counter_data;
mod counter_model;
mod cubin_image;
mod driver;
mod exports;
mod function_names;
mod held_buffers;
mod kernel_records;
mod kinds;
mod known_kernels;
mod launch_locks;
mod library_statics;
mod load;
mod metric_table;
mod modules;
mod parameters;
mod pc_samples;
mod pc_sampling;
mod pc_sampling_parameters;
mod pm_sampling;
mod profiler;
mod profiler_host;
mod record;
mod record_sizes;
mod result_codes;
mod stall_model;
mod state;
mod subscribers;

pub use control::{Cupti, InvalidStamps, Order};
pub use counter_model::KernelCounters;
pub use cubin_image::Instruction;
pub use load::{InstallError, Options, install, install_with};
pub use profiler::Profiler;
pub use record_sizes::Version;
pub use stall_model::StallModel;
