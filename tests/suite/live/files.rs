//! Files by which a test and its program wait for each other.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use support::program::{Folder, Program, Running};

/// The folder of these files. `GPUPROF_TEST_` variables are not settings of gpuprof.
const FOLDER: &str = "GPUPROF_TEST_LIVE_FOLDER";

/// `scenario` with a live view in `folder`, once it is ready.
pub(crate) fn start(scenario: &str, folder: &Folder) -> Running {
    program(scenario, folder).start().until_ready()
}

/// `scenario` with a live view in `folder`.
pub(crate) fn program(scenario: &str, folder: &Folder) -> Program {
    Program::new(scenario)
        .env("GPUPROF_LIVE", "on")
        .env("XDG_RUNTIME_DIR", folder.path(""))
        .env(FOLDER, folder.path(""))
}

/// Lets the other side go on.
pub(crate) fn say(folder: &Folder, word: &str) {
    fs::write(folder.path(word), "").expect("the folder can be written");
}

/// Waits for the program.
pub(crate) fn hear(folder: &Folder, word: &str) {
    wait(&folder.path(word));
}

/// The same by the program.
pub(crate) fn say_to_test(word: &str) {
    fs::write(in_program(word), "").expect("the folder can be written");
}

/// The same by the program.
pub(crate) fn hear_from_test(word: &str) {
    wait(&in_program(word));
}

/// The path of a file, in the program.
pub(crate) fn in_program(word: &str) -> PathBuf {
    PathBuf::from(env::var_os(FOLDER).expect("the test sets it")).join(word)
}

fn wait(path: &Path) {
    let began = Instant::now();
    while !path.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "{path:?}");
        thread::sleep(Duration::from_millis(1));
    }
}
