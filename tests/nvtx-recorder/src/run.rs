//! Test support: runs a program with the recorder injected and reads its log. Errors are panics
//! with a clear message.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::call::Call;

/// The environment variable that names the log file. Lines are appended.
pub const LOG: &str = "GPUPROF_TEST_NVTX_LOG";

/// The environment variable with the library that NVTX loads.
const INJECTION: &str = "NVTX_INJECTION64_PATH";

/// The file name of this package's cdylib.
const FILE: &str = "libnvtx_recorder.so";

/// The built injection library, found beside the running test, example or binary.
///
/// # Panics
/// If the library does not exist, because this package is not a dependency of the running test.
#[must_use]
pub fn library() -> PathBuf {
    let program = std::env::current_exe()
        .unwrap_or_else(|error| panic!("the running program's path: {error}"));
    // `deps` first: cargo builds there, and copies one folder up only if this package is requested.
    let mut places = program
        .ancestors()
        .skip(1)
        .take(2)
        .flat_map(|folder| [folder.join("deps"), folder.into()]);
    places
        .by_ref()
        .map(|folder| folder.join(FILE))
        .find(|path| path.is_file())
        .unwrap_or_else(|| {
            panic!(
                "no {FILE} near {}: is nvtx-recorder a dev-dependency?",
                program.display()
            )
        })
}

/// The calls in a log, in call order.
///
/// # Panics
/// If the file cannot be read (a program without NVTX calls creates none) or a line is not a
/// [`Call`].
#[must_use]
pub fn read(path: impl AsRef<Path>) -> Vec<Call> {
    let path = path.as_ref();
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    text.lines().map(parse).collect()
}

/// Runs `command` to its end with the recorder injected. Returns its output and its NVTX calls,
/// which are empty if it never called NVTX. The caller checks the exit status.
///
/// # Panics
/// If the program cannot be started, and as [`library`] and [`read`] do.
pub fn record(command: &mut Command) -> (Output, Vec<Call>) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let log = std::env::temp_dir().join(format!(
        "nvtx-recorder-{}-{count}.jsonl",
        std::process::id()
    ));
    // A file left by an earlier process with this id must not be read.
    let _ = std::fs::remove_file(&log);
    let output = command
        .env(INJECTION, library())
        .env(LOG, &log)
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let calls = if log.exists() { read(&log) } else { Vec::new() };
    let _ = std::fs::remove_file(&log);
    (output, calls)
}
