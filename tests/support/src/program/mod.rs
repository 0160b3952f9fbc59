//! A program under test: this test binary again, as the program of the test's file.
//!
//! Tests run it for what takes a whole process: its end, its settings, its driver. Each run has a
//! time limit.

mod folder;
mod process;

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, ptr};

use gpuprof::Profile;

use crate::current_test_file;

pub use folder::Folder;
pub use process::{Ended, Running, ready};

/// The scenario that the program runs. `GPUPROF_TEST_` variables are not settings of gpuprof.
pub const SCENARIO: &str = "GPUPROF_TEST_SCENARIO";

/// The test file whose program is to run.
const MODULE: &str = "GPUPROF_TEST_MODULE";

/// A multiple of what any run takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Variables that would change a report, besides every `GPUPROF…`.
const REMOVED_VARIABLES: [&str; 8] = [
    "NO_COLOR",
    "TERM",
    "RANK",
    "OMPI_COMM_WORLD_RANK",
    "COLUMNS",
    "PMI_RANK",
    "SLURM_PROCID",
    "NVTX_INJECTION64_PATH",
];

/// The scenario that this process runs; `None` if it is not a program under test.
pub(crate) fn scenario() -> Option<String> {
    env::var(SCENARIO).ok()
}

/// The test file whose program this process runs.
pub(crate) fn module() -> Option<String> {
    env::var(MODULE).ok()
}

/// A command without gpuprof's settings and other variables that would change a report. Every call
/// is timed, so that times have exact expected values.
pub(crate) fn clean_command(path: &Path) -> Command {
    let mut command = Command::new(path);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("GPUPROF") || REMOVED_VARIABLES.contains(&&*text) {
            command.env_remove(&name);
        }
    }
    command.env("GPUPROF_SAMPLE", "1");
    command
}

/// A program to run.
pub struct Program {
    command: Command,
    limit: Duration,
    stdout: Option<File>,
}

impl Program {
    /// This binary, to run `scenario`.
    pub fn new(scenario: &str) -> Self {
        Self::at(&env::current_exe().expect("a test has a path")).scenario(scenario)
    }

    /// The program at `path`.
    pub fn at(path: &Path) -> Self {
        reset_signals();
        Self {
            command: clean_command(path),
            limit: LIMIT,
            stdout: None,
        }
    }

    /// Runs `scenario`; the program is a copy of this binary.
    pub fn scenario(self, scenario: &str) -> Self {
        let program = self.env(SCENARIO, scenario);
        match current_test_file::file() {
            Some(module) => program.env(MODULE, module),
            None => program,
        }
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs the program as the user and group of this number. Only root can.
    pub fn user(mut self, id: u32) -> Self {
        self.command.uid(id).gid(id);
        self
    }

    /// Passes these arguments.
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    /// Connects standard output to a file, so that [`Ended`] does not contain it.
    pub fn stdout(mut self, file: File) -> Self {
        self.stdout = Some(file);
        self
    }

    /// Runs the program in `folder`.
    pub fn folder(mut self, folder: &Folder) -> Self {
        self.command.current_dir(folder.path(""));
        self
    }

    /// Runs the program to its end, with its output in pipes.
    ///
    /// # Panics
    /// If it does not end within the time limit. It is killed then.
    pub fn run(self) -> Ended {
        let (ours, theirs) = std::io::pipe().expect("a pipe");
        self.begin(ours, theirs.into()).end()
    }

    /// The same with a terminal of `columns` as standard error.
    pub fn run_on_terminal(self, columns: u16) -> Ended {
        let (ours, theirs) = terminal(columns);
        self.env("TERM", "xterm").begin(ours, theirs.into()).end()
    }

    /// The same with a closed pipe as standard error.
    pub fn run_without_reader(self) -> Ended {
        let (ours, theirs) = std::io::pipe().expect("a pipe");
        drop(ours);
        self.begin(std::io::empty(), theirs.into()).end()
    }

    /// The same with standard error read only after `pause`.
    pub fn run_read_late(self, pause: Duration) -> Ended {
        let (ours, theirs) = std::io::pipe().expect("a pipe");
        self.begin(DelayedRead(ours, Some(pause)), theirs.into())
            .end()
    }

    /// Starts the program, with its output in pipes.
    pub fn start(self) -> Running {
        let (ours, theirs) = std::io::pipe().expect("a pipe");
        self.begin(ours, theirs.into())
    }

    fn begin(self, ours: impl Read + Send + 'static, theirs: Stdio) -> Running {
        let Self {
            mut command,
            limit,
            stdout,
        } = self;
        let stdout = stdout.map_or_else(Stdio::piped, Into::into);
        command.stdin(Stdio::null()).stdout(stdout).stderr(theirs);
        Running::begin(command, limit, ours)
    }

    /// Runs the program with a table on standard error, and reads its profile from a JSON file.
    pub fn profiled(self) -> (Ended, Profile) {
        self.profiled_with("table")
    }

    /// The same with the full report.
    pub fn profiled_in_full(self) -> (Ended, Profile) {
        self.profiled_with("table:full")
    }

    fn profiled_with(self, table: &str) -> (Ended, Profile) {
        let folder = Folder::create();
        let path = folder.path("report.json");
        let ended = self
            .env("GPUPROF_REPORT", format!("{table},json={}", path.display()))
            .run();
        let profile = read_profile(&path, &ended);
        (ended, profile)
    }

    /// Runs the program with the NVTX recorder, and returns its NVTX calls.
    pub fn recorded(self) -> (Ended, Vec<nvtx_recorder::Call>) {
        let folder = Folder::create();
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

/// The profile in the JSON file at `path`.
pub fn read_profile(path: &Path, ended: &Ended) -> Profile {
    let text = fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{}: {error}\n{ended:#?}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A pipe whose first read waits.
struct DelayedRead<R>(R, Option<Duration>);

impl<R: Read> Read for DelayedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if let Some(pause) = self.1.take() {
            std::thread::sleep(pause);
        }
        self.0.read(buffer)
    }
}

/// A terminal: our end, and the end that the program writes to.
fn terminal(columns: u16) -> (File, OwnedFd) {
    let (mut ours, mut theirs) = (-1, -1);
    let size = libc::winsize {
        ws_row: 50,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the descriptors and the size are valid for the call; no name and no settings are
    // given.
    let status =
        unsafe { libc::openpty(&mut ours, &mut theirs, ptr::null_mut(), ptr::null(), &size) };
    assert_eq!(status, 0, "openpty: {}", std::io::Error::last_os_error());
    // SAFETY: the descriptor is new, and nobody else owns it.
    let ours = unsafe { File::from_raw_fd(ours) };
    // SAFETY: as above.
    let theirs = unsafe { OwnedFd::from_raw_fd(theirs) };
    // SAFETY: the descriptor is open. Without this flag the child would keep our end open too.
    let status = unsafe { libc::fcntl(ours.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
    assert_eq!(status, 0, "fcntl: {}", std::io::Error::last_os_error());
    (ours, theirs)
}

/// A shell that runs tests in the background makes them ignore SIGINT, which programs inherit.
fn reset_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: this installs no handler, and the tests themselves use the default action.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
