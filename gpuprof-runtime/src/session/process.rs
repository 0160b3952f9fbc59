//! Which process a profile is of: program, machine, rank.

use std::ffi::CStr;

use gpuprof_report::profile::Profile;

/// Variables in which launchers tell a process its rank, in the order they are asked.
const RANK_VARIABLES: [&str; 4] = ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"];

/// Fills in what does not come from measuring.
pub(crate) fn fill(profile: &mut Profile) {
    profile.program = program();
    profile.pid = std::process::id();
    profile.host = host();
    profile.rank = rank();
}

/// The machine's name, at most 64 bytes on Linux.
fn host() -> String {
    let mut name = [0_u8; 65];
    // SAFETY: the pointer and the length are of one live array.
    let status = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) };
    let name = CStr::from_bytes_until_nul(&name)
        .ok()
        .filter(|_| status == 0);
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// File name of the program.
pub(crate) fn program() -> String {
    let exe = std::env::current_exe()
        .ok()
        .or_else(|| std::env::args_os().next().map(Into::into));
    exe.and_then(|exe| Some(exe.file_name()?.to_string_lossy().into_owned()))
        .unwrap_or_else(|| "program".to_owned())
}

/// Rank of the process in its job.
pub(crate) fn rank() -> Option<u32> {
    RANK_VARIABLES
        .iter()
        .find_map(|name| std::env::var(name).ok()?.trim().parse().ok())
}
