//! The checks: which there are. A new one is a file here and a line in [`all`].

mod accuracy;
mod blocking;
mod by_hand;
mod capture;
mod contexts;
mod cost;
mod driver;
mod ends;
mod estimates;
mod exit;
mod graphs;
mod kernels;
mod program;
mod queued;
mod slowdown;
mod spread;
mod streams;

use std::process::ExitCode;

use crate::check::{Check, World};

/// A program that a check runs to see how it ends, by its name on the command line.
pub(crate) type Scene = (&'static str, fn(&World) -> Result<ExitCode, String>);

/// Every check, in the order in which they run.
pub(crate) fn all() -> impl Iterator<Item = &'static Check> {
    let files: [&'static [Check]; 14] = [
        blocking::CHECKS,
        capture::CHECKS,
        exit::CHECKS,
        ends::CHECKS,
        streams::CHECKS,
        contexts::CHECKS,
        graphs::CHECKS,
        driver::CHECKS,
        accuracy::CHECKS,
        estimates::CHECKS,
        cost::CHECKS,
        slowdown::CHECKS,
        program::CHECKS,
        kernels::CHECKS,
    ];
    files.into_iter().flatten()
}

/// Every scene.
pub(crate) fn scenes() -> impl Iterator<Item = &'static Scene> {
    let files: [&'static [Scene]; 9] = [
        exit::SCENES,
        ends::SCENES,
        contexts::SCENES,
        estimates::SCENES,
        driver::SCENES,
        accuracy::SCENES,
        slowdown::SCENES,
        program::SCENES,
        kernels::SCENES,
    ];
    files.into_iter().flatten()
}
