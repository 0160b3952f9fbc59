//! Promise: a program that has rights which its user lacks does nothing for the environment that
//! this user has set.

mod program;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use support::program::{Ended, Folder, Program};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    without_foreign_rights_the_environment_counts,
    with_foreign_rights_nothing_is_written_loaded_or_measured,
];

/// A user without rights of its own.
const NOBODY: u32 = 65_534;

/// A folder of nobody's with a copy of this binary, which belongs to root.
struct Place {
    folder: Folder,
    program: PathBuf,
}

impl Place {
    fn new(mode: u32) -> Self {
        let folder = Folder::create();
        fs::set_permissions(folder.path(""), Permissions::from_mode(0o755)).expect("it is ours");
        let program = folder.path("program");
        let this = std::env::current_exe().expect("a test has a path");
        fs::copy(this, &program).expect("a copy");
        std::os::unix::fs::chown(folder.path(""), Some(NOBODY), Some(NOBODY)).expect("as root");
        fs::set_permissions(&program, Permissions::from_mode(mode)).expect("it is ours");
        Self { folder, program }
    }

    /// Runs as nobody, with settings that write a file and load two libraries.
    fn run(&self, scenario: &str) -> Ended {
        // A library that cannot be loaded says so, and NVTX ends the program.
        let library = self.folder.path("library.so");
        Program::at(&self.program)
            .scenario(scenario)
            .user(NOBODY)
            .folder(&self.folder)
            .env("GPUPROF_REPORT", "json=report.json")
            .env("GPUPROF_CUPTI", "on")
            .env("GPUPROF_CUPTI_LIBRARY", &library)
            .env("NVTX_INJECTION64_PATH", &library)
            .run()
    }

    fn has_report(&self) -> bool {
        self.folder.path("report.json").exists()
    }
}

/// Only root can give a file to another user and become one. For others `cargo xtask test` says
/// that this is not tested.
fn is_root() -> bool {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

fn without_foreign_rights_the_environment_counts() {
    if !is_root() {
        return;
    }
    let place = Place::new(0o755);
    let ended = place.run("by the environment");
    assert!(place.has_report(), "{ended:?}");
}

fn with_foreign_rights_nothing_is_written_loaded_or_measured() {
    if !is_root() {
        return;
    }
    for scenario in ["by the environment", "in a session"] {
        let place = Place::new(0o4755);
        let ended = place.run(scenario);
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        assert_eq!(
            ended.stderr,
            "gpuprof: off: this program has rights that its user lacks (set-user-id, set-group-id \
             or file capabilities)\n"
        );
        assert!(!place.has_report(), "{scenario}");
    }
}
