//! What gpuprof's tests share.
//!
//! - [`suite`] runs each test of a binary in a process of its own.
//! - [`World`] is the simulated device under a virtual clock: every time has one exact value.
//! - [`profile_lookups`] reads a profile, and [`profile_consistency`] checks what holds in every
//!   profile.
//! - [`program`] runs a whole process and returns its output, its status and its report.

// Test helpers: their names say what they are.
#![allow(missing_docs)]

pub mod cupti_from_environment;
pub mod cupti_world;
pub mod current_test_file;
pub mod executor;
pub mod foreign_context;
pub mod graph_capture;
pub mod independent_saxpy;
pub mod profile_consistency;
pub mod profile_lookups;
pub mod program;
pub mod report_text;
pub mod sampled_world;
mod simulated_world;
pub mod suite;
pub mod viewer;

pub use profile_consistency::assert_consistent;
pub use profile_lookups::{cpu_times, function, gpu, gpu_times, node, one_in};
pub use promises::on_two_threads;
pub use simulated_world::{Gpu, World, until, world, world_with};
