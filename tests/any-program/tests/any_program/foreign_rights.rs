//! Promise: a program that has rights which its user lacks is not measured, and nothing is written
//! for the environment that this user has set.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use support::program::Ended;
use support::suite::Module;
use support::tests;

use crate::machine::Machine;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        without_foreign_rights_the_program_is_measured,
        with_foreign_rights_nothing_is_measured_or_written,
    ]],
);

/// A user without rights of its own.
const NOBODY: u32 = 65_534;

/// Runs the C program of root, with this mode, as nobody and in a folder of nobody's. Returns how
/// it ended and which files it wrote.
fn run(mode: u32) -> (Ended, Vec<String>) {
    let machine = Machine::new();
    let folder = machine.folder.path("");
    // The loader ignores LD_LIBRARY_PATH in a set-user-id program.
    let option = format!("-Wl,-rpath,{}", folder.display());
    let program = machine.compile("program", "program.c", &[OsStr::new(&option)]);
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("ours");
    chown(&folder, Some(NOBODY), Some(NOBODY)).expect("as root");
    fs::set_permissions(&program, Permissions::from_mode(mode)).expect("ours");
    let before = machine.folder.files();
    let ended = machine
        .run(&program)
        .user(NOBODY)
        .folder(&machine.folder)
        .env("GPUPROF_REPORT", "table,json=report.json")
        .env("GPUPROF_METRICS", "prometheus=metrics.prom")
        .run();
    let mut files = machine.folder.files();
    files.retain(|file| !before.contains(file));
    (ended, files)
}

/// Only root can give a file to another user and become one. For others `cargo xtask test` says
/// that this is not tested.
fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn without_foreign_rights_the_program_is_measured() {
    if !is_root() {
        return;
    }
    let (ended, files) = run(0o755);
    assert_eq!((ended.status.code(), ended.reports()), (Some(7), 1));
    assert_eq!(files, ["metrics.prom", "report.json"]);
}

fn with_foreign_rights_nothing_is_measured_or_written() {
    if !is_root() {
        return;
    }
    let (ended, files) = run(0o4755);
    assert_eq!(
        (ended.status.code(), &*ended.stdout),
        (Some(7), &b"done\n"[..])
    );
    assert!(!ended.stderr.contains("gpuprof"), "{}", ended.stderr);
    assert_eq!(files, [""; 0]);
}
