//! `cargo xtask gpu-pack`: one folder that runs on a machine with an NVIDIA driver and no Rust
//! toolchain.
//!
//! Machines with a GPU are rented by the hour and have no toolchain. What is copied there must be
//! small, complete and tested.

mod glibc_version;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::c_program;
use crate::needs::{self, Need};
use crate::workspace::{self, Workspace};

const USAGE: &str = "usage: cargo xtask gpu-pack
  builds target/gpu-pack: the checks, the examples, the benchmark, the command gpuprof with the
  library that it injects and a program for it, the simulated driver and libcupti, and run.sh,
  which unpacks them; at most 60 MiB. Copy that folder to a machine with an NVIDIA driver and run
  run.sh there; run.sh --help says more.";

/// The script that starts everything; [`GLIBC`] in it is replaced by the version that the pack
/// needs.
const RUN: &str = include_str!("run.sh");
/// The names and texts of the programs that measure torch.profiler, use it under `gpuprof run`,
/// measure peers of the benchmarks, and read a report of Nsight Compute.
const PYTHON: [(&str, &str); 4] = [
    ("torch_profiler.py", include_str!("torch_profiler.py")),
    ("torch_windows.py", include_str!("torch_windows.py")),
    ("bench_peers.py", include_str!("bench_peers.py")),
    ("ncu_stalls.py", include_str!("ncu_stalls.py")),
];
/// Programs that the checks `pipes`, `stalls` and `findings` compile, as the build may have no CUDA
/// toolkit.
const CUDA_C: [(&str, &str); 2] = [
    (
        "limits.cu",
        include_str!("../../../examples/any-program/limits.cu"),
    ),
    (
        "findings.cu",
        include_str!("../../../examples/any-program/findings.cu"),
    ),
];
const GLIBC: &str = "@GLIBC@";
/// The largest allowed size of the pack, in bytes.
const LIMIT: u64 = 60 << 20;

/// One build, and its files that are packed besides the examples.
struct Build {
    arguments: &'static [&'static str],
    /// Its folder below the pack's target folder. Each build has its own, so that a build with
    /// other features does not rebuild the first.
    folder: &'static str,
    /// Paths below the profile's folder.
    files: &'static [&'static str],
    /// Benchmark targets, whose files have a hash in their names.
    benchmarks: &'static [&'static str],
    examples: bool,
    /// With the names and lines of functions, which launches are reported by.
    has_lines: bool,
}

const BUILDS: [Build; 4] = [
    Build {
        arguments: &[
            "--package",
            "gpuprof-examples",
            "--package",
            "gpuprof-examples-more",
            "--package",
            "gpuprof-benches",
            "--examples",
            "--bin",
            "cost",
            "--bench",
            "kernels",
            "--bench",
            "compare",
        ],
        folder: "on",
        files: &["cost"],
        benchmarks: &["kernels", "compare"],
        examples: true,
        has_lines: false,
    },
    Build {
        arguments: &["--package", "gpu-checks", "--bin", "gpu-checks"],
        folder: "lines",
        // The simulated driver and libcupti, so that the pack itself can be tried anywhere.
        files: &["gpu-checks", "deps/libsimcuda.so", "deps/libsimcupti.so"],
        benchmarks: &[],
        examples: false,
        has_lines: true,
    },
    Build {
        arguments: &[
            "--package",
            "gpuprof-benches",
            "--no-default-features",
            "--features",
            "off",
            "--bin",
            "cost-off",
        ],
        folder: "off",
        files: &["cost-off"],
        benchmarks: &[],
        examples: false,
        has_lines: false,
    },
    // A build of its own: its features would make the examples larger.
    Build {
        arguments: &[
            "--package",
            "gpuprof-cli",
            "--package",
            "gpuprof-inject",
            "--bin",
            "gpuprof",
            "--lib",
        ],
        folder: "command",
        files: &["gpuprof", "libgpuprof_inject.so"],
        benchmarks: &[],
        examples: false,
        has_lines: false,
    },
];

/// Builds the pack.
///
/// # Errors
/// A text for the user: something missing that may not be installed, a build that fails, a pack
/// that is too large.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err(USAGE.into());
    }
    needs::ensure(&[Need::CCompiler, Need::Libclang])?;
    let workspace = Workspace::load()?;
    let builds = workspace.target.join("gpu-pack-build");
    let mut files = Vec::new();
    for build in &BUILDS {
        let folder = builds.join(build.folder);
        make(build, &folder)?;
        let profile = folder.join("release");
        files.extend(build.files.iter().map(|file| profile.join(file)));
        if build.examples {
            let examples = workspace.examples.keys();
            files.extend(examples.map(|name| profile.join("examples").join(name)));
        }
    }
    let c_program = builds.join("any-program");
    c_program::compile(&c_program)?;
    files.push(c_program);
    let pack = workspace.target.join("gpu-pack");
    let mut sizes = fill(&pack, &files)?;
    for build in &BUILDS {
        for &name in build.benchmarks {
            let folder = builds.join(build.folder).join("release/deps");
            sizes.push((name.into(), add_benchmark(&folder, name, &pack)?));
        }
    }
    sizes.extend(add_ptx(
        &workspace::root().join("kernels/ptx"),
        &pack.join("ptx"),
    )?);
    compress(&pack, &mut sizes)?;
    weigh(&sizes)?;
    for (name, bytes) in &sizes {
        println!("{:>10}  {name}", kib(*bytes));
    }
    let total: u64 = sizes.iter().map(|(_, bytes)| bytes).sum();
    println!("{:>10}  in all: {}", kib(total), pack.display());
    Ok(())
}

