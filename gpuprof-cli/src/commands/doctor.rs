//! `gpuprof doctor`: what this machine lacks, with the fix for each.

mod long_runs;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use gpuprof_report::{libcupti_paths, sanitize};

use crate::machine::injected_library::{self, NoInjection};
use crate::machine::libraries::{self, FoundCupti, FoundDriver};
use crate::machine::nvcc::{self, VersionSource};
use crate::machine::permissions::{self, CounterAccess};
use crate::machine::{libclang, program};
use crate::output::{self, Exit};

/// Says what this machine lacks for profiling, and how to get it
///
/// Exits with 0 if the NVIDIA driver works, else with 1.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {}

/// What was found on a machine.
struct MachineFacts {
    driver: FoundDriver,
    cupti: Option<FoundCupti>,
    /// The library that `GPUPROF_CUPTI_LIBRARY` names.
    stated_cupti: Option<String>,
    nvml: bool,
    counters: CounterAccess,
    nsys: Option<PathBuf>,
    ncu: Option<PathBuf>,
    libclang: Option<PathBuf>,
    /// The library for programs that do not use gpuprof.
    injected: Result<PathBuf, NoInjection>,
    cuda_version: VersionSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ok,
    /// Works, with a limit that its text names.
    Warning,
    Missing,
}

/// The outcome of one check.
struct Check {
    name: &'static str,
    state: State,
    /// What was found, or what does not work without it.
    found: String,
    /// What to do, a line for each way; empty if nothing.
    fix: String,
}

/// Runs the command.
pub(crate) fn run(_: &DoctorArguments) -> Exit {
    let facts = MachineFacts::here();
    let written = output::write(text(&checks(&facts)).as_bytes(), None);
    match (written, &facts.driver) {
        (Exit::Success, FoundDriver::Works { .. }) => Exit::Success,
        (Exit::Success, _) => Exit::Negative,
        (failed, _) => failed,
    }
}

impl MachineFacts {
    fn here() -> Self {
        Self {
            driver: libraries::driver(),
            stated_cupti: libcupti_paths::user_choice(),
            cupti: libraries::cupti(),
            injected: injected_library::find_loadable(),
            nvml: libraries::nvml_works(),
            counters: permissions::counters(),
            nsys: program("nsys"),
            ncu: program("ncu"),
            libclang: libclang::find(),
            cuda_version: VersionSource::here(),
        }
    }
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Ok,
            found: found.into(),
            fix: String::new(),
        }
    }

    fn missing(name: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Missing,
            found: found.into(),
            fix: fix.into(),
        }
    }
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Missing => "missing",
        }
    }
}

fn checks(facts: &MachineFacts) -> [Check; 9] {
    [
        driver(&facts.driver),
        cupti(facts),
        nvml(facts),
        counters(facts.counters),
        tool(
            "nsys",
            facts.nsys.as_deref(),
            "time lines of Nsight Systems",
            "https://developer.nvidia.com/nsight-systems\n\
             or, from NVIDIA's repository: apt-get install nsight-systems",
        ),
        tool(
            "ncu",
            facts.ncu.as_deref(),
            "a closer look at one kernel",
            "https://developer.nvidia.com/nsight-compute\n\
             or, from NVIDIA's repository: apt-get install nsight-compute",
        ),
        tool(
            "libclang",
            facts.libclang.as_deref(),
            "builds with the feature nvtx",
            "apt-get install libclang-dev, dnf install clang-devel, or pacman -S clang\n\
             or build without it: default-features = false, features = [\"enable\"]",
        ),
        cuda_version_of_cudarc(&facts.cuda_version),
        injection(&facts.injected),
    ]
}

fn injection(library: &Result<PathBuf, NoInjection>) -> Check {
    const NAME: &str = "any program";
    match library {
        Ok(path) => Check::ok(NAME, shown(&path.to_string_lossy())),
        Err(reason) => {
            let found = format!("gpuprof run: {reason}");
            Check::missing(NAME, found, injected_library::FIX)
        }
    }
}

