//! The checks: which there are. A new one is a file here and a line in [`all`].

mod accuracy;
mod blocking;
mod capture;
mod contexts;
mod cost;
mod cupti;
mod driver;
mod exit;
mod graphs;
mod known_durations;
mod raw_driver;
mod sampling;
mod slowdown;
mod statistics;
mod streams;
mod termination;
mod transformer;

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
        termination::CHECKS,
        streams::CHECKS,
        contexts::CHECKS,
        graphs::CHECKS,
        driver::CHECKS,
        accuracy::CHECKS,
        sampling::CHECKS,
        cost::CHECKS,
        slowdown::CHECKS,
        transformer::CHECKS,
        cupti::CHECKS,
    ];
    files.into_iter().flatten()
}

/// Every scene.
pub(crate) fn scenes() -> impl Iterator<Item = &'static Scene> {
    let files: [&'static [Scene]; 9] = [
        exit::SCENES,
        termination::SCENES,
        contexts::SCENES,
        sampling::SCENES,
        driver::SCENES,
        accuracy::SCENES,
        slowdown::SCENES,
        transformer::SCENES,
        cupti::SCENES,
    ];
    files.into_iter().flatten()
}
