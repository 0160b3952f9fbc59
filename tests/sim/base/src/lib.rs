//! What the simulated driver and the simulated libcupti share: how a built library is found and
//! loaded, what the driver reports to libcupti, and the callback ids of functions.
//!
//! It is a package of its own because each of the two exports C names, and a library that depended
//! on the other would export the other's names too.

pub mod activity;
pub mod cbid;
pub mod library;
