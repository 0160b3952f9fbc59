//! Promise: programs that know nothing of gpuprof are measured as a whole, and end as without it.

mod copies_of_gpuprof;
mod foreign_rights;
mod machine;
mod outcomes;
mod own_profiler;
mod parts;
mod programs;
mod python;
mod ranges;
mod standby;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        programs::MODULE,
        python::MODULE,
        ranges::MODULE,
        outcomes::MODULE,
        own_profiler::MODULE,
        parts::MODULE,
        copies_of_gpuprof::MODULE,
        foreign_rights::MODULE,
        standby::MODULE,
    ])
}
