//! `cargo xtask traces`: writes sample time lines and opens them in the tools that users open them
//! in: Perfetto's trace processor, chrome://tracing, HolisticTraceAnalysis and speedscope. None of
//! them is ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::needs::{self, Need};
use crate::workspace::{self, Workspace};

/// The checks and what they are written in.
const SCRIPTS: &str = "tests/traces";

/// Those that Node.js runs.
const NODE_SCRIPTS: [&str; 4] = [
    "trace_processor.mjs",
    "check_perfetto.mjs",
    "check_chrome.mjs",
    "check_speedscope.mjs",
];

/// Runs every check and ends with "N passed, N failed".
///
/// # Errors
/// A text for the user: a wrong argument, a tool that is missing and cannot be installed, or
/// failed checks.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err("usage: cargo xtask traces".into());
    }
    needs::ensure(&[Need::Pip, Need::Node, Need::Chromium])?;
    let folder = Workspace::load()?.target.join("traces");
    let samples = folder.join("samples");
    fs::create_dir_all(&samples).map_err(|error| format!("{}: {error}", samples.display()))?;
    write_samples(&samples)?;
    let packages = install_python(&folder)?;
    let scripts = install_node(&folder)?;
    let chromium = needs::chromium().ok_or("Chromium does not run")?;
    let mut checks = [
        node(&scripts, "check_perfetto.mjs", &[&packages, &samples]),
        node(
            &scripts,
            "check_chrome.mjs",
            &[&packages, &samples, &chromium],
        ),
        python(&packages, &samples),
        node(&scripts, "check_speedscope.mjs", &[&samples, &chromium]),
    ];
    let mut counts = Counts::default();
    for check in &mut checks {
        counts.add(check)?;
    }
    println!("\nscreenshot: {}", samples.join("speedscope.png").display());
    println!("{} passed, {} failed", counts.passed, counts.failed);
    match counts.failed {
        0 => Ok(()),
        failed => Err(format!("{failed} checks of time lines failed")),
    }
}

fn write_samples(samples: &Path) -> Result<(), String> {
    println!("== sample time lines");
    let mut command = workspace::cargo(["run", "--quiet", "--package", "gpuprof-report"]);
    command.args([
        "--features",
        "merge-traces",
        "--example",
        "trace-samples",
        "--",
    ]);
    workspace::succeed(command.arg(samples))
}

/// The Python packages, installed once for each list of versions.
fn install_python(folder: &Path) -> Result<PathBuf, String> {
    let packages = folder.join("python");
    let list = workspace::root().join(SCRIPTS).join("requirements.txt");
    once(&list, &packages, || {
        println!("== Python packages of {SCRIPTS}/requirements.txt");
        let mut command = Command::new("python3");
        command.args([
            "-m",
            "pip",
            "--disable-pip-version-check",
            "install",
            "--quiet",
        ]);
        command.args(["--root-user-action", "ignore", "--no-deps", "--target"]);
        workspace::succeed(command.arg(&packages).arg("--requirement").arg(&list))
    })?;
    Ok(packages)
}

/// A folder with the scripts beside the npm packages that they import.
fn install_node(folder: &Path) -> Result<PathBuf, String> {
    let scripts = folder.join("node");
    let source = workspace::root().join(SCRIPTS);
    once(&source.join("package.json"), &scripts, || {
        println!("== npm packages of {SCRIPTS}/package.json");
        copy(&source.join("package.json"), &scripts)?;
        let mut command = Command::new("npm");
        command.args([
            "install",
            "--silent",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
        ]);
        workspace::succeed(command.arg("--no-package-lock").current_dir(&scripts))
    })?;
    for name in NODE_SCRIPTS {
        copy(&source.join(name), &scripts)?;
    }
    Ok(scripts)
}

/// Fills `folder` anew unless it was filled for the same list of versions.
fn once(
    list: &Path,
    folder: &Path,
    install: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let wanted = fs::read(list).map_err(|error| format!("{}: {error}", list.display()))?;
    let installed = folder.join("installed");
    if fs::read(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)?;
    install()?;
    fs::write(installed, wanted).map_err(failed)
}

fn copy(file: &Path, folder: &Path) -> Result<(), String> {
    let to = folder.join(file.file_name().unwrap_or_default());
    let copied = fs::copy(file, &to);
    copied.map_err(|error| {
        format!(
            "cannot copy {} to {}: {error}",
            file.display(),
            to.display()
        )
    })?;
    Ok(())
}

fn node(scripts: &Path, name: &str, arguments: &[&PathBuf]) -> Command {
    let mut command = Command::new("node");
    command.arg(scripts.join(name)).args(arguments);
    command
}

fn python(packages: &Path, samples: &Path) -> Command {
    let mut command = Command::new("python3");
    let script = workspace::root().join(SCRIPTS).join("check_hta.py");
    command.arg("-s").arg(script).arg(samples);
    command.env("PYTHONPATH", packages);
    command
}

/// What the checks said, a line each.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
}

impl Counts {
    /// Runs a script of checks. One that fails without saying so, or says nothing, is a failure.
    fn add(&mut self, check: &mut Command) -> Result<(), String> {
        let shown = workspace::shown(check);
        println!("\n== {shown}");
        let output = check.stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| format!("cannot run `{shown}`: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        print!("{text}");
        *self = self.with(&text, output.status.success());
        Ok(())
    }

    fn with(&self, text: &str, succeeded: bool) -> Self {
        let lines = |word: &str| text.lines().filter(|line| line.starts_with(word)).count();
        let (passed, failed) = (lines("ok "), lines("FAILED "));
        let is_silent = failed == 0 && (!succeeded || passed == 0);
        Self {
            passed: self.passed + passed,
            failed: self.failed + failed + usize::from(is_silent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_ends_early_or_says_nothing_is_a_failure() {
        let counts = |text: &str, succeeded| {
            let counts = Counts::default().with(text, succeeded);
            (counts.passed, counts.failed)
        };
        assert_eq!(counts("ok a\nok b\n", true), (2, 0));
        assert_eq!(counts("ok a\nFAILED b: 1\n", false), (1, 1));
        assert_eq!(counts("ok a\n", false), (1, 1));
        assert_eq!(counts("", true), (0, 1));
    }

    #[test]
    fn what_is_installed_is_installed_again_for_another_list() {
        let folder = tempfile::tempdir().unwrap();
        let (list, target) = (folder.path().join("list"), folder.path().join("target"));
        let mut times = 0;
        for versions in ["1", "1", "2"] {
            fs::write(&list, versions).unwrap();
            once(&list, &target, || {
                times += 1;
                Ok(())
            })
            .unwrap();
        }
        assert_eq!(times, 2);
        fs::write(&list, "3").unwrap();
        let failed = once(&list, &target, || Err("no network".into()));
        assert_eq!(failed, Err("no network".into()));
        assert!(!target.join("installed").exists());
    }
}
