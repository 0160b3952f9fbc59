//! The process of a program under test, and its output and status after its end.

use std::io::Read;
use std::process::{Child, Command, ExitStatus};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{env, fs};

use super::folder::Folder;

/// The path of the file that a program creates when its test may go on.
const READY: &str = "GPUPROF_TEST_READY";

/// Ends the wait of the test in [`Running::until_ready`]. Called by the program.
pub fn ready() {
    if let Some(path) = env::var_os(READY) {
        fs::write(path, "").expect("the test made the folder");
    }
}

/// What a process left when it ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub took: Duration,
}

impl Ended {
    /// gpuprof's messages on standard error, without the head lines of reports.
    pub fn remarks(&self) -> Vec<&str> {
        let is_message = |line: &&str| line.starts_with("gpuprof: ");
        self.stderr.lines().filter(is_message).collect()
    }

    /// The number of tables on standard error.
    pub fn reports(&self) -> usize {
        let is_head = |line: &&str| line.starts_with("gpuprof ") && line.contains(" · wall ");
        self.stderr.lines().filter(is_head).count()
    }
}

/// A running process, which is killed on drop.
pub struct Running {
    child: Child,
    command: String,
    limit: Duration,
    began: Instant,
    folder: Folder,
    output: Option<[JoinHandle<Vec<u8>>; 2]>,
}

impl Running {
    /// Starts the process; `stderr` is the other end of its standard error.
    pub(super) fn begin(
        mut command: Command,
        limit: Duration,
        stderr: impl Read + Send + 'static,
    ) -> Self {
        let folder = Folder::create();
        command.env(READY, folder.path("ready"));
        let command_text = format!("{command:?}");
        let began = Instant::now();
        let mut child = command.spawn().expect("the program starts");
        // The command owns a copy of the process's end, without which `stderr` would never end.
        drop(command);
        let stdout = child.stdout.take();
        let stdout: Box<dyn Read + Send> = match stdout {
            Some(pipe) => Box::new(pipe),
            None => Box::new(std::io::empty()),
        };
        Self {
            child,
            command: command_text,
            limit,
            began,
            folder,
            output: Some([read_all(stdout), read_all(stderr)]),
        }
    }

    /// Waits until the program says [`ready`].
    pub fn until_ready(self) -> Self {
        while !self.folder.path("ready").exists() {
            assert!(
                self.began.elapsed() < self.limit,
                "{} was not ready in time",
                self.command
            );
            thread::sleep(Duration::from_millis(1));
        }
        self
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        let process = i32::try_from(self.child.id()).expect("a process id");
        // SAFETY: the child was not waited for yet, so the id is still its own.
        let status = unsafe { libc::kill(process, signal) };
        assert_eq!(status, 0, "kill: {}", std::io::Error::last_os_error());
    }

    /// Waits for the end of the process.
    ///
    /// # Panics
    /// If it does not end within the time limit. It is killed then.
    pub fn end(mut self) -> Ended {
        let status = self.wait();
        let took = self.began.elapsed();
        // After a time-out the pipes are not read to their end, because a grandchild may hold them
        // open for ever: the captured output is lost.
        let status = status.unwrap_or_else(|| panic!("{} was killed after {took:?}", self.command));
        let [stdout, stderr] = self.output.take().expect("a process ends once");
        Ended {
            status,
            stdout: stdout.join().expect("stdout is read"),
            stderr: String::from_utf8(stderr.join().expect("stderr is read")).expect("UTF-8"),
            took,
        }
    }

    /// Its status, or `None` after the time limit.
    fn wait(&mut self) -> Option<ExitStatus> {
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return Some(status);
            }
            if self.began.elapsed() > self.limit {
                return None;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail if the process was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_all(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A terminal ends with an error instead of an end of file.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}
