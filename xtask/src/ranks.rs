//! `cargo xtask ranks`: a job of four ranks under Open MPI's mpirun, on the simulated device, from
//! run to merged report.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::needs::{self, Need};
use crate::workspace::{self, Workspace};

const RANKS: usize = 4;
const EXAMPLE: &str = "01_quickstart";

/// Runs the job in two ways, merges its reports and compares what they say of the ranks.
///
/// # Errors
/// A text for the user: mpirun is missing and cannot be installed, or a check that failed.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err("usage: cargo xtask ranks".into());
    }
    needs::ensure(&[Need::OpenMpi])?;
    let target = Workspace::load()?.target;
    let folder = target.join("ranks");
    workspace::empty_folder(&folder)?;
    for packages in [
        &[
            "--package",
            "simcuda",
            "--package",
            "gpuprof-examples",
            "--example",
            EXAMPLE,
        ][..],
        &["--package", "gpuprof-cli"],
    ] {
        let mut build = workspace::cargo(["build", "--quiet"]);
        workspace::succeed(build.args(packages))?;
    }
    let job = Job {
        gpuprof: target.join("debug/gpuprof"),
        example: target.join("debug/examples").join(EXAMPLE),
        folder,
    };
    let mut passed = 0;
    for way in [Way::Alone, Way::UnderGpuprofRun] {
        let reports = job.run(&way)?;
        passed += job.check(&way, &reports)?;
    }
    println!("{passed} passed, 0 failed");
    Ok(())
}

/// How each rank is started.
enum Way {
    Alone,
    UnderGpuprofRun,
}

impl Way {
    fn name(&self) -> &'static str {
        match self {
            Way::Alone => "alone",
            Way::UnderGpuprofRun => "gpuprof-run",
        }
    }
}

struct Job {
    gpuprof: PathBuf,
    example: PathBuf,
    folder: PathBuf,
}

impl Job {
    /// Runs all ranks and returns the folder of their reports.
    fn run(&self, way: &Way) -> Result<PathBuf, String> {
        let reports = self.folder.join(way.name());
        fs::create_dir_all(&reports).map_err(|error| format!("{}: {error}", reports.display()))?;
        let report = format!("json={}", reports.join("{rank}.json").display());
        let mut mpirun = Command::new("mpirun");
        // Of so many ranks on two processors, as root in a container.
        mpirun.args(["--allow-run-as-root", "--oversubscribe", "-n"]);
        mpirun.arg(RANKS.to_string()).env("GPUPROF_SIM", "1");
        match way {
            Way::Alone => mpirun.arg(&self.example).env("GPUPROF_REPORT", &report),
            Way::UnderGpuprofRun => mpirun
                .arg(&self.gpuprof)
                .args(["run", "--report", &report, "--"])
                .arg(&self.example),
        };
        workspace::succeed(&mut mpirun)?;
        Ok(reports)
    }

    /// Returns the number of checks, which all passed.
    fn check(&self, way: &Way, reports: &Path) -> Result<usize, String> {
        let mut passed = 0;
        let mut check = |what: &str, found: &Value, expected: Value| {
            if *found != expected {
                return Err(format!(
                    "{}: {what}: {found}, expected {expected}",
                    way.name()
                ));
            }
            passed += 1;
            println!("ok {}: {what}: {found}", way.name());
            Ok(())
        };
        for rank in 0..RANKS {
            let report = read(&reports.join(format!("{rank}.json")))?;
            check("rank", &report["rank"], rank.into())?;
            check("number of ranks", &report["world_size"], RANKS.into())?;
        }
        let one = read(&reports.join("0.json"))?;
        let calls = |profile: &Value| profile["functions"][0]["calls"].as_u64().unwrap_or(0);
        let (job, note) = self.merged(reports)?;
        check("merged profiles", &job["ranks"]["profiles"], RANKS.into())?;
        check(
            "merged calls",
            &calls(&job).into(),
            (RANKS as u64 * calls(&one)).into(),
        )?;
        check("ranks without a profile", &note, Value::Null)?;
        let missing = reports.join("2.json");
        fs::remove_file(&missing).map_err(|error| format!("{}: {error}", missing.display()))?;
        let (_, note) = self.merged(reports)?;
        let expected = "1 of 4 ranks have no profile here: 2";
        check("a rank without a profile", &note, expected.into())?;
        Ok(passed)
    }

    /// The merged report, and its note about missing ranks.
    fn merged(&self, reports: &Path) -> Result<(Value, Value), String> {
        let path = self.folder.join("job.json");
        let mut merge = Command::new(&self.gpuprof);
        workspace::succeed(merge.arg("merge").arg(reports).arg("-o").arg(&path))?;
        workspace::succeed(Command::new(&self.gpuprof).arg("show").arg(&path))?;
        let job = read(&path)?;
        let notes = job["diagnostics"]["notes"].as_array().cloned();
        let is_note = |note: &Value| {
            note.as_str()
                .is_some_and(|note| note.contains("no profile"))
        };
        let note = notes.unwrap_or_default().into_iter().find(is_note);
        Ok((job, note.unwrap_or(Value::Null)))
    }
}

fn read(path: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
