//! Comparisons of simulated runs, and of broken ones.

mod bounds;
mod formats;
mod gate;
mod memory;
mod noise;
mod simulated_runs;
mod warnings;
