//! What the simulated driver and the simulated libcupti have in common: how a built library is found and loaded, what the driver
//! tells whoever watches it, and the numbers that CUPTI gives its functions.
//!
//! Why a package of its own: each of the two is a library with exported C names, and a library that depended on the other would
//! export the other's names too. Must never import either of them, nor gpuprof or cudarc.

pub mod activity;
pub mod cbid;
pub mod library;
