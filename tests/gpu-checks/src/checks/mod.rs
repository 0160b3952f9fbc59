//! The list of all checks. A new check is a file here and a line in [`all`].

mod accuracy;
mod any_program;
mod blocking;
mod budget;
mod contexts;
mod cost;
mod cupti;
mod driver;
mod exit;
mod graphs;
mod installed;
mod open_calls;
mod sampling;
mod service;
mod shared_streams;
mod slowdown;
mod standby;
mod stream_choice;
mod streams;
mod termination;
mod time_line;
mod watched;

use std::process::ExitCode;

use crate::check::{Check, RunMode};

/// A test program that a check runs in a process of its own, by its name on the command line.
pub(crate) type TestProgram = (&'static str, fn(&RunMode) -> Result<ExitCode, String>);

/// Every check, in execution order.
pub(crate) fn all() -> impl Iterator<Item = &'static Check> {
    let files: [&'static [Check]; 21] = [
        blocking::CHECKS,
        exit::CHECKS,
        termination::CHECKS,
        open_calls::CHECKS,
        streams::CHECKS,
        stream_choice::CHECKS,
        shared_streams::CHECKS,
        contexts::CHECKS,
        graphs::CHECKS,
        driver::CHECKS,
        accuracy::CHECKS,
        sampling::CHECKS,
        cost::CHECKS,
        slowdown::CHECKS,
        budget::CHECKS,
        watched::CHECKS,
        standby::CHECKS,
        service::CHECKS,
        cupti::CHECKS,
        time_line::CHECKS,
        any_program::CHECKS,
    ];
    files.into_iter().flatten()
}

/// Every test program.
pub(crate) fn test_programs() -> impl Iterator<Item = &'static TestProgram> {
    let files: [&'static [TestProgram]; 12] = [
        exit::PROGRAMS,
        termination::PROGRAMS,
        open_calls::PROGRAMS,
        contexts::PROGRAMS,
        sampling::PROGRAMS,
        driver::PROGRAMS,
        accuracy::PROGRAMS,
        slowdown::PROGRAMS,
        budget::PROGRAMS,
        watched::PROGRAMS,
        standby::PROGRAMS,
        cupti::PROGRAMS,
    ];
    files.into_iter().flatten()
}
