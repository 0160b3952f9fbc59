//! Runs the unpacked Nsight Systems: a profile, its import, its export.
//!
//! Of its exports, JSON alone holds nsys's remarks, such as lost events; the SQLite of 2022.4 omits
//! them.

use std::env;
use std::fs::{self, File};
use std::io::Error;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use support::program::Folder;

/// Names the folder into which `cargo xtask nsys` unpacks, `target/nsys`.
const FOLDER: &str = "GPUPROF_TEST_NSYS";

/// Timeout of a session: many times what any program under test takes on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(150);
/// Number of sessions started; makes names unique, because a session that is shutting down still
/// holds its name.
static SESSIONS: AtomicU32 = AtomicU32::new(0);
/// The number of attempts to get a report from nsys.
const TRIES: u32 = 3;

/// Trace NVTX only: CPU sampling needs elevated permissions and once made nsys hang at shutdown.
const RANGES: [&str; 4] = [
    "profile",
    "--trace=nvtx",
    "--sample=none",
    "--cpuctxsw=none",
];

/// The unpacked Nsight Systems.
pub(super) struct Nsys {
    nsys: PathBuf,
    /// Turns what nsys has recorded into a report.
    importer: PathBuf,
    /// For `LD_LIBRARY_PATH` of the importer.
    libraries: PathBuf,
    /// File lock: concurrent nsys sessions reset each other's connections.
    _turn: File,
}

impl Nsys {
    /// Where `cargo xtask test` has unpacked it, when no other test uses it; `None` in another run
    /// of the tests.
    pub(super) fn unpacked() -> Option<Nsys> {
        let folder = PathBuf::from(env::var_os(FOLDER)?);
        let turn = File::create(folder.join("turn")).expect("a file");
        // std's `File::lock` is of Rust 1.89. SAFETY: the file is open.
        let locked = unsafe { libc::flock(turn.as_raw_fd(), libc::LOCK_EX) };
        assert_eq!(locked, 0, "a lock: {}", Error::last_os_error());
        let root = folder.join("root/usr/lib");
        let libraries = root.join("x86_64-linux-gnu");
        Some(Nsys {
            nsys: libraries.join("nsight-systems/target-linux-x64/nsys"),
            importer: root.join("nsight-systems/host-linux-x64/QdstrmImporter"),
            libraries,
            _turn: turn,
        })
    }

    /// Profiles `program` into `folder`; returns the exported report as JSON lines. nsys 2022.4
    /// occasionally loses a session on a busy machine, with varying errors, so failed runs are
    /// repeated.
    ///
    /// # Errors
    /// Each time the program failed under nsys, nsys did not end, or there is no report.
    pub(super) fn export(
        &self,
        program: &Path,
        environment: &[(&str, &str)],
        options: &[&str],
        folder: &Folder,
    ) -> Result<String, String> {
        let mut errors = Vec::new();
        for _ in 0..TRIES {
            let session = SESSIONS.fetch_add(1, Ordering::Relaxed);
            let session = format!("gpuprof-{}-{session}", std::process::id());
            let stem = folder.path(&session);
            let recorded = self.record(program, environment, options, &session, &stem);
            match recorded.and_then(|()| self.read(&stem)) {
                Ok(report) => return Ok(report),
                Err(error) => errors.push(error),
            }
        }
        Err(errors.join("\n"))
    }

    /// Records a session and waits for nsys. Past the limit the session is ended by its name,
    /// because the daemon is no child of this process.
    fn record(
        &self,
        program: &Path,
        environment: &[(&str, &str)],
        options: &[&str],
        session: &str,
        stem: &Path,
    ) -> Result<(), String> {
        // A file and not a pipe, because processes that the program or nsys leaves running would
        // keep a pipe open.
        let log = stem.with_extension("log");
        let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let copy = file.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.nsys);
        command.args(RANGES).args(options);
        command
            .args(["--session-new", session, "--output"])
            .arg(stem);
        command.arg(program).envs(environment.iter().copied());
        command.stdin(Stdio::null()).stdout(file).stderr(copy);
        let mut child = command
            .spawn()
            .map_err(|error| format!("cannot run nsys: {error}"))?;
        let Some(status) = wait(&mut child)? else {
            let mut shutdown = Command::new(&self.nsys);
            shutdown.args(["shutdown", "--kill=sigkill", "--session", session]);
            let shut_down = quietly(&mut shutdown);
            child.kill().map_err(|error| error.to_string())?;
            child.wait().map_err(|error| error.to_string())?;
            return shut_down.and(Err(format!("nsys did not end within {TIME_LIMIT:?}")));
        };
        if !status.success() {
            let output = fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("nsys profile: {status}\n{}", output.trim_end()));
        }
        Ok(())
    }

    /// The export of the report at `stem`.
    fn read(&self, stem: &Path) -> Result<String, String> {
        let report = self.import(stem)?;
        let json = stem.with_extension("json-lines");
        let mut export = self.with_libraries(&self.nsys);
        export.args(["export", "--type=json", "--force-overwrite=true", "-o"]);
        quietly(export.arg(&json).arg(&report))?;
        fs::read_to_string(&json).map_err(|error| format!("{}: {error}", json.display()))
    }

    /// The report at `stem`; imported here if nsys did not find its importer, as Debian's 2022.4
    /// does not.
    fn import(&self, stem: &Path) -> Result<PathBuf, String> {
        let report = stem.with_extension("nsys-rep");
        if !report.exists() {
            let recorded = stem.with_extension("qdstrm");
            if !recorded.exists() {
                return Err("nsys recorded nothing: its capture range never began".into());
            }
            let mut import = self.with_libraries(&self.importer);
            quietly(import.arg("-i").arg(&recorded))?;
            fs::remove_file(&recorded)
                .map_err(|error| format!("{}: {error}", recorded.display()))?;
        }
        if report.exists() {
            Ok(report)
        } else {
            Err(format!("nsys left no {}", report.display()))
        }
    }

    fn with_libraries(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", &self.libraries);
        command
    }
}

/// Runs a command to its end; its standard error is part of the error.
fn quietly(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run `{shown}`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{shown}`: {}\n{}", output.status, said.trim_end()))
}

fn wait(child: &mut Child) -> Result<Option<ExitStatus>, String> {
    let deadline = Instant::now() + TIME_LIMIT;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(None)
}
