//! Comparisons of simulated runs, and of broken ones.

mod formats;
mod gate;
mod noise;
mod simulated_runs;
mod warnings;
