//! Merging is exact, orders nothing by chance, and fails on nothing.

pub(crate) mod arbitrary;
mod exact;
mod launch_lines;
mod memory;
mod ranges;
mod ranks;
mod records;
mod stalls;
