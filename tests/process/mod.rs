//! A program under test and the tests that run it, in one binary: with a scenario in its environment the binary is the
//! program, and `main` is then that program's own; without one it runs the tests.
//!
//! For what only a whole process can show: its end, its settings, its driver. Each run has a time limit from outside.

// Each test file uses its own part of this.
#![allow(dead_code, unused_imports, unused_macros)]

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{env, fs, ptr};

use gpuprof::Profile;
use libtest_mimic::{Arguments, Trial};

/// Names the scenario; `GPUPROF_TEST_` variables are no settings.
const SCENARIO: &str = "GPUPROF_TEST_SCENARIO";

/// Many times what any run takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// What a machine's own environment must not decide in a test, besides every `GPUPROF…`.
const FOREIGN: [&str; 7] = [
    "NO_COLOR",
    "TERM",
    "RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "SLURM_PROCID",
    "NVTX_INJECTION64_PATH",
];

/// The scenario this process is to play; `None` where it is to run the tests.
pub(crate) fn scenario() -> Option<String> {
    env::var(SCENARIO).ok()
}

/// Runs the tests as `cargo test` wants them run.
pub(crate) fn run_tests(tests: &[(&'static str, fn())]) -> ExitCode {
    let trial = |(name, test): &(&'static str, fn())| {
        let test = *test;
        Trial::test(*name, move || {
            test();
            Ok(())
        })
    };
    libtest_mimic::run(&Arguments::from_args(), tests.iter().map(trial).collect()).exit_code()
}

/// The listed functions with their names, for [`run_tests`].
macro_rules! tests {
    ($($test:ident),+ $(,)?) => { &[$((stringify!($test), $test as fn())),+] };
}
pub(crate) use tests;

/// A run to be.
pub(crate) struct Program {
    command: Command,
    limit: Duration,
}

/// A run that has ended by itself.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Program {
    /// This binary, playing `scenario`.
    pub(crate) fn new(scenario: &str) -> Self {
        Self::at(&env::current_exe().expect("a test has a path")).env(SCENARIO, scenario)
    }

    /// The program at `path`.
    pub(crate) fn at(path: &Path) -> Self {
        let mut command = Command::new(path);
        for (name, _) in env::vars_os() {
            let shown = name.to_string_lossy();
            if shown.starts_with("GPUPROF") || FOREIGN.contains(&&*shown) {
                command.env_remove(&name);
            }
        }
        Self {
            command,
            limit: LIMIT,
        }
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it to its end, with its output in pipes.
    ///
    /// # Panics
    /// When it has not ended within the time limit; it is killed then.
    pub(crate) fn run(self) -> Ended {
        let (ours, theirs) = std::io::pipe().expect("a pipe");
        self.end(ours, theirs.into())
    }

    /// The same with a terminal of so many columns as its standard error.
    pub(crate) fn run_on_terminal(self, columns: u16) -> Ended {
        let (ours, theirs) = terminal(columns);
        self.env("TERM", "xterm").end(ours, theirs.into())
    }

    fn end(self, ours: impl Read + Send + 'static, theirs: Stdio) -> Ended {
        let Self { mut command, limit } = self;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(theirs);
        let shown = format!("{command:?}");
        let began = Instant::now();
        let mut child = command.spawn().expect("the program starts");
        // It holds our copy of the other end, which must be closed for ours to end.
        drop(command);
        let stdout = read_all(child.stdout.take().expect("piped"));
        let stderr = read_all(ours);
        let status = wait(&mut child, limit);
        let took = began.elapsed();
        // What the pipes hold after a kill is lost with it: a grandchild may keep them open for ever.
        let status = status.unwrap_or_else(|| panic!("{shown} was killed after {took:?}"));
        Ended {
            status,
            stdout: stdout.join().expect("stdout is read"),
            stderr: String::from_utf8(stderr.join().expect("stderr is read")).expect("UTF-8"),
            took,
        }
    }

    /// Runs it with the table on standard error and the JSON in a file, and reads that.
    pub(crate) fn profiled(self) -> (Ended, Profile) {
        let folder = Folder::new();
        let path = folder.path("report.json");
        let ended = self
            .env("GPUPROF_REPORT", format!("table,json={}", path.display()))
            .run();
        let profile = read_profile(&path, &ended);
        (ended, profile)
    }

    /// Runs it with the NVTX recorder injected and gives the NVTX calls it made.
    pub(crate) fn recorded(self) -> (Ended, Vec<nvtx_recorder::Call>) {
        let folder = Folder::new();
        let log = folder.path("nvtx.jsonl");
        let program = self.env("NVTX_INJECTION64_PATH", nvtx_recorder::library());
        let ended = program.env(nvtx_recorder::LOG, &log).run();
        let calls = if log.exists() {
            nvtx_recorder::read(&log)
        } else {
            Vec::new()
        };
        (ended, calls)
    }
}

impl Ended {
    /// The lines of standard error that are gpuprof's remarks, not the head of a report.
    pub(crate) fn remarks(&self) -> Vec<&str> {
        let is_remark = |line: &&str| line.starts_with("gpuprof: ") && !line.contains(" · wall ");
        self.stderr.lines().filter(is_remark).collect()
    }

    /// How many tables and trees stand on standard error.
    pub(crate) fn reports(&self) -> usize {
        let is_head = |line: &&str| line.starts_with("gpuprof: ") && line.contains(" · wall ");
        self.stderr.lines().filter(is_head).count()
    }
}

/// The profile in the JSON file at `path`.
pub(crate) fn read_profile(path: &Path, ended: &Ended) -> Profile {
    let text = fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{}: {error}\n{ended:#?}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A folder of its own, gone when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("process-{}-{count}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).expect("the target folder can be written");
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The names of the files in it, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the folder is there");
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry.expect("readable").file_name().into_string()
        };
        let mut names: Vec<_> = entries.map(|entry| name(entry).expect("UTF-8")).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left behind it does no harm: cargo clears it with the target folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Its status, or `None` when it had to be killed.
fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status);
        }
        if Instant::now() > deadline {
            child.kill().expect("a child can be killed");
            child.wait().expect("a killed child ends");
            return None;
        }
        thread::sleep(Duration::from_millis(2));
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

/// Both ends of a terminal: what the program writes into the second comes out of the first.
fn terminal(columns: u16) -> (File, OwnedFd) {
    let (mut ours, mut theirs) = (-1, -1);
    let size = libc::winsize {
        ws_row: 50,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the descriptors and the size are valid for the call; no name and no settings are given.
    let status =
        unsafe { libc::openpty(&mut ours, &mut theirs, ptr::null_mut(), ptr::null(), &size) };
    assert_eq!(status, 0, "openpty: {}", std::io::Error::last_os_error());
    // SAFETY: a new descriptor that nobody else owns.
    let ours = unsafe { File::from_raw_fd(ours) };
    // SAFETY: as above.
    let theirs = unsafe { OwnedFd::from_raw_fd(theirs) };
    // SAFETY: the descriptor is open; without this flag the child would keep our end open too.
    let status = unsafe { libc::fcntl(ours.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
    assert_eq!(status, 0, "fcntl: {}", std::io::Error::last_os_error());
    (ours, theirs)
}
