//! A program under test: this test binary again, as the program of the test's file.
//!
//! It shows what only a whole process can: its end, its settings, its driver. Each run has a time
//! limit from outside.

mod process;

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, fs, ptr};

use gpuprof::Profile;

use crate::suite;

pub use process::{Ended, Running, ready};

/// Names the scenario; `GPUPROF_TEST_` variables are no settings.
pub const SCENARIO: &str = "GPUPROF_TEST_SCENARIO";

/// Names the file whose program is meant.
const MODULE: &str = "GPUPROF_TEST_MODULE";

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

/// The scenario that this process plays; `None` if it is no program under test.
pub(crate) fn scenario() -> Option<String> {
    env::var(SCENARIO).ok()
}

/// The file whose program this process is.
pub(crate) fn module() -> Option<String> {
    env::var(MODULE).ok()
}

/// A command without gpuprof's settings and without what else could change a report.
pub(crate) fn neutral(path: &Path) -> Command {
    let mut command = Command::new(path);
    for (name, _) in env::vars_os() {
        let shown = name.to_string_lossy();
        if shown.starts_with("GPUPROF") || FOREIGN.contains(&&*shown) {
            command.env_remove(&name);
        }
    }
    command
}

/// A run to be.
pub struct Program {
    command: Command,
    limit: Duration,
    stdout: Option<File>,
}

impl Program {
    /// This binary, playing `scenario`.
    pub fn new(scenario: &str) -> Self {
        Self::at(&env::current_exe().expect("a test has a path")).scenario(scenario)
    }

    /// The program at `path`.
    pub fn at(path: &Path) -> Self {
        begin_with_default_signals();
        Self {
            command: neutral(path),
            limit: LIMIT,
            stdout: None,
        }
    }

    /// Has a copy of this binary play `scenario`.
    pub fn scenario(self, scenario: &str) -> Self {
        let program = self.env(SCENARIO, scenario);
        match suite::current() {
            Some(module) => program.env(MODULE, module),
            None => program,
        }
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Connects its standard output to a file; [`Ended`] has none of it then.
    pub fn stdout(mut self, file: File) -> Self {
        self.stdout = Some(file);
        self
    }

    /// Runs it in that folder.
    pub fn folder(mut self, folder: &Folder) -> Self {
        self.command.current_dir(folder.path(""));
        self
    }

    /// Runs it to its end, with its output in pipes.
    ///
    /// # Panics
    /// When it has not ended within the time limit; it is killed then.
    pub fn run(self) -> Ended {
        let (ours, theirs) = std::io::pipe().expect("a pipe");
        self.begin(ours, theirs.into()).end()
    }

    /// The same with a terminal of so many columns as its standard error.
    pub fn run_on_terminal(self, columns: u16) -> Ended {
        let (ours, theirs) = terminal(columns);
        self.env("TERM", "xterm").begin(ours, theirs.into()).end()
    }

    /// The same with nobody at the other end of its standard error.
    pub fn run_without_reader(self) -> Ended {
        let (ours, theirs) = std::io::pipe().expect("a pipe");
        drop(ours);
        self.begin(std::io::empty(), theirs.into()).end()
    }

    /// The same with a reader that takes its time before it begins to read.
    pub fn run_read_late(self, pause: Duration) -> Ended {
        let (ours, theirs) = std::io::pipe().expect("a pipe");
        self.begin(Late(ours, Some(pause)), theirs.into()).end()
    }

    /// Starts it, with its output in pipes.
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

    /// Runs it with the table on standard error and the JSON in a file, and reads that.
    pub fn profiled(self) -> (Ended, Profile) {
        let folder = Folder::create();
        let path = folder.path("report.json");
        let ended = self
            .env("GPUPROF_REPORT", format!("table,json={}", path.display()))
            .run();
        let profile = read_profile(&path, &ended);
        (ended, profile)
    }

    /// Runs it with the NVTX recorder injected and gives the NVTX calls it made.
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

/// A folder of its own, gone when dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn create() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("process-{}-{count}", std::process::id());
        let test = env::current_exe().expect("a test has a path");
        // Where cargo has it for integration tests: tests are in TARGET/PROFILE/deps.
        let target = test.ancestors().nth(3).expect("the target folder");
        let folder = target.join("tmp").join(name);
        fs::create_dir_all(&folder).expect("the target folder can be written");
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The names of the files in it, sorted.
    pub fn files(&self) -> Vec<String> {
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

/// A pipe that is not read at once.
struct Late<R>(R, Option<Duration>);

impl<R: Read> Read for Late<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if let Some(pause) = self.1.take() {
            std::thread::sleep(pause);
        }
        self.0.read(buffer)
    }
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
    // SAFETY: the descriptors and the size are valid for the call; no name and no settings are
    // given.
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

/// A shell that runs the tests in the background has them ignore SIGINT, and what they start would
/// inherit that.
fn begin_with_default_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: no handler is installed; the tests themselves want what is the default.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
