//! Promise: with `GPUPROF_LIVE=on` viewers of the same user see the counters of the running
//! program, exactly, and nothing that a viewer does disturbs the program.

mod access;
mod counters;
mod files;
mod limits;
mod standby;
mod standby_again;
mod standby_content;
mod standby_profilers;
mod standby_refusals;
mod standby_viewers;
mod traces;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        counters::MODULE,
        traces::MODULE,
        limits::MODULE,
        access::MODULE,
        standby::MODULE,
        standby_again::MODULE,
        standby_content::MODULE,
        standby_profilers::MODULE,
        standby_refusals::MODULE,
        standby_viewers::MODULE,
    ])
}
