//! Small programs outside the workspace, as users have them: what they cost to build, that they
//! build and run with what is published, that no feature set shows them a warning or builds what is
//! for tests alone, and that their launches have their lines, whatever their folder is called.

pub(crate) mod build_cost;
pub(crate) mod feature_warnings;
pub(crate) mod launch_lines;
mod packages;
mod program_size;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace;

/// cudarc as in the README: for any CUDA version, opened at run time.
const CUDARC: &str = r#"cudarc = { version = "0.19.6", default-features = false, features = [
    "std", "driver", "fallback-dynamic-loading", "cuda-version-from-build-system",
    "fallback-latest", "nvrtc",
] }"#;

const MAIN: &str = r#"
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DriverError, LaunchConfig};
use cudarc::nvrtc::Ptx;

const PTX: &str = "
.version 6.0
.target sm_50
.address_size 64
.visible .entry nothing() { ret; }
";

ATTRIBUTE
fn round_trip(stream: &Arc<CudaStream>, kernel: &CudaFunction) -> Result<Vec<f32>, DriverError> {
    let on_device = stream.clone_htod(&[1.0_f32; 4])?;
    launch(stream, kernel)?;
    stream.clone_dtoh(&on_device)
}

fn launch(stream: &Arc<CudaStream>, kernel: &CudaFunction) -> Result<(), DriverError> {
    let mut launch = stream.launch_builder(kernel);
    // SAFETY: the kernel has no parameters.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }.map(drop) // The launch.
}

fn main() -> Result<(), DriverError> {
    let context = CudaContext::new(0)?;
    let kernel = context.load_module(Ptx::from_src(PTX))?.load_function("nothing")?;
    round_trip(&context.new_stream()?, &kernel).map(drop)
}
"#;

/// How a program is built.
#[derive(Clone, Copy, PartialEq)]
enum Profile {
    Debug,
    Release,
}

impl Profile {
    /// As cargo names its folder.
    fn name(self) -> &'static str {
        match self {
            Profile::Debug => "debug",
            Profile::Release => "release",
        }
    }
}

/// A package of its own, with the versions of the workspace's Cargo.lock.
struct Program {
    folder: PathBuf,
}

impl Program {
    /// Writes the program into `folder`: with gpuprof and these of its features, or with cudarc
    /// alone.
    fn write(folder: &Path, features: Option<&[&str]>) -> Result<Program, String> {
        Program::write_as("outside", folder, features)
    }

    /// The same with a package of this name.
    fn write_as(name: &str, folder: &Path, features: Option<&[&str]>) -> Result<Program, String> {
        let failed = |error| format!("{}: {error}", folder.display());
        let root = workspace::root();
        let gpuprof = features.map_or_else(String::new, |features| {
            format!(
                "gpuprof = {{ path = {root:?}, default-features = false, features = {features:?} }}"
            )
        });
        let attribute = features.map_or("", |_| "#[gpuprof::gpu_profile]");
        let manifest = format!(
            "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [workspace]\n\n[dependencies]\n{CUDARC}\n{gpuprof}\n"
        );
        fs::create_dir_all(folder.join("src")).map_err(failed)?;
        fs::write(folder.join("Cargo.toml"), manifest).map_err(failed)?;
        fs::write(
            folder.join("src/main.rs"),
            MAIN.replace("ATTRIBUTE", attribute),
        )
        .map_err(failed)?;
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).map_err(failed)?;
        Ok(Program {
            folder: folder.into(),
        })
    }

    /// Depends on gpuprof in the registry instead of the clone.
    fn use_registry(&self) -> Result<(), String> {
        let path = self.folder.join("Cargo.toml");
        let failed = |error| format!("{}: {error}", path.display());
        let manifest = fs::read_to_string(&path).map_err(failed)?;
        let clone = format!("path = {:?}", workspace::root());
        let version = format!("version = \"={}\"", env!("CARGO_PKG_VERSION"));
        fs::write(&path, manifest.replace(&clone, &version)).map_err(failed)
    }

    /// Adds to the program's source or manifest.
    fn append_to(&self, file: &str, text: &str) -> Result<(), String> {
        let path = self.folder.join(file);
        let failed = |error| format!("{}: {error}", path.display());
        let old = fs::read_to_string(&path).map_err(failed)?;
        fs::write(&path, old + text).map_err(failed)
    }

    /// A build into `target`. Not incremental: cargo builds packages of a registry so.
    fn build(&self, target: &Path, profile: Profile) -> Command {
        let mut command = workspace::cargo(["build", "--quiet", "--offline"]);
        if profile == Profile::Release {
            command.arg("--release");
        }
        command
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", target)
            .env("CARGO_INCREMENTAL", "0");
        workspace::without_test_hooks(&mut command);
        // Symbols then say which types generic code is made for. The code is the same.
        command.env("RUSTFLAGS", "-Csymbol-mangling-version=v0");
        command
    }
}
