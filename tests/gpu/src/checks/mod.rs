//! The checks: which there are. A new one is a file here and a line in [`all`].

mod accuracy;
mod blocking;
mod by_hand;
mod capture;
mod cost;
mod driver;
mod exit;
mod program;
mod slowdown;
mod spread;

use std::process::ExitCode;

use crate::check::{Check, World};

/// A program that a check runs to see how it ends, by its name on the command line.
pub(crate) type Scene = (&'static str, fn(&World) -> Result<ExitCode, String>);

/// Every check, in the order in which they run.
pub(crate) fn all() -> impl Iterator<Item = &'static Check> {
    let files: [&'static [Check]; 8] = [
        blocking::CHECKS,
        capture::CHECKS,
        exit::CHECKS,
        driver::CHECKS,
        accuracy::CHECKS,
        cost::CHECKS,
        slowdown::CHECKS,
        program::CHECKS,
    ];
    files.into_iter().flatten()
}

/// Every scene.
pub(crate) fn scenes() -> impl Iterator<Item = &'static Scene> {
    let files: [&'static [Scene]; 5] = [
        exit::SCENES,
        driver::SCENES,
        accuracy::SCENES,
        slowdown::SCENES,
        program::SCENES,
    ];
    files.into_iter().flatten()
}