/// The CUDA version for which cudarc makes its bindings.
fn cuda_version_of_cudarc(source: &VersionSource) -> Check {
    const NAME: &str = "nvcc";
    let (found, fix) = match source {
        VersionSource::Neither => {
            return Check::ok(
                NAME,
                "is not found and not needed: cudarc builds without it",
            );
        }
        VersionSource::Variable(value) if nvcc::is_known(value) => {
            return Check::ok(NAME, format!("is not asked: CUDARC_CUDA_VERSION={value}"));
        }
        VersionSource::Variable(value) => (
            format!("CUDARC_CUDA_VERSION={}", sanitize::quoted(value, MAX_PATH)),
            nvcc::replacement(None),
        ),
        VersionSource::Nvcc { path, version } => {
            let found = match version {
                Some((major, minor)) => format!("CUDA {major}.{minor}"),
                None => "the version of this nvcc".into(),
            };
            let Some(fix) = nvcc::replacement(*version) else {
                let path = shown(&path.to_string_lossy());
                return Check::ok(NAME, format!("{path} of {found}"));
            };
            (found, Some(fix))
        }
    };
    Check::missing(
        NAME,
        format!(
            "cudarc {} does not know {found}: its build script stops",
            nvcc::CUDARC
        ),
        format!(
            "export CUDARC_CUDA_VERSION={}\nor choose a feature of cudarc, cuda-…, in the program",
            fix.unwrap_or_default()
        ),
    )
}

fn driver(driver: &FoundDriver) -> Check {
    const NAME: &str = "driver";
    match driver {
        FoundDriver::Works { version, devices } => {
            let names = shown(&counted(devices).join(", "));
            Check::ok(NAME, format!("CUDA {}: {names}", cuda_version(*version)))
        }
        FoundDriver::Missing => Check::missing(
            NAME,
            "there is no libcuda.so.1: nothing can run on a GPU",
            "install the driver: https://www.nvidia.com/drivers\n\
             in a container: docker run --gpus all\n\
             without a GPU: cargo xtask sim, in a clone of gpuprof",
        ),
        FoundDriver::Broken(100) => Check::missing(
            NAME,
            "libcuda.so.1 sees no device (cuInit returned 100, CUDA_ERROR_NO_DEVICE)",
            "unset CUDA_VISIBLE_DEVICES\nin a container: docker run --gpus all",
        ),
        FoundDriver::Broken(802) => Check::missing(
            NAME,
            "the devices are not ready (cuInit returned 802, CUDA_ERROR_SYSTEM_NOT_READY)",
            "systemctl start nvidia-fabricmanager",
        ),
        FoundDriver::Broken(803) => Check::missing(
            NAME,
            "libcuda.so.1 does not fit the kernel module (cuInit returned 803, \
             CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)",
            "reboot after an update of the driver\nin a container: start it again",
        ),
        FoundDriver::Broken(status) => Check::missing(
            NAME,
            format!("libcuda.so.1 does not start: cuInit returned {status}"),
            "nvidia-smi says why",
        ),
    }
}

/// The names, each with how often it follows itself: `8 × NVIDIA H200`.
fn counted(names: &[String]) -> Vec<String> {
    let runs = names.chunk_by(|a, b| a == b);
    let counted = runs.filter_map(|run| match run {
        [name] => Some(name.clone()),
        [name, ..] => Some(format!("{} × {name}", run.len())),
        [] => None,
    });
    counted.collect()
}

/// A CUDA version times 1,000, as the driver states it.
fn cuda_version(version: i32) -> String {
    format!("{}.{}", version / 1_000, version % 1_000 / 10)
}

