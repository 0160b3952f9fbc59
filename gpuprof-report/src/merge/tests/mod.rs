//! Merging is exact, orders nothing by chance, and fails on nothing.

mod arbitrary;
mod exact;
mod ranks;
