//! `cargo xtask gpu-pack`: one folder that runs on a machine with an NVIDIA driver and no Rust
//! toolchain.
//!
//! Machines with a GPU are rented by the hour and have no toolchain. What is copied there must be
//! small, complete and tested.

mod glibc_version;

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
/// The names and texts of the programs that measure torch.profiler, use it under `gpuprof run`, and
/// measure peers of the benchmarks.
const PYTHON: [(&str, &str); 3] = [
    ("torch_profiler.py", include_str!("torch_profiler.py")),
    ("torch_windows.py", include_str!("torch_windows.py")),
    ("bench_peers.py", include_str!("bench_peers.py")),
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
    if pack.exists() {
        fs::remove_dir_all(pack).map_err(failed)?;
    }
    fs::create_dir_all(pack).map_err(failed)?;
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
    for (name, text) in PYTHON {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_that_is_too_large_is_refused_with_its_files() {
        let sizes = |large| vec![("small".to_owned(), 1024), ("large".to_owned(), large)];
        assert_eq!(weigh(&sizes(LIMIT - 1024)), Ok(()));
        let error = weigh(&sizes(LIMIT)).expect_err("too large");
        assert!(error.starts_with("the pack has 61441 KiB, more than 61440 KiB:"));
        assert!(error.find("large") < error.find("small"), "{error}");
    }

    /// What of it needs no GPU: statistics, criteria, and reading what the others write.
    #[test]
    fn the_peers_of_the_benchmarks_are_compared_as_the_table_says() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/gpu_pack/bench_peers.py");
        let test = std::process::Command::new("python3")
            .args([file, "--self-test"])
            .output();
        let test = test.expect("python3 runs");
        assert!(
            test.status.success(),
            "{}",
            String::from_utf8_lossy(&test.stderr)
        );
    }

    #[test]
    fn the_python_programs_have_no_syntax_errors() {
        let cache = tempfile::tempdir().expect("a folder");
        for (name, _) in PYTHON {
            let file = format!("{}/src/gpu_pack/{name}", env!("CARGO_MANIFEST_DIR"));
            let compiled = std::process::Command::new("python3")
                .args(["-m", "py_compile", &file])
                .env("PYTHONPYCACHEPREFIX", cache.path())
                .output()
                .expect("python3 runs");
            let error = String::from_utf8_lossy(&compiled.stderr);
            assert!(compiled.status.success(), "{error}");
        }
    }

    /// Runs run.sh on the simulated device, with programs that only say what they are asked for.
    /// Returns whether it succeeded, what it printed, and peers.json.
    fn run_peers(arguments: &[&str], status: u8) -> (bool, String, Option<String>) {
        let root = tempfile::tempdir().expect("a folder");
        let (pack, out) = (root.path().join("pack"), root.path().join("out"));
        fill(&pack, &[]).expect("packed");
        let csv = "benchmark,mode,median_ns,device\nsaxpy n=1,hot,7,it";
        let kernels = format!("#!/bin/sh\necho '{csv}'\nexit {status}\n");
        for (name, text) in [
            ("gpu-checks", "#!/bin/sh\necho checks: \"$@\"\n"),
            ("cost", "#!/bin/sh\n"),
            ("kernels", kernels.as_str()),
        ] {
            fs::write(pack.join(name), text).expect("a file");
        }
        let ran = std::process::Command::new("sh")
            .arg(pack.join("run.sh"))
            .args(["--simulated", "--short"])
            .args(arguments)
            .arg(&out)
            .output()
            .expect("it runs");
        let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
        let peers = fs::read_to_string(out.join("peers.json")).ok();
        (ran.status.success(), printed, peers)
    }

    #[test]
    fn the_peers_are_a_part_of_their_own() {
        let (succeeded, printed, peers) = run_peers(&["--only", "peers"], 0);
        assert!(succeeded && !printed.contains("checks:"), "{printed}");
        assert!(printed.contains("nvbench is NOT MEASURED: the device is simulated"));
        assert!(peers.expect("written").contains("saxpy n=1"));
        let (succeeded, printed, peers) = run_peers(&["--skip", "peers"], 0);
        assert!(succeeded && printed.contains("checks: --out"), "{printed}");
        assert_eq!(peers, None);
        assert_eq!(run_peers(&["--only", "ends"], 0).2, None);
        assert!(run_peers(&[], 0).2.is_some());
        assert!(!run_peers(&["--only", "peers"], 1).0);
    }

    #[test]
    fn the_folder_is_made_anew_and_runs() {
        let root = tempfile::tempdir().expect("a folder");
        let pack = root.path().join("pack");
        fs::create_dir_all(&pack).expect("a folder");
        fs::write(pack.join("old"), "").expect("a file");
        let program = root.path().join("program");
        fs::write(&program, b"\0GLIBC_2.17\0GLIBC_2.34\0").expect("a file");
        let sizes = fill(&pack, &[program]).expect("packed");
        assert_eq!(sizes[0], ("program".into(), 23));
        assert!(!pack.join("old").exists());
        let script = fs::read_to_string(pack.join("run.sh")).expect("packed");
        assert!(script.contains("glibc 2.34") && !script.contains(GLIBC));
        for (name, text) in PYTHON {
            let python = fs::read_to_string(pack.join(name)).expect("packed");
            assert_eq!(python, text);
        }
        let help = std::process::Command::new(pack.join("run.sh"))
            .arg("--help")
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&help.stdout);
        assert!(help.status.success() && text.contains("--short"), "{text}");
    }
}