/// Builds without symbols and debug information, unless lines are wanted. cargo strips by itself,
/// so no binutils are needed.
fn make(build: &Build, folder: &Path) -> Result<(), String> {
    let (strip, debug) = if build.has_lines {
        ("none", "line-tables-only")
    } else {
        ("symbols", "false")
    };
    let mut command = workspace::cargo(["build", "--release"]);
    command
        .args(build.arguments)
        .arg("--target-dir")
        .arg(folder)
        .env("CARGO_PROFILE_RELEASE_STRIP", strip)
        .env("CARGO_PROFILE_RELEASE_DEBUG", debug);
    workspace::succeed(workspace::without_test_hooks(&mut command))
}

/// Copies the newest build of a benchmark target into the pack, by its name alone. Returns its size
/// in bytes.
fn add_benchmark(folder: &Path, name: &str, pack: &Path) -> Result<u64, String> {
    let failed = |error: io::Error| format!("{}: {error}", folder.display());
    let mut newest = None;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let hash = file
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('-'));
        if hash.is_some_and(|hash| hash.chars().all(|c| c.is_ascii_hexdigit())) {
            let built = fs::metadata(&path).and_then(|data| data.modified());
            newest = newest.max(Some((built.map_err(failed)?, path)));
        }
    }
    let (_, file) = newest.ok_or(format!("{}: no {name} was built", folder.display()))?;
    fs::copy(&file, pack.join(name)).map_err(failed)
}

/// Copies the PTX of the kernels, which peers of the benchmarks load. Returns names and sizes.
fn add_ptx(from: &Path, to: &Path) -> Result<Vec<(String, u64)>, String> {
    let failed = |error: io::Error| format!("{}: {error}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    let mut sizes = Vec::new();
    for entry in fs::read_dir(from).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default();
        let bytes = fs::copy(&path, to.join(name)).map_err(failed)?;
        sizes.push((format!("ptx/{}", name.to_string_lossy()), bytes));
    }
    Ok(sizes)
}

/// Recreates the folder with `files` and run.sh; returns their names and sizes in bytes.
fn fill(pack: &Path, files: &[PathBuf]) -> Result<Vec<(String, u64)>, String> {
    let failed = |error: io::Error| format!("{}: {error}", pack.display());
    workspace::empty_folder(pack)?;
    let mut sizes = Vec::new();
    let mut glibc = (0, 0);
    for file in files {
        let unreadable = |error| format!("{}: {error}", file.display());
        let name = file.file_name().unwrap_or_default();
        let image = fs::read(file).map_err(unreadable)?;
        glibc = glibc.max(glibc_version::newest_glibc(&image));
        let bytes = fs::copy(file, pack.join(name)).map_err(unreadable)?;
        sizes.push((name.to_string_lossy().into_owned(), bytes));
    }
    let script = RUN.replace(GLIBC, &format!("{}.{}", glibc.0, glibc.1));
    let path = pack.join("run.sh");
    fs::write(&path, &script).map_err(failed)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    sizes.push(("run.sh".into(), script.len() as u64));
    for (name, text) in PYTHON.into_iter().chain(CUDA_C) {
        fs::write(pack.join(name), text).map_err(failed)?;
        sizes.push((name.into(), text.len() as u64));
    }
    println!("needs glibc {}.{} or newer where it runs", glibc.0, glibc.1);
    Ok(sizes)
}

/// Compresses the large files, which run.sh unpacks: a third of the time to copy them.
fn compress(pack: &Path, sizes: &mut [(String, u64)]) -> Result<(), String> {
    for (name, bytes) in sizes {
        if *bytes < 1 << 20 {
            continue;
        }
        workspace::succeed(Command::new("gzip").arg("-f9").arg(pack.join(&name)))?;
        name.push_str(".gz");
        let packed = pack.join(&name);
        let data =
            fs::metadata(&packed).map_err(|error| format!("{}: {error}", packed.display()))?;
        *bytes = data.len();
    }
    Ok(())
}

/// Returns an error if the pack is too large, with its files, largest first.
fn weigh(sizes: &[(String, u64)]) -> Result<(), String> {
    let total: u64 = sizes.iter().map(|(_, bytes)| bytes).sum();
    if total <= LIMIT {
        return Ok(());
    }
    let mut sorted = sizes.to_vec();
    sorted.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let lines: Vec<_> = sorted
        .iter()
        .map(|(name, bytes)| format!("{:>10}  {name}", kib(*bytes)))
        .collect();
    Err(format!(
        "the pack has {}, more than {}:\n{}",
        kib(total),
        kib(LIMIT),
        lines.join("\n")
    ))
}

fn kib(bytes: u64) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}
