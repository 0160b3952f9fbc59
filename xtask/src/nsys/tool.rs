//! Runs the unpacked Nsight Systems: a profile, its import, its export.
//!
//! Why JSON, of all that it exports: xtask reads JSON already, and that export alone holds nsys's own remarks, such as
//! lost events; the SQLite of 2022.4 leaves them out. Must never import: checks, ranges, calls.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::unpack::Unpacked;
use crate::workspace;

/// Many times what any program under test takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// The ranges and nothing else: sampling belongs to the machine, needs its leave, and was seen to hang nsys's end.
const RANGES: [&str; 4] = [
    "profile",
    "--trace=nvtx",
    "--sample=none",
    "--cpuctxsw=none",
];

/// The unpacked Nsight Systems.
pub(super) struct Nsys {
    unpacked: Unpacked,
}

impl Nsys {
    pub(super) fn new(unpacked: Unpacked) -> Nsys {
        Nsys { unpacked }
    }

    /// A path for a report or a file beside it, without extension.
    pub(super) fn report_path(&self, name: &str) -> PathBuf {
        self.unpacked.reports.join(name)
    }

    /// Profiles `program` with `options` besides, and gives the exported report as JSON lines.
    ///
    /// # Errors
    /// A text for the user: the program failed under nsys, nsys did not end, or the report cannot be read.
    pub(super) fn export(
        &self,
        program: &Path,
        environment: &[(&str, &str)],
        options: &[&str],
        stem: &Path,
    ) -> Result<String, String> {
        let mut command = self.recording(program.as_os_str(), options, stem)?;
        command.arg(program).envs(environment.iter().copied());
        // Nothing that the program or nsys leaves running may hold our pipes.
        let log = stem.with_extension("log");
        let file = fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let copy = file.try_clone().map_err(|error| error.to_string())?;
        command.stdin(Stdio::null()).stdout(file).stderr(copy);
        let ended = self.run(command)?;
        if !ended.success() {
            let said = fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("nsys profile: {ended}\n{}", said.trim_end()));
        }
        let report = self.import(stem)?;
        let json = stem.with_extension("json-lines");
        let mut export = self.with_libraries(&self.unpacked.nsys);
        export.args(["export", "--type=json", "--force-overwrite=true", "-o"]);
        quietly(export.arg(&json).arg(&report))?;
        fs::read_to_string(&json).map_err(|error| format!("{}: {error}", json.display()))
    }

    /// Profiles a program whose output goes to the terminal; gives the report.
    pub(super) fn profile_on_terminal(
        &self,
        program: &str,
        arguments: &[&str],
        stem: &Path,
    ) -> Result<PathBuf, String> {
        let mut command = self.recording(OsStr::new(program), &[], stem)?;
        workspace::succeed(command.arg(program).args(arguments))?;
        self.import(stem)
    }

    /// Prints the summary of a report's ranges.
    pub(super) fn summary(&self, report: &Path) -> Result<(), String> {
        let mut stats = self.with_libraries(&self.unpacked.nsys);
        stats.args([
            "stats",
            "--quiet",
            "--force-export=true",
            "--report",
            "nvtxsum",
        ]);
        workspace::succeed(stats.arg(report))
    }

    fn recording(&self, program: &OsStr, options: &[&str], stem: &Path) -> Result<Command, String> {
        for old in ["qdstrm", "nsys-rep"].map(|extension| stem.with_extension(extension)) {
            if old.exists() {
                fs::remove_file(&old).map_err(|error| format!("{}: {error}", old.display()))?;
            }
        }
        if Path::new(program).components().count() > 1 && !Path::new(program).exists() {
            return Err(format!("there is no {}", program.to_string_lossy()));
        }
        let mut command = Command::new(&self.unpacked.nsys);
        command.args(RANGES).args(options);
        command.arg("--session-new").arg(session());
        command.arg("--output").arg(stem);
        Ok(command)
    }

    /// Waits for nsys. Past the limit its session is ended by name, as its daemon is nobody's child.
    fn run(&self, mut command: Command) -> Result<ExitStatus, String> {
        let mut child = command
            .spawn()
            .map_err(|error| format!("cannot run nsys: {error}"))?;
        if let Some(status) = wait(&mut child)? {
            return Ok(status);
        }
        let mut shutdown = Command::new(&self.unpacked.nsys);
        shutdown.args(["shutdown", "--kill=sigkill", "--session"]);
        let shut_down = quietly(shutdown.arg(session()));
        child.kill().map_err(|error| error.to_string())?;
        child.wait().map_err(|error| error.to_string())?;
        shut_down.and(Err(format!("nsys did not end within {LIMIT:?}")))
    }

    /// The report at `stem`; made here where nsys did not find its importer, as Debian's 2022.4 does not.
    fn import(&self, stem: &Path) -> Result<PathBuf, String> {
        let report = stem.with_extension("nsys-rep");
        if !report.exists() {
            let recorded = stem.with_extension("qdstrm");
            if !recorded.exists() {
                return Err("nsys recorded nothing: its capture range never began".into());
            }
            let mut import = self.with_libraries(&self.unpacked.importer);
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
        command.env("LD_LIBRARY_PATH", &self.unpacked.libraries);
        command
    }
}

/// The name of the profiles that this process takes, one at a time.
fn session() -> String {
    format!("gpuprof-{}", std::process::id())
}

/// Runs a command to its end; what it says is shown where it fails.
fn quietly(command: &mut Command) -> Result<(), String> {
    let shown = workspace::shown(command);
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
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(None)
}
