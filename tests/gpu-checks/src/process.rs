//! Runs a program until it ends or reaches a time limit, and captures its output.
//!
//! `Command::output` is not used because it has no time limit and also waits for grandchildren that
//! hold the pipes open.

use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{env, fs};

use gpuprof::Profile;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::device::failed_in;

/// How long output may arrive after the program ended; only a grandchild can delay it.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);

/// Variables of the caller that would change a measurement, besides gpuprof's own settings.
const CLEARED: [&str; 3] = ["NVTX_INJECTION64_PATH", "CUDA_LAUNCH_BLOCKING", "NO_COLOR"];

/// The result of a process.
pub(crate) struct Finished {
    /// `None` if it exceeded its time limit and was killed.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) elapsed: Duration,
}

impl Finished {
    /// A description of the failure: a crash, a time-out or a nonzero exit status.
    pub(crate) fn failure(&self) -> Option<String> {
        match self.status {
            None => Some(format!(
                "killed after {:.0?}: it exceeded its time limit",
                self.elapsed
            )),
            Some(status) if status.success() => None,
            Some(status) => Some(status.to_string()),
        }
    }

    /// This, if the program ended with status 0.
    ///
    /// # Errors
    /// How it ended, and the last lines of its standard error.
    pub(crate) fn success(self) -> Result<Finished, String> {
        match self.failure() {
            None => Ok(self),
            Some(trouble) => Err(format!("{trouble}\n{}", self.tail())),
        }
    }

    /// What [`print()`] printed on the last line.
    ///
    /// # Errors
    /// The line is something else.
    pub(crate) fn answer<T: DeserializeOwned>(&self) -> Result<T, String> {
        let printed = self.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(printed).map_err(|error| format!("{error} in `{printed}`"))
    }

