//! Promise: a report file is whole or not there, replaces what was there, is nobody else's to
//! write, and never goes through somebody's symlink; what is no file (a pipe, standard output,
//! `/dev/null`) works as users expect.

mod checks;

use std::process::ExitCode;

use gpuprof::gpu_profile;
use support::suite::Module;

pub(crate) const MODULE: Module =
    Module::new(module_path!(), &[checks::TESTS]).with_program(program);

const STDOUT: &str = "done\n";

#[gpu_profile(cpu)]
fn work() {}

fn program(scenario: &str) -> ExitCode {
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

/// No file of this process may grow beyond so many bytes; who tries is ended by a signal, unless it
/// is blocked.
fn limit_files(bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: the limit is initialized.
    let status = unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) };
    assert_eq!(status, 0, "setrlimit: {}", std::io::Error::last_os_error());
}
