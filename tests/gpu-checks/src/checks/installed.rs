//! The command `gpuprof` of the GPU pack, as it is installed, and what it reports of a program.

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use gpuprof::Profile;

use crate::check::RunMode;
use crate::device::failed_in;
use crate::process::{self, Finished};

const COMMAND: &str = "gpuprof";
const LIBRARY: &str = "libgpuprof_inject.so";
/// The simulated libraries in the pack, under the names that programs load.
const SIMULATED: [(&str, &str); 2] = [
    ("libcuda.so.1", "libsimcuda.so"),
    ("libcupti.so.13", "libsimcupti.so"),
];

pub(super) const NOT_IN_A_PACK: &str = "this program is not in a GPU pack";

/// The command with its library, in a folder that is removed with it.
pub(super) struct Installed {
    folder: PathBuf,
}

/// The folder of this program: with the other files of the pack, if it is in one.
pub(super) fn pack() -> Result<PathBuf, String> {
    let this = env::current_exe().map_err(failed_in("finding this program"))?;
    Ok(this.parent().map(Path::to_owned).unwrap_or_default())
}

impl Installed {
    /// `None` if this program is not in a GPU pack.
    fn from_pack(run_mode: &RunMode) -> Result<Option<Self>, String> {
        let pack = pack()?;
        if ![COMMAND, LIBRARY]
            .iter()
            .all(|file| pack.join(file).is_file())
        {
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

    /// Where a check may write; removed with the command.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The command and a file of the pack; `None` if they are not beside this program.
    pub(super) fn with_file(
        file: &str,
        run_mode: &RunMode,
    ) -> Result<Option<(Self, PathBuf)>, String> {
        let file = pack()?.join(file);
        let installed = Self::from_pack(run_mode)?.filter(|_| file.is_file());
        Ok(installed.map(|installed| (installed, file)))
    }

    /// What runs a program alone.
    pub(super) fn command(&self, program: &Path, run_mode: &RunMode) -> Command {
        let mut command = Command::new(program);
        process::clear_settings(&mut command);
        command.env_remove("CUDA_INJECTION64_PATH");
        if run_mode.simulated {
            command.env("LD_LIBRARY_PATH", &self.folder);
        }
        command
    }

    /// Runs a program alone.
    pub(super) fn run(
        &self,
        program: &Path,
        arguments: &[&OsStr],
        limit: Duration,
        run_mode: &RunMode,
    ) -> Result<Finished, String> {
        let mut command = self.command(program, run_mode);
        command.args(arguments);
        process::run(command, limit).map_err(failed_in("running a program"))
    }

    /// Runs a program under `gpuprof run` with these options. Returns its end, and the profile.
    pub(super) fn profile(
        &self,
        options: &[&str],
        program: &Path,
        arguments: &[&OsStr],
        limit: Duration,
        run_mode: &RunMode,
    ) -> Result<(Finished, Profile), String> {
        let report = self.folder.join("report.json");
        let spec = format!("json={}", report.display());
        let gpuprof = self.folder.join("bin").join(COMMAND);
        let of_gpuprof = ["run", "--report", &spec].into_iter();
        let of_gpuprof = of_gpuprof.chain(options.iter().copied()).chain(["--"]);
        let mut all: Vec<_> = of_gpuprof.map(OsStr::new).collect();
        all.push(program.as_os_str());
        all.extend(arguments);
        let ended = self.run(&gpuprof, &all, limit, run_mode)?;
        let text = fs::read_to_string(&report)
            .map_err(|error| format!("no report: {error}\n{}", ended.tail()))?;
        let profile = serde_json::from_str(&text).map_err(failed_in("the report"))?;
        // The next program's report must be its own.
        fs::remove_file(report).map_err(failed_in("removing a report"))?;
        Ok((ended, profile))
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        // What cannot be removed stays in the temporary folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
