//! `cargo xtask dist`: an archive of the command, the library that it injects, manual pages and
//! completions, for machines without Rust and with a glibc as old as that of RHEL 8.

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::needs::{self, Need};
use crate::workspace::{self, Workspace};

const USAGE: &str = "usage: cargo xtask dist";

/// The oldest glibc that the archive is for.
const GLIBC: (u32, u32) = (2, 28);

/// Links against an old glibc, by the wheels of Zig. Of PyPI, so that nothing but pip is needed.
const WHEELS: [&str; 2] = ["cargo-zigbuild==0.20.*", "ziglang==0.14.*"];

/// What was built, and where it goes.
const FILES: [(&str, &str); 3] = [
    ("gpuprof", "bin"),
    ("cargo-gpuprof", "bin"),
    ("libgpuprof_inject.so", "lib/gpuprof"),
];

/// Shells, and where each looks for the completions of `gpuprof`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/gpuprof"),
    ("fish", "share/fish/vendor_completions.d/gpuprof.fish"),
    ("zsh", "share/zsh/site-functions/_gpuprof"),
];

/// Builds the archive.
///
/// # Errors
/// A text for the user: a tool that is missing, a build that fails, or a file that needs a newer
/// glibc.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err(USAGE.into());
    }
    needs::ensure(&[Need::CCompiler, Need::Pip])?;
    let folder = Workspace::load()?.target.join("dist");
    let built = build(&folder)?;
    let name = format!("gpuprof-{}-{ARCH}-linux", env!("CARGO_PKG_VERSION"));
    let staged = folder.join(&name);
    let _ = fs::remove_dir_all(&staged);
    for (file, place) in FILES {
        check_glibc(&built.join(file))?;
        copy(&built.join(file), &staged.join(place).join(file))?;
    }
    for licence in ["LICENSE-MIT", "LICENSE-APACHE", "README.md"] {
        copy(&workspace::root().join(licence), &staged.join(licence))?;
    }
    let gpuprof = staged.join("bin/gpuprof");
    for (shell, file) in COMPLETIONS {
        write(
            &staged.join(file),
            &answer(&gpuprof, &["completions", shell])?,
        )?;
    }
    let manual = staged.join("share/man/man1");
    write(&manual.join("gpuprof.1"), &answer(&gpuprof, &["man"])?)?;
    let help = answer(&gpuprof, &["--help"])?;
    for command in commands(&help) {
        let page = answer(&gpuprof, &["man", command])?;
        write(&manual.join(format!("gpuprof-{command}.1")), &page)?;
    }
    let archive = folder.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args([
        "--create",
        "--gzip",
        "--owner=0",
        "--group=0",
        "--sort=name",
        "--file",
    ]);
    tar.arg(&archive).arg("--directory").arg(&folder).arg(&name);
    workspace::succeed(&mut tar)?;
    println!("{}", archive.display());
    Ok(())
}

/// Builds as users do, against the oldest glibc. Returns the folder with what was built.
fn build(folder: &Path) -> Result<PathBuf, String> {
    let tools = folder.join("tools");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--upgrade", "--target"]);
    workspace::succeed(pip.arg(&tools).args(WHEELS))?;
    let target = format!("{ARCH}-unknown-linux-gnu");
    let mut build = Command::new(tools.join("bin/cargo-zigbuild"));
    build.args(["zigbuild", "--release", "--locked", "--target"]);
    build.arg(format!("{target}.{}.{}", GLIBC.0, GLIBC.1));
    build.args(["--package", "gpuprof-cli", "--package", "gpuprof-inject"]);
    build.args(["--features", "gpuprof-inject/html"]);
    build.arg("--target-dir").arg(folder.join("build"));
    build.current_dir(workspace::root());
    build.env("PYTHONPATH", &tools);
    build.env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    workspace::succeed(workspace::without_test_hooks(&mut build))?;
    Ok(folder.join("build").join(target).join("release"))
}

/// The newest version of glibc that the file asks for must not be newer than promised.
fn check_glibc(file: &Path) -> Result<(), String> {
    let mut readelf = Command::new("readelf");
    readelf.arg("--version-info").arg(file);
    let output = readelf
        .output()
        .map_err(|error| format!("readelf: {error}"))?;
    match newest_glibc(&String::from_utf8_lossy(&output.stdout)) {
        Some(newest) if newest <= GLIBC => Ok(()),
        newest => Err(format!(
            "{} asks for glibc {newest:?}, and {GLIBC:?} is promised",
            file.display()
        )),
    }
}

/// The newest version among `GLIBC_2.17`, ….
fn newest_glibc(versions: &str) -> Option<(u32, u32)> {
    let named = versions.split("GLIBC_").skip(1).filter_map(|rest| {
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.');
        let mut numbers = rest.get(..end?)?.split('.');
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    });
    named.max()
}

/// The names below `Commands:` in the help text.
fn commands(help: &str) -> Vec<&str> {
    let list = help.split("Commands:\n").nth(1).unwrap_or_default();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names
        .filter(|name| !name.is_empty() && *name != "help")
        .collect()
}

fn answer(gpuprof: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(gpuprof);
    command.args(arguments);
    let shown = workspace::shown(&command);
    let output = command
        .output()
        .map_err(|error| format!("{shown}: {error}"))?;
    let text = String::from_utf8(output.stdout).map_err(|error| format!("{shown}: {error}"))?;
    if output.status.success() && !text.is_empty() {
        Ok(text)
    } else {
        Err(format!("{shown} printed nothing"))
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let parent = to.parent().unwrap_or(to);
    let copied = fs::create_dir_all(parent).and_then(|()| fs::copy(from, to));
    copied
        .map(drop)
        .map_err(|error| format!("{}: {error}", to.display()))
}

fn write(to: &Path, text: &str) -> Result<(), String> {
    let parent = to.parent().unwrap_or(to);
    let written = fs::create_dir_all(parent).and_then(|()| fs::write(to, text));
    written.map_err(|error| format!("{}: {error}", to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_glibc_is_found() {
        let versions =
            "0x0010: Name: GLIBC_2.9  Flags: none\n Name: GLIBC_2.28 Flags\n (GLIBC_2.17)";
        assert_eq!(newest_glibc(versions), Some((2, 28)));
        assert_eq!(newest_glibc("GCC_3.0 GLIBC_PRIVATE "), None);
    }

    #[test]
    fn commands_are_those_of_the_help() {
        let help = "Usage: gpuprof\n\nCommands:\n  run     Runs a program\n  show    Shows\n  \
                    help    Prints\n\nOptions:\n  -h\n";
        assert_eq!(commands(help), ["run", "show"]);
    }
}