fn cupti(facts: &MachineFacts) -> Check {
    const NAME: &str = "libcupti";
    const WITHOUT: &str = "GPUPROF_CUPTI=on records no kernels";
    const INSTALL: &str = "pip install nvidia-cuda-cupti (CUDA 12: nvidia-cuda-cupti-cu12)\n\
                           or install the CUDA toolkit";
    let Some(found) = &facts.cupti else {
        return match &facts.stated_cupti {
            Some(path) => Check::missing(
                NAME,
                format!(
                    "GPUPROF_CUPTI_LIBRARY={} does not open: {WITHOUT}",
                    sanitize::quoted(path, MAX_PATH)
                ),
                "unset GPUPROF_CUPTI_LIBRARY, and run gpuprof doctor again",
            ),
            None => Check::missing(NAME, format!("is not found: {WITHOUT}"), INSTALL),
        };
    };
    let name = shown(&found.name);
    let major = match (found.version, &facts.driver) {
        (Some(0..18), _) => {
            let found = format!("{name} is older than CUDA 12.0: {WITHOUT}");
            return Check::missing(NAME, found, INSTALL);
        }
        (Some(18..100_000), _) => 12,
        (Some(version), _) => version / 10_000,
        (None, FoundDriver::Works { .. }) => {
            let found = format!("{name} does not start with this driver: {WITHOUT}");
            return Check::missing(NAME, found, INSTALL);
        }
        (None, _) => return Check::ok(NAME, format!("{name}, of a version that needs the driver")),
    };
    match &facts.driver {
        FoundDriver::Works { version, .. } if i64::from(version / 1_000) < i64::from(major) => {
            Check::missing(
                NAME,
                format!(
                    "{name} is of CUDA {major}, and the driver of CUDA {}: {WITHOUT}",
                    cuda_version(*version)
                ),
                "pip install nvidia-cuda-cupti-cu12\n\
                 export GPUPROF_CUPTI_LIBRARY=PATH, the path of its libcupti.so.12",
            )
        }
        _ => {
            let of_cuda = format!("{name} of CUDA {major}");
            match found.version.map(long_runs::missing_fixes) {
                Some(fixes) if !fixes.is_empty() => Check {
                    state: State::Warning,
                    ..Check::missing(
                        NAME,
                        format!("{of_cuda} is older than fixes for runs of hours"),
                        fixes,
                    )
                },
                // Libraries with all fixes are newer than the calls for one of several subscribers.
                Some(_) => Check::ok(NAME, format!("{of_cuda}, which profilers can share")),
                None => Check::ok(NAME, of_cuda),
            }
        }
    }
}

fn nvml(facts: &MachineFacts) -> Check {
    const NAME: &str = "NVML";
    if facts.nvml {
        Check::ok(NAME, "libnvidia-ml.so.1")
    } else {
        Check::missing(
            NAME,
            "libnvidia-ml.so.1 does not start: reports lack the GPU's clocks",
            "install the driver, which has it\n\
         in a container: docker run -e NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        )
    }
}

fn counters(counters: CounterAccess) -> Check {
    const NAME: &str = "GPU counters";
    match counters {
        CounterAccess::Everyone => Check::ok(NAME, "every user may read them"),
        CounterAccess::AdministratorsHere => {
            Check::ok(NAME, "administrators may read them, as you are one")
        }
        CounterAccess::Administrators => Check::missing(
            NAME,
            "RmProfilingAdminOnly is 1: ncu, GPUPROF_COUNTERS and on some systems CUPTI need root",
            "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee \
             /etc/modprobe.d/nvidia-profiling.conf, then reboot\n\
             in a container: docker run --cap-add SYS_ADMIN",
        ),
        CounterAccess::NoDriver => Check::missing(
            NAME,
            "/proc/driver/nvidia/params is missing: the kernel module is not loaded",
            "sudo modprobe nvidia, once the driver is installed",
        ),
    }
}

fn tool(name: &'static str, path: Option<&Path>, serves: &'static str, fix: &'static str) -> Check {
    match path {
        Some(path) => Check::ok(name, shown(&path.to_string_lossy())),
        None => Check::missing(name, format!("is not found; it is for {serves}"), fix),
    }
}

/// Characters of a path that a line shows.
const MAX_PATH: usize = 200;

fn shown(path: &str) -> String {
    sanitize::short(path, MAX_PATH).into_owned()
}

/// A line for each check, and below it those of its fix.
fn text(checks: &[Check]) -> String {
    let width = checks
        .iter()
        .map(|check| check.name.len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let state = check.state.word();
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{:width$}  {state:7}  {}", check.name, check.found);
        for line in check.fix.lines() {
            let _ = writeln!(text, "{:width$}  {:7}  → {line}", "", "");
        }
    }
    text
}

#[cfg(test)]
mod tests;
