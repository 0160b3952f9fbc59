//! Starts worker processes, one per setting, and sends requests to them.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::table_rows::{Program, Setting};

/// The paths of the two programs.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    pub(crate) on: PathBuf,
    /// `None` if it is not built.
    pub(crate) off: Option<PathBuf>,
}

impl Programs {
    /// Finds this program, and `cost-off` at its path or beside this one.
    ///
    /// # Errors
    /// A path was given and does not exist.
    pub(crate) fn find(off: Option<&Path>) -> Result<Self, String> {
        let on = std::env::current_exe().map_err(|error| error.to_string())?;
        let off = match off {
            Some(path) if path.is_file() => Some(path.into()),
            Some(path) => return Err(format!("there is no file {}", path.display())),
            None => Some(on.with_file_name("cost-off")).filter(|path| path.is_file()),
        };
        Ok(Self { on, off })
    }

    /// A command under this setting, without other variables of gpuprof or the other profilers.
    ///
    /// # Errors
    /// The program is not built.
    pub(crate) fn command(&self, setting: &Setting) -> Result<Command, String> {
        let program = match setting.program {
            Program::On => Some(&self.on),
            Program::Off => self.off.as_ref(),
        };
        let program = program.ok_or("cost-off is not built; `cargo xtask bench` builds it")?;
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let set = name.to_string_lossy();
            let ours = set.starts_with("GPUPROF") && !set.starts_with("GPUPROF_SIM");
            if ours || set.starts_with("HOTPATH") || set.starts_with("NVTX_INJECTION") {
                command.env_remove(&name);
            }
        }
        command
            .env("GPUPROF_REPORT", "none")
            .envs(setting.environment.iter().copied());
        Ok(command)
    }
}

/// A worker that waits for requests.
pub(crate) struct Worker {
    child: Child,
    /// `None` once it is asked to end.
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    /// # Errors
    /// It cannot be started, or `cost-off` was built with gpuprof enabled.
    pub(crate) fn start(programs: &Programs, setting: &Setting) -> Result<Self, String> {
        Self::from_command(programs.command(setting)?, setting.program)
    }

    /// The same, by a command for `program`.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub(crate) fn from_command(mut command: Command, program: Program) -> Result<Self, String> {
        let mut child = command
            .arg("worker")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start a worker: {error}"))?;
        let requests = child.stdin.take();
        let answers = child.stdout.take().ok_or("a worker has no output")?;
        let mut worker = Self {
            child,
            requests,
            answers: BufReader::new(answers),
        };
        let expected = match program {
            Program::On => "on",
            Program::Off => "off",
        };
        match worker.ask("switched")? {
            switched if switched == expected => Ok(worker),
            switched => Err(format!(
                "the program for gpuprof {expected} was built with it {switched}"
            )),
        }
    }

    /// Sends one request and returns its answer.
    ///
    /// # Errors
    /// The worker's error, or that it has ended.
    pub(crate) fn ask(&mut self, request: &str) -> Result<String, String> {
        let ended = || format!("the worker ended at `{request}`");
        let requests = self.requests.as_mut().ok_or_else(ended)?;
        writeln!(requests, "{request}").map_err(|_| ended())?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|_| ended())?;
        match line.trim_end().split_once(' ') {
            Some(("ok", answer)) => Ok(answer.to_owned()),
            Some(("error", error)) => Err(error.to_owned()),
            _ => Err(ended()),
        }
    }
}

impl Drop for Worker {
    /// A worker ends when its input ends.
    fn drop(&mut self) {
        self.requests = None;
        // Its exit status says nothing about its measurements.
        let _ = self.child.wait();
    }
}

/// Parses the numbers of an answer.
///
/// # Errors
/// The answer is not `N` numbers.
pub(crate) fn numbers<const N: usize>(answer: &str) -> Result<[f64; N], String> {
    let numbers: Option<Vec<f64>> = answer.split(' ').map(|word| word.parse().ok()).collect();
    let wrong = || format!("unexpected answer: {answer}");
    numbers.ok_or_else(wrong)?.try_into().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        assert_eq!(numbers("1 2.5"), Ok([1.0, 2.5]));
        assert!(numbers::<1>("1 2").is_err() && numbers::<1>("x").is_err());
    }
}
