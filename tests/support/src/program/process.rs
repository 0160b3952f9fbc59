//! A program under test while it runs, and what it left when it had ended.

use std::io::Read;
use std::process::{Child, Command, ExitStatus};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{env, fs};

use super::Folder;

/// Names the file by which a program says that it has got to where its test wants it.
const READY: &str = "GPUPROF_TEST_READY";

/// Tells the test that waits with [`Running::until_ready`]; to be called by the program.
pub fn ready() {
    if let Some(path) = env::var_os(READY) {
        fs::write(path, "").expect("the test made the folder");
    }
}

/// A run that has ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub took: Duration,
}

impl Ended {
    /// The lines of standard error that are gpuprof's remarks, not the head of a report.
    pub fn remarks(&self) -> Vec<&str> {
        let is_remark = |line: &&str| line.starts_with("gpuprof: ") && !line.contains(" · wall ");
        self.stderr.lines().filter(is_remark).collect()
    }

    /// How many tables and trees stand on standard error.
    pub fn reports(&self) -> usize {
        let is_head = |line: &&str| line.starts_with("gpuprof: ") && line.contains(" · wall ");
        self.stderr.lines().filter(is_head).count()
    }
}

/// A run under way; killed when dropped.
pub struct Running {
    child: Child,
    shown: String,
    limit: Duration,
    began: Instant,
    folder: Folder,
    output: Option<[JoinHandle<Vec<u8>>; 2]>,
}

impl Running {
    /// Starts it; `stderr` is our end of what its standard error is connected to.
    pub(super) fn begin(
        mut command: Command,
        limit: Duration,
        stderr: impl Read + Send + 'static,
    ) -> Self {
        let folder = Folder::create();
        command.env(READY, folder.path("ready"));
        let shown = format!("{command:?}");
        let began = Instant::now();
        let mut child = command.spawn().expect("the program starts");
        // It holds our copy of the other end, which must be closed for ours to end.
        drop(command);
        let stdout = child.stdout.take();
        let stdout: Box<dyn Read + Send> = match stdout {
            Some(pipe) => Box::new(pipe),
            None => Box::new(std::io::empty()),
        };
        Self {
            child,
            shown,
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
                "{} never got ready",
                self.shown
            );
            thread::sleep(Duration::from_millis(1));
        }
        self
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        let process = i32::try_from(self.child.id()).expect("a process id");
        // SAFETY: the child is not waited for yet, so the number is still its own.
        let status = unsafe { libc::kill(process, signal) };
        assert_eq!(status, 0, "kill: {}", std::io::Error::last_os_error());
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it has not ended within the time limit; it is killed then.
    pub fn end(mut self) -> Ended {
        let status = self.wait();
        let took = self.began.elapsed();
        // What the pipes hold after a kill is lost with it: a grandchild may keep them open for
        // ever.
        let status = status.unwrap_or_else(|| panic!("{} was killed after {took:?}", self.shown));
        let [stdout, stderr] = self.output.take().expect("it ends once");
        Ended {
            status,
            stdout: stdout.join().expect("stdout is read"),
            stderr: String::from_utf8(stderr.join().expect("stderr is read")).expect("UTF-8"),
            took,
        }
    }

    /// Its status, or `None` when it had to be killed.
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
        // One that was waited for is not there any more, which is no error here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_all(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A terminal ends with an error instead of an end of file; what was read before stays.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}
