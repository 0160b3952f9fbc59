//! The facts of this process: program, machine, rank.

use crate::os;
use gpuprof_report::profile::Profile;

/// Variables in which launchers set the rank of a process, in the order in which they are read.
const RANK_VARIABLES: [&str; 4] = ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"];

/// The same of the number of ranks.
const SIZE_VARIABLES: [&str; 4] = [
    "WORLD_SIZE",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "SLURM_NTASKS",
];

/// Adds them to a profile.
pub(crate) fn add_to(profile: &mut Profile) {
    profile.program = program();
    profile.pid = std::process::id();
    profile.host = os::host_name();
    profile.rank = rank();
}

/// The program's file name.
pub(crate) fn program() -> String {
    let exe = std::env::current_exe()
        .ok()
        .or_else(|| std::env::args_os().next().map(Into::into));
    exe.and_then(|exe| Some(exe.file_name()?.to_string_lossy().into_owned()))
        .unwrap_or_else(|| "program".to_owned())
}

/// The rank of the process in its job.
pub(crate) fn rank() -> Option<u32> {
    first_number(&RANK_VARIABLES)
}

/// The ranks of the job.
pub(crate) fn ranks() -> Option<u32> {
    first_number(&SIZE_VARIABLES)
}

fn first_number(variables: &[&str]) -> Option<u32> {
    variables
        .iter()
        .find_map(|name| std::env::var(name).ok()?.trim().parse().ok())
}
