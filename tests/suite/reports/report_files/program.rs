//! The program that the tests of `report_files.rs` run, by scenario.

use std::process::ExitCode;

use gpuprof::gpu_profile;

pub(super) const STDOUT: &str = "done\n";

#[gpu_profile(cpu)]
fn work() {}

pub(super) fn run(scenario: &str) -> ExitCode {
    match scenario {
        "work" => {}
        "umask 0" => set_umask(0),
        "umask 77" => set_umask(0o77),
        "small files" => limit_files(100),
        _ => panic!("no scenario {scenario}"),
    }
    work();
    print!("{STDOUT}");
    ExitCode::SUCCESS
}

fn set_umask(mask: libc::mode_t) {
    // SAFETY: the call takes any number.
    unsafe { libc::umask(mask) };
}

/// Limits the size of files that this process writes, in bytes. A larger write raises SIGXFSZ,
/// which ends the process unless it is blocked.
fn limit_files(bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: the limit is initialized.
    let status = unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) };
    assert_eq!(status, 0, "setrlimit: {}", std::io::Error::last_os_error());
}
