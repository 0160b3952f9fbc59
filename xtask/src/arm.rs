//! `cargo xtask arm`: the workspace for aarch64, as in Grace Hopper, Jetson and DGX Spark. Suites
//! run under qemu, on the simulated device.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::needs::{self, Need};
use crate::workspace::{self, Workspace};

const TARGET: &str = "aarch64-unknown-linux-gnu";
/// The C library of Debian's cross compiler.
const SYSROOT: &str = "/usr/aarch64-linux-gnu";
/// Those with the least time under qemu that use every part of the runtime.
const SUITES: [&str; 3] = ["attribute", "streams", "async_and_threads"];

/// Where the kernel lists which programs it starts with the help of another one.
const BINFMT: &str = "/proc/sys/fs/binfmt_misc";
/// The entry that is made here.
const ENTRY: &str = "gpuprof-aarch64";
/// The beginning of an ELF program of 64 bits for machine 0xb7, aarch64 (ELF for the Arm 64-bit
/// Architecture).
const MAGIC: &str = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00";
/// The kind of the file, 2 or 3, is a program's; the byte of the operating system is free.
const MASK: &str =
    r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff";
const QEMU: &str = "/usr/bin/qemu-aarch64";

/// Checks the workspace, and runs the suites if the kernel starts their programs.
///
/// # Errors
/// A text for the user: something missing that may not be installed, a build or a test that fails.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err("usage: cargo xtask arm".into());
    }
    needs::ensure(&[Need::CCompiler, Need::Libclang, Need::Aarch64])?;
    workspace::succeed(Command::new("rustup").args(["target", "add", TARGET]))?;
    let workspace = Workspace::load()?;
    let mut check = cargo(&workspace, "check");
    // A profiler that the benches compare with is not of interest here.
    check.args([
        "--workspace",
        "--exclude",
        "gpuprof-benches",
        "--all-targets",
    ]);
    workspace::succeed(&mut check)?;
    println!("the workspace checks for {TARGET}");
    match Started::by_kernel() {
        Ok(_started) => {
            let mut test = cargo(&workspace, "test");
            test.args(["--package", "gpuprof", "--no-fail-fast"]);
            for suite in SUITES {
                test.args(["--test", suite]);
            }
            workspace::neutral(&mut test);
            workspace::succeed(&mut test)
        }
        Err(why) => {
            println!("xtask: NOT RUN: the suites for {TARGET}: {why}");
            Ok(())
        }
    }
}

/// A cargo command for the target.
fn cargo(workspace: &Workspace, command: &str) -> Command {
    let mut cargo = workspace::cargo([command, "--target", TARGET]);
    cargo
        .env("CARGO_TARGET_DIR", workspace.target.join("arm"))
        .env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
            "aarch64-linux-gnu-gcc",
        )
        .env("CC_aarch64_unknown_linux_gnu", "aarch64-linux-gnu-gcc")
        .env(
            "BINDGEN_EXTRA_CLANG_ARGS_aarch64_unknown_linux_gnu",
            format!("--sysroot={SYSROOT} -I{SYSROOT}/include"),
        )
        .env("QEMU_LD_PREFIX", SYSROOT);
    cargo
}

/// The kernel starts programs for aarch64 with qemu: tests start others, so cargo's runner is not
/// enough.
struct Started {
    is_ours: bool,
}

impl Started {
    fn by_kernel() -> Result<Self, String> {
        let entries = fs::read_dir(BINFMT).into_iter().flatten().flatten();
        let is_there = entries.filter_map(|entry| entry.file_name().into_string().ok());
        if is_there.into_iter().any(|name| name.contains("aarch64")) {
            return Ok(Self { is_ours: false });
        }
        let register = Path::new(BINFMT).join("register");
        if !register.exists() {
            let mount = ["-t", "binfmt_misc", "binfmt_misc", BINFMT];
            workspace::succeed(Command::new("mount").args(mount))?;
        }
        let failed = |error| format!("{}: {error}", register.display());
        // `F`: qemu is opened now, and found in other file systems too.
        let format = format!(":{ENTRY}:M::{MAGIC}:{MASK}:{QEMU}:F");
        fs::write(&register, format).map_err(failed)?;
        Ok(Self { is_ours: true })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if self.is_ours {
            // An entry that stays starts programs that did not start before, and nothing else.
            let _ = fs::write(Path::new(BINFMT).join(ENTRY), "-1");
        }
    }
}
