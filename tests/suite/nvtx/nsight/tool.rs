//! Runs the unpacked Nsight Systems: a profile, its import, its export.
//!
//! Of its exports, JSON alone holds nsys's remarks, such as lost events; the SQLite of 2022.4 omits
//! them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Names the folder into which `cargo xtask nsys` unpacks, `target/nsys`.
const FOLDER: &str = "GPUPROF_TEST_NSYS";

/// Many times what any program under test takes on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// The ranges and nothing else: sampling needs a permission of the machine, and once hung the end of
/// nsys.
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
}

impl Nsys {
    /// Where `cargo xtask test` has unpacked it; `None` in another run of the tests.
    pub(super) fn unpacked() -> Option<Nsys> {
        let root = Path::new(&env::var_os(FOLDER)?).join("root/usr/lib");
        let libraries = root.join("x86_64-linux-gnu");
        Some(Nsys {
            nsys: libraries.join("nsight-systems/target-linux-x64/nsys"),
            importer: root.join("nsight-systems/host-linux-x64/QdstrmImporter"),
            libraries,
        })
    }

    /// Profiles `program` into files named `stem`; returns the exported report as JSON lines.
    ///
    /// # Errors
    /// The program failed under nsys, nsys did not end, or the report cannot be read.
    pub(super) fn export(
        &self,
        program: &Path,
        environment: &[(&str, &str)],
        options: &[&str],
        stem: &Path,
    ) -> Result<String, String> {
        let mut command = self.recording(options, stem);
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
        let mut export = self.with_libraries(&self.nsys);
        export.args(["export", "--type=json", "--force-overwrite=true", "-o"]);
        quietly(export.arg(&json).arg(&report))?;
        fs::read_to_string(&json).map_err(|error| format!("{}: {error}", json.display()))
    }

    fn recording(&self, options: &[&str], stem: &Path) -> Command {
        let mut command = Command::new(&self.nsys);
        command.args(RANGES).args(options);
        command.arg("--session-new").arg(session());
        command.arg("--output").arg(stem);
        command
    }

    /// Waits for nsys. Past the limit its session is ended by name, because the daemon is no child of
    /// this process.
    fn run(&self, mut command: Command) -> Result<ExitStatus, String> {
        let mut child = command
            .spawn()
            .map_err(|error| format!("cannot run nsys: {error}"))?;
        if let Some(status) = wait(&mut child)? {
            return Ok(status);
        }
        let mut shutdown = Command::new(&self.nsys);
        shutdown.args(["shutdown", "--kill=sigkill", "--session"]);
        let shut_down = quietly(shutdown.arg(session()));
        child.kill().map_err(|error| error.to_string())?;
        child.wait().map_err(|error| error.to_string())?;
        shut_down.and(Err(format!("nsys did not end within {TIME_LIMIT:?}")))
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

/// The name of the sessions of this process, which has one at a time.
fn session() -> String {
    format!("gpuprof-{}", std::process::id())
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