    /// The last lines of standard error.
    pub(crate) fn tail(&self) -> String {
        const LINES: usize = 12;
        let lines: Vec<_> = self.stderr.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

/// The answer of a test program: a line of JSON.
///
/// # Errors
/// It has no form in JSON.
pub(crate) fn print(answer: &impl Serialize) -> Result<ExitCode, String> {
    let line = serde_json::to_string(answer).map_err(|error| error.to_string())?;
    println!("{line}");
    Ok(ExitCode::SUCCESS)
}

/// The JSON file of a program's report, in a folder that is removed with it.
pub(crate) struct ReportFile {
    folder: PathBuf,
}

impl ReportFile {
    /// The file of the program of this name.
    pub(crate) fn new(name: &str) -> ReportFile {
        let folder = format!("gpu-checks-{name}-{}", std::process::id());
        ReportFile {
            folder: env::temp_dir().join(folder),
        }
    }

    /// The value for `GPUPROF_REPORT`.
    pub(crate) fn setting(&self) -> String {
        // If the folder cannot be created, the report is missing, which the check reports.
        let _ = fs::create_dir_all(&self.folder);
        format!("table,json={}", self.path().display())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join("report.json")
    }

    /// # Errors
    /// There is no report, or it is no profile.
    pub(crate) fn read(&self) -> Result<Profile, String> {
        let text = fs::read_to_string(self.path()).map_err(failed_in("the report"))?;
        serde_json::from_str(&text).map_err(failed_in("the report"))
    }
}

impl Drop for ReportFile {
    fn drop(&mut self) {
        // A file that cannot be removed stays in the temporary folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes from `command` all variables that could change what it measures, and has it time every
/// call.
pub(crate) fn clear_settings(command: &mut Command) {
    restore_default_signals();
    for (name, _) in env::vars_os() {
        let shown = name.to_string_lossy();
        if shown.starts_with("GPUPROF") || CLEARED.contains(&&*shown) {
            command.env_remove(&name);
        }
    }
    command.env("GPUPROF_SAMPLE", "1");
}

/// Restores the default signal actions. A shell that runs the pack in the background sets SIGINT to
/// be ignored, and child processes inherit that.
fn restore_default_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: only the default action is set; no handler is installed.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Runs `command` without input until it ends, or kills it after `limit`.
///
/// # Errors
/// The process could not be started or waited for.
pub(crate) fn run(command: Command, limit: Duration) -> io::Result<Finished> {
    watch(command, limit, |_, _| ())
}

/// Runs `command` until it ends with status 0.
///
/// # Errors
/// It could not be started or waited for, or how it ended otherwise.
pub(crate) fn finished(command: Command, limit: Duration) -> Result<Finished, String> {
    let ended = run(command, limit).map_err(|error| error.to_string())?;
    ended.success()
}

/// Like [`run`], and calls `meanwhile` repeatedly until the process ends, with the process id and
/// its standard output so far.
///
/// # Errors
/// It could not be started or waited for.
pub(crate) fn watch(
    mut command: Command,
    limit: Duration,
    mut meanwhile: impl FnMut(u32, &str),
) -> io::Result<Finished> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn()?;
    let stdout = child.stdout.take().map(Reader::start);
    let stderr = child.stderr.take().map(Reader::start);
    let id = child.id();
    let status = wait(&mut child, began + limit, || {
        let said = stdout.as_ref().map(Reader::so_far);
        meanwhile(id, &said.unwrap_or_default());
    })?;
    let elapsed = began.elapsed();
    let text = |reader: Option<Reader>| reader.map(Reader::finish).unwrap_or_default();
    Ok(Finished {
        status,
        stdout: text(stdout),
        stderr: text(stderr),
        elapsed,
    })
}

fn wait(
    child: &mut Child,
    deadline: Instant,
    mut meanwhile: impl FnMut(),
) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        // The process id is valid until the child has been waited for.
        meanwhile();
        thread::sleep(Duration::from_millis(2));
    }
}

/// A pipe that a thread reads while the program runs.
struct Reader {
    read: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Reader {
    fn start(mut pipe: impl Read + Send + 'static) -> Reader {
        let read = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&read);
        let thread = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                let mut read = into.lock().unwrap_or_else(PoisonError::into_inner);
                read.extend_from_slice(&buffer[..count]);
            }
        });
        Reader { read, thread }
    }

    /// The output up to the end of the pipe, or up to [`OUTPUT_GRACE`] from now.
    fn finish(self) -> String {
        let deadline = Instant::now() + OUTPUT_GRACE;
        while !self.thread.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        self.so_far()
    }

    fn so_far(&self) -> String {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&read).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Finished {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, limit).expect("there is a shell")
    }

    #[test]
    fn output_and_status_are_kept() {
        let ended = shell("echo out; echo err >&2; exit 3", Duration::from_secs(30));
        assert_eq!((&*ended.stdout, &*ended.stderr), ("out\n", "err\n"));
        assert_eq!(ended.failure().as_deref(), Some("exit status: 3"));
        assert!(shell("exit 0", Duration::from_secs(30)).failure().is_none());
    }

    #[test]
    fn an_answer_is_the_last_line_of_a_program_that_succeeds() {
        let ended = shell("echo 3; echo 7", Duration::from_secs(30));
        assert_eq!(ended.success().and_then(|ended| ended.answer()), Ok(7));
        let ended = shell("echo 7; echo rubbish", Duration::from_secs(30));
        assert!(ended.answer::<u32>().is_err());
        let ended = shell("echo 7; echo why >&2; exit 3", Duration::from_secs(30));
        assert_eq!(
            ended.success().err().as_deref(),
            Some("exit status: 3\nwhy")
        );
    }

    #[test]
    fn a_hang_ends_at_the_limit_with_what_was_said_before() {
        let ended = shell("echo begun >&2; exec sleep 60", Duration::from_millis(300));
        assert!(ended.status.is_none() && ended.elapsed < Duration::from_secs(30));
        assert_eq!(ended.tail(), "begun");
        assert!(
            ended
                .failure()
                .is_some_and(|text| text.contains("time limit"))
        );
    }

    #[test]
    fn a_grandchild_with_the_pipe_open_is_not_waited_for() {
        let began = Instant::now();
        let ended = shell("echo said; sleep 20 & exit 0", Duration::from_secs(30));
        assert!(ended.stdout == "said\n" && began.elapsed() < Duration::from_secs(15));
    }

    #[test]
    fn what_it_says_is_seen_while_it_runs() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo ready; exec sleep 60"]);
        let mut seen = None;
        let ended = watch(command, Duration::from_secs(2), |id, said| {
            if said == "ready\n" {
                seen = Some(id);
            }
        });
        assert!(seen.is_some() && ended.expect("it starts").status.is_none());
    }

    #[test]
    fn a_crash_is_told() {
        let ended = shell("kill -SEGV $$", Duration::from_secs(30));
        assert!(ended.failure().is_some_and(|text| text.contains("signal")));
    }
}
