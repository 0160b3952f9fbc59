//! Comparisons of simulated runs, and of broken ones.

mod formats;
mod gate;
#[cfg(feature = "html")]
mod html;
mod memory;
mod noise;
mod simulated_runs;
mod warnings;
