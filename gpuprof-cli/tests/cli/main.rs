//! The built command, as a user runs it.

mod commands;
mod diff;
#[cfg(feature = "parquet")]
mod export;
#[cfg(not(feature = "parquet"))]
mod export_without_parquet;
mod hostile_files;
mod live_program;
mod looks;
#[cfg(feature = "mcp")]
mod mcp;
mod merge;
mod run;
mod run_signals;
mod show;
#[cfg(feature = "top")]
mod top;
mod trace;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use std::io::Write;

/// The built command, without the settings of whoever runs the tests.
fn gpuprof(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpuprof"));
    command.args(arguments).stdin(Stdio::null());
    let ours = std::env::vars_os().map(|(name, _)| name);
    for name in ours.filter(|name| name.as_encoded_bytes().starts_with(b"GPUPROF")) {
        command.env_remove(name);
    }
    for name in ["COLUMNS", "NO_COLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command
}

/// How the command ended.
#[derive(Debug, PartialEq, Eq)]
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

fn ended(mut command: Command) -> Ended {
    command.output().expect("the command").into()
}

/// The command with `input` on its standard input.
fn with_input(arguments: &[&str], input: &[u8]) -> Ended {
    let mut command = gpuprof(arguments);
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command");
    let mut pipe = child.stdin.take().expect("a pipe");
    // The command may refuse the input before its end.
    let _ = pipe.write_all(input);
    drop(pipe);
    child.wait_with_output().expect("the command").into()
}

/// A profile that was recorded on a GPU.
fn recorded(name: &str) -> PathBuf {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../gpuprof-report/tests/recorded"
    );
    Path::new(folder).join(format!("{name}.json"))
}

/// A profile of two functions, of which one calls the other.
const SMALL: &str = r#"{
    "schema": "gpuprof.profile/1",
    "program": "train",
    "wall_ns": 100000000,
    "at_exit": true,
    "devices": [{"ordinal": 0, "name": "NVIDIA H200", "driver": "13.0"}],
    "functions": [
        {
            "name": "model::step", "module": "model", "file": "src/model.rs", "line": 7,
            "calls": 3, "threads": 1, "has_stream": true,
            "cpu": {"total_ns": 9300, "self_ns": 9300, "mean_ns": 3100, "max_ns": 3200},
            "gpu": {"device": 0, "timed_calls": 3, "total_ns": 3600000, "self_ns": 3600000,
                "mean_ns": 1200000, "max_ns": 1300000, "timed_ns": 3600000}
        },
        {
            "name": "train", "module": "main", "file": "src/main.rs", "line": 20,
            "calls": 1, "threads": 1, "cpu_only": true,
            "cpu": {"total_ns": 50000, "self_ns": 40700, "mean_ns": 50000, "max_ns": 50000}
        }
    ],
    "tree": [
        {"id": 0, "name": "train", "function": 1, "calls": 1, "cpu_total_ns": 50000,
            "cpu_self_ns": 40700, "gpu_nested_ns": 3600000},
        {"id": 1, "parent": 0, "name": "model::step", "function": 0, "calls": 3,
            "cpu_total_ns": 9300, "cpu_self_ns": 9300, "gpu_total_ns": 3600000,
            "gpu_self_ns": 3600000}
    ],
    "diagnostics": {"calls": 4, "calls_with_stream": 3, "timed_calls": 3,
        "event_overhead_ns": 1400, "sampling": "every_call"}
}"#;
