//! Running a program to its end or its time limit, with its output kept.
//!
//! Why not `Command::output`: it waits for ever, and also for a grandchild that keeps the pipes
//! open. Must never import: checks, or anything of CUDA's.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How much longer than a program its output may take to arrive: only a grandchild can hold it
/// back.
const REST: Duration = Duration::from_secs(1);

/// What the caller's environment must not decide: gpuprof's settings, tools that come between,
/// launches that wait.
const FOREIGN: [&str; 3] = ["NVTX_INJECTION64_PATH", "CUDA_LAUNCH_BLOCKING", "NO_COLOR"];

/// A program that was run.
pub(crate) struct Ended {
    /// None where it ran past its limit and was killed.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Ended {
    /// How it ended, where that was not well: a crash, a hang, a failure.
    pub(crate) fn trouble(&self) -> Option<String> {
        match self.status {
            None => Some(format!("killed after {:.0?}: it hung", self.took)),
            Some(status) if status.success() => None,
            Some(status) => Some(status.to_string()),
        }
    }

    /// The last lines of its standard error.
    pub(crate) fn tail(&self) -> String {
        const LINES: usize = 12;
        let lines: Vec<_> = self.stderr.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

/// Takes the variables away from `command` that could change what it measures.
pub(crate) fn neutral(command: &mut Command) {
    begin_with_default_signals();
    for (name, _) in std::env::vars_os() {
        let shown = name.to_string_lossy();
        if shown.starts_with("GPUPROF") || FOREIGN.contains(&&*shown) {
            command.env_remove(&name);
        }
    }
}

/// A shell that runs the pack in the background has it ignore SIGINT, and what it starts would
/// inherit that.
fn begin_with_default_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: no handler is installed; this program wants what is the default.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Runs `command` without input until it ends, or kills it after `limit`.
///
/// # Errors
/// It could not be started or waited for.
pub(crate) fn run(command: Command, limit: Duration) -> io::Result<Ended> {
    watch(command, limit, |_, _| ())
}

/// The same; again and again until it ends `meanwhile` gets its id and what it has written to
/// standard output so far.
///
/// # Errors
/// It could not be started or waited for.
pub(crate) fn watch(
    mut command: Command,
    limit: Duration,
    mut meanwhile: impl FnMut(u32, &str),
) -> io::Result<Ended> {
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
    let took = began.elapsed();
    let text = |reader: Option<Reader>| reader.map(Reader::finish).unwrap_or_default();
    Ok(Ended {
        status,
        stdout: text(stdout),
        stderr: text(stderr),
        took,
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
        // Its id is its own until it has been waited for.
        meanwhile();
        thread::sleep(Duration::from_millis(2));
    }
}

/// A pipe that is emptied while the program runs.
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

    /// Everything up to the pipe's end, or what came until [`REST`] was over.
    fn finish(self) -> String {
        let deadline = Instant::now() + REST;
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

    fn shell(script: &str, limit: Duration) -> Ended {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, limit).expect("there is a shell")
    }

    #[test]
    fn output_and_status_are_kept() {
        let ended = shell("echo out; echo err >&2; exit 3", Duration::from_secs(30));
        assert_eq!((&*ended.stdout, &*ended.stderr), ("out\n", "err\n"));
        assert_eq!(ended.trouble().as_deref(), Some("exit status: 3"));
        assert!(shell("exit 0", Duration::from_secs(30)).trouble().is_none());
    }

    #[test]
    fn a_hang_ends_at_the_limit_with_what_was_said_before() {
        let ended = shell("echo begun >&2; exec sleep 60", Duration::from_millis(300));
        assert!(ended.status.is_none() && ended.took < Duration::from_secs(30));
        assert_eq!(ended.tail(), "begun");
        assert!(ended.trouble().is_some_and(|text| text.contains("hung")));
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
        assert!(ended.trouble().is_some_and(|text| text.contains("signal")));
    }
}
