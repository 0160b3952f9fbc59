//! Promise: `gpuprof run` reports a program that does not use gpuprof with exact counts, and the
//! program works as alone, its own profiler included.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use gpuprof::Profile;

use crate::check::{Check, Row, RunMode};
use crate::device::failed_in;
use crate::process::{self, Finished};

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "any-program",
        promise: "A C program under gpuprof run is reported with exact counts, and ends as alone.",
        limit: Duration::from_secs(120),
        run: c_program,
    },
    Check {
        name: "handover",
        promise: "torch.profiler records under gpuprof run as many kernels as alone.",
        limit: Duration::from_secs(420),
        run: torch_profiler,
    },
];

/// The C program: five launches, and a copy of 1 MiB each way.
const PROGRAM: &str = "any-program";
/// Prints the kernels in each of two windows of torch.profiler.
const WINDOWS: &str = "torch_windows.py";
/// What gpuprof has recorded by the first of them: these, and few that PyTorch adds.
const BEFORE: u64 = 50;
const MAX_ADDED: u64 = 10;

const COMMAND: &str = "gpuprof";
const LIBRARY: &str = "libgpuprof_inject.so";
/// The simulated libraries in the pack, under the names that programs load.
const SIMULATED: [(&str, &str); 2] = [
    ("libcuda.so.1", "libsimcuda.so"),
    ("libcupti.so.13", "libsimcupti.so"),
];
const LIMIT: Duration = Duration::from_secs(60);
/// Importing PyTorch takes long from a cold disk.
const PYTHON_LIMIT: Duration = Duration::from_secs(180);

/// `calls`, by name.
const CALLS: [(&str, u64); 8] = [
    ("cuCtxSynchronize", 1),
    ("cuLaunchKernel", 5),
    ("cuMemAlloc", 1),
    ("cuMemFree", 1),
    ("cuMemcpyDtoHAsync", 1),
    ("cuMemcpyHtoDAsync", 1),
    ("cuModuleGetFunction", 1),
    ("cuModuleLoadData", 1),
];

/// The command as it is installed, in a folder that is removed with it.
struct Installed {
    folder: PathBuf,
}

impl Installed {
    /// `None` if this program is not in a GPU pack.
    fn from_pack(pack: &Path, run_mode: &RunMode) -> Result<Option<Self>, String> {
        let files = [COMMAND, LIBRARY, PROGRAM];
        if !files.iter().all(|file| pack.join(file).is_file()) {
            return Ok(None);
        }
        let name = format!("gpu-checks-installed-{}", std::process::id());
        let installed = Self {
            folder: env::temp_dir().join(name),
        };
        let put = |file: &str, folder: &str| {
            let folder = installed.folder.join(folder);
            fs::create_dir_all(&folder)?;
            fs::copy(pack.join(file), folder.join(file))
        };
        put(COMMAND, "bin")
            .and_then(|_| put(LIBRARY, "lib/gpuprof"))
            .map_err(failed_in("installing"))?;
        if run_mode.simulated {
            for (name, file) in SIMULATED {
                symlink(pack.join(file), installed.folder.join(name))
                    .map_err(failed_in("linking"))?;
            }
        }
        Ok(Some(installed))
    }

