//! `cargo xtask pprof`: `go tool pprof` reads what gpuprof writes for it, of recorded profiles, of
//! a program on the simulated device and of one that runs, and has the sums of the folded stacks.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::needs::{self, Need};
use crate::workspace::{self, Workspace};

const RECORDED: &str = "gpuprof-report/tests/recorded";
const EXAMPLE: &str = "04_train_digits";

/// The values of a sample, in their order, and the formats of the command that have them.
const VALUES: [(&str, &str); 2] = [("gpu", "folded"), ("cpu", "folded-cpu")];

/// How often the running program is asked until it has measured something, and the time between.
const MAX_REQUESTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// Runs every check and ends with "N passed, 0 failed".
///
/// # Errors
/// A text for the user: an argument, Go is missing and cannot be installed, pprof's complaint, or
/// sums that differ.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err("usage: cargo xtask pprof".into());
    }
    needs::ensure(&[Need::Go])?;
    let target = Workspace::load()?.target;
    let folder = target.join("pprof");
    workspace::empty_folder(&folder)?;
    workspace::succeed(workspace::cargo(["build", "--quiet"]).args(["--package", "gpuprof-cli"]))?;
    let mut build = workspace::cargo(["build", "--quiet", "--package", "gpuprof-examples"]);
    build.args(["--features", "gpuprof/metrics,gpuprof/pprof"]);
    workspace::succeed(build.args(["--example", EXAMPLE]))?;
    let tools = Tools {
        gpuprof: target.join("debug/gpuprof"),
        example: target.join("debug/examples").join(EXAMPLE),
        folder,
    };
    let mut passed = 0;
    for profile in recorded()? {
        let file = tools.folder.join("recorded.pb.gz");
        tools.show("pprof", &profile, &file)?;
        tools.compare(&file, &profile)?;
        passed += 1;
    }
    tools.program()?;
    tools.running_program()?;
    println!("{} passed, 0 failed", passed + 2);
    Ok(())
}

fn recorded() -> Result<Vec<PathBuf>, String> {
    let folder = workspace::root().join(RECORDED);
    let files = fs::read_dir(&folder).map_err(|error| shown(&folder, error))?;
    let files = files.map(|file| Ok(file.map_err(|error| shown(&folder, error))?.path()));
    let files = files.collect::<Result<Vec<PathBuf>, String>>()?;
    match files.len() {
        0 => Err(format!("{RECORDED} has no profile")),
        _ => Ok(files),
    }
}

struct Tools {
    gpuprof: PathBuf,
    example: PathBuf,
    folder: PathBuf,
}

impl Tools {
    /// What a program writes at its end.
    fn program(&self) -> Result<(), String> {
        let (file, profile) = (self.folder.join("gpu.pb.gz"), self.folder.join("run.json"));
        let outputs = format!("pprof={},json={}", file.display(), profile.display());
        workspace::succeed(self.on_simulated_device().env("GPUPROF_REPORT", outputs))?;
        self.compare(&file, &profile)?;
        let raw = self.pprof(&["-raw"], &file.display().to_string())?;
        for text in ["simulated device", "device:[0]", EXAMPLE] {
            if !raw.contains(text) {
                return Err(format!("{} has no `{text}`", file.display()));
            }
        }
        Ok(())
    }

    /// What pprof itself fetches of a program that runs.
    fn running_program(&self) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr());
        let address = listener.map_err(|error| format!("no free port: {error}"))?;
        let mut program = self.on_simulated_device();
        program
            .env("GPUPROF_REPORT", "none")
            .env("GPUPROF_METRICS", format!("listen={address}"));
        let started = program.spawn();
        let _running = Running(started.map_err(|error| shown(&self.example, error))?);
        let url = format!("http://{address}/debug/pprof/gpu");
        let mut last = String::new();
        for _ in 0..MAX_REQUESTS {
            match self.pprof(&["-raw"], &url) {
                Ok(raw) if sums(&raw)?.iter().all(|sum| *sum > 0) => return Ok(()),
                Ok(raw) => last = raw,
                Err(error) => last = error,
            }
            thread::sleep(PAUSE);
        }
        Err(format!("{url} had no GPU time and CPU time: {last}"))
    }

    fn on_simulated_device(&self) -> Command {
        let mut example = Command::new(&self.example);
        workspace::neutral(&mut example);
        example
            .env("GPUPROF_SIM", "1")
            .env("GPUPROF_CUPTI", "on")
            .stdout(Stdio::null());
        example
    }

    fn show(&self, format: &str, profile: &Path, into: &Path) -> Result<(), String> {
        let mut show = Command::new(&self.gpuprof);
        show.args(["show", "--format", format, "-o"]).arg(into);
        workspace::succeed(show.arg(profile))
    }

    /// pprof's sums of a file with those of the folded stacks of its profile, and its own report.
    fn compare(&self, file: &Path, profile: &Path) -> Result<(), String> {
        let source = file.display().to_string();
        let sums = sums(&self.pprof(&["-raw"], &source)?)?;
        for ((value, format), sum) in VALUES.iter().zip(sums) {
            let folded = self.folder.join(format);
            self.show(format, profile, &folded)?;
            let lines = fs::read_to_string(&folded).map_err(|error| shown(&folded, error))?;
            let weights = lines.lines().filter_map(|line| line.rsplit_once(' '));
            let expected: u64 = weights.filter_map(|(_, ns)| ns.parse::<u64>().ok()).sum();
            let of = format!("{value} time of {}", profile.display());
            if sum != expected {
                return Err(format!("{of}: {sum} ns, and folded stacks {expected} ns"));
            }
            let index = format!("-sample_index={value}");
            let top = self.pprof(&["-top", "-unit=ns", "-nodefraction=0", &index], &source)?;
            if !top.contains(&format!("of {expected}ns total")) {
                return Err(format!("{of}: not {expected} ns in {top}"));
            }
        }
        Ok(())
    }

    /// What `go tool pprof` prints.
    fn pprof(&self, arguments: &[&str], source: &str) -> Result<String, String> {
        let mut pprof = Command::new("go");
        pprof.args(["tool", "pprof"]).args(arguments).arg(source);
        // Where it keeps what it has fetched.
        pprof.env("PPROF_TMPDIR", &self.folder);
        let output = pprof
            .output()
            .map_err(|error| format!("cannot run go: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Ends the program.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The sums of both values in `pprof -raw`: between the lines of their names and of the locations,
/// `gpu cpu: ids` is a sample.
fn sums(raw: &str) -> Result<[u64; 2], String> {
    let names = "gpu/nanoseconds[dflt] cpu/nanoseconds\n";
    let samples = raw.split_once(names).map(|(_, rest)| rest);
    let samples = samples.and_then(|rest| rest.split_once("Locations\n"));
    let (samples, _) = samples.ok_or_else(|| format!("no samples of both values in {raw}"))?;
    let mut sums = [0; 2];
    for line in samples.lines() {
        let Some((values, _)) = line.split_once(": ") else {
            continue;
        };
        let values: Vec<u64> = values
            .split_whitespace()
            .filter_map(|value| value.parse().ok())
            .collect();
        // Labels are on lines of their own.
        if let [gpu, cpu] = values[..] {
            sums[0] += gpu;
            sums[1] += cpu;
        }
    }
    Ok(sums)
}

fn shown(path: &Path, error: std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