    /// Runs a program alone and under `gpuprof run`. Returns both ends, and the profile.
    fn run(
        &self,
        program: &Path,
        arguments: &[&Path],
        limit: Duration,
        run_mode: &RunMode,
    ) -> Result<(Finished, Finished, Profile), String> {
        let report = self.folder.join("report.json");
        let spec = format!("json={}", report.display());
        let gpuprof = self.folder.join("bin").join(COMMAND);
        let under = ["run", "--report", &spec, "--"].map(Path::new);
        let under = [&under[..], &[program], arguments].concat();
        let run = |program: &Path, arguments: &[&Path]| {
            let mut command = Command::new(program);
            process::clear_settings(&mut command);
            command.args(arguments).env_remove("CUDA_INJECTION64_PATH");
            if run_mode.simulated {
                command.env("LD_LIBRARY_PATH", &self.folder);
            }
            process::run(command, limit)
        };
        let alone = run(program, arguments).map_err(failed_in("the program alone"))?;
        let with = run(&gpuprof, &under).map_err(failed_in("gpuprof run"))?;
        let text = fs::read_to_string(report)
            .map_err(|error| format!("no report: {error}\n{}", with.tail()))?;
        let profile = serde_json::from_str(&text).map_err(failed_in("the report"))?;
        Ok((alone, with, profile))
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        // What cannot be removed stays in the temporary folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn pack() -> Result<PathBuf, String> {
    let this = env::current_exe().map_err(failed_in("finding this program"))?;
    Ok(this.parent().map(Path::to_owned).unwrap_or_default())
}

fn c_program(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let pack = pack()?;
    let Some(installed) = Installed::from_pack(&pack, run_mode)? else {
        return Ok(vec![not_in_a_pack("a C program")]);
    };
    let program = pack.join(PROGRAM);
    let (alone, with, profile) = installed.run(&program, &[], LIMIT, run_mode)?;
    let calls = CALLS.map(|(name, calls)| format!("{name} {calls}"));
    Ok(vec![
        ends_as_alone(&alone, &with, 7),
        row("kernels", kernels(&profile), "scale 5"),
        row(
            "copies",
            copies(&profile),
            "DtoH 1 of 1048576 B, HtoD 1 of 1048576 B",
        ),
        row("CUDA calls", api_calls(&profile), &calls.join(", ")),
        row("lost records, and notes", lost(&profile), "0, []"),
    ])
}

fn torch_profiler(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let what = "kernels in two windows of torch.profiler";
    if run_mode.simulated {
        return Ok(vec![Row::unavailable(what, "PyTorch needs a GPU")]);
    }
    let mut import = Command::new("python3");
    import.args(["-c", "import torch"]);
    let imported = process::run(import, PYTHON_LIMIT);
    if !imported.is_ok_and(|ended| ended.failure().is_none()) {
        let why = "NOT MEASURED: python3 has no PyTorch here";
        return Ok(vec![Row::unavailable(what, why)]);
    }
    let pack = pack()?;
    let Some(installed) = Installed::from_pack(&pack, run_mode)? else {
        return Ok(vec![not_in_a_pack(what)]);
    };
    let windows = pack.join(WINDOWS);
    let python = Path::new("python3");
    let (alone, with, profile) = installed.run(python, &[&windows], PYTHON_LIMIT, run_mode)?;
    let before: u64 = (profile.kernels.iter())
        .map(|kernel| kernel.times.calls)
        .sum();
    let notes = &profile.diagnostics.notes;
    Ok(vec![
        ends_as_alone(&alone, &with, 0),
        row(what, with.stdout.trim().to_owned(), "30 30"),
        Row::judged(
            "kernels that gpuprof recorded before them",
            before.to_string(),
            format!("{BEFORE} to {}", BEFORE + MAX_ADDED),
            (BEFORE..=BEFORE + MAX_ADDED).contains(&before),
        ),
        Row::judged(
            "what the report says of it",
            notes.join("; "),
            "that it was measured until PyTorch asked for CUPTI",
            notes.iter().any(|note| note.contains("asked for CUPTI")),
        ),
    ])
}

fn not_in_a_pack(what: &str) -> Row {
    let why = format!("{COMMAND}, {LIBRARY} and {PROGRAM} are not beside this program");
    Row::unavailable(what, why)
}

fn row(what: &str, measured: String, wanted: &str) -> Row {
    let passed = measured == wanted;
    Row::judged(what, measured, wanted, passed)
}

fn ends_as_alone(alone: &Finished, with: &Finished, status: i32) -> Row {
    let shown = |ended: &Finished| {
        let code = ended.status.and_then(|status| status.code());
        let code = code.map_or("killed".to_owned(), |code| code.to_string());
        format!("{code}, {:?}", ended.stdout)
    };
    let code = alone.status.and_then(|status| status.code());
    let passed = shown(alone) == shown(with) && code == Some(status);
    let wanted = format!("as alone: {}", shown(alone));
    Row::judged("status and output", shown(with), wanted, passed)
}

fn kernels(profile: &Profile) -> String {
    let kernels = profile.kernels.iter();
    joined(kernels.map(|kernel| format!("{} {}", kernel.name, kernel.times.calls)))
}

fn copies(profile: &Profile) -> String {
    let copies = profile.copies.iter();
    joined(copies.map(|of| format!("{} {} of {} B", of.kind, of.times.calls, of.bytes)))
}

fn api_calls(profile: &Profile) -> String {
    let calls = profile.api.iter();
    joined(calls.map(|call| format!("{} {}", call.name, call.times.calls)))
}

fn joined(rows: impl Iterator<Item = String>) -> String {
    let mut rows: Vec<_> = rows.collect();
    rows.sort_unstable();
    rows.join(", ")
}

fn lost(profile: &Profile) -> String {
    let lost = profile.cupti.as_ref().map_or("no records".into(), |of| {
        let lost = of.dropped_records + of.invalid_records + of.unfinished + of.dropped_calls;
        lost.to_string()
    });
    format!("{lost}, {:?}", profile.diagnostics.notes)
}
