//! `cargo xtask traces`: writes sample time lines and opens them in the tools that users open them
//! in: Perfetto's trace processor, chrome://tracing, HolisticTraceAnalysis and speedscope. None of
//! them is ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::needs::{self, Need};
use crate::scripts::{self, ScriptCounts};
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
    let scripts_folder = workspace::root().join(SCRIPTS);
    let list = scripts_folder.join("requirements.txt");
    let packages = scripts::install_python(&list, &folder.join("python"))?;
    let node_scripts = install_node(&folder)?;
    let chromium = needs::chromium().ok_or("Chromium does not run")?;
    let mut checks = [
        node(&node_scripts, "check_perfetto.mjs", &[&packages, &samples]),
        node(
            &node_scripts,
            "check_chrome.mjs",
            &[&packages, &samples, &chromium],
        ),
        scripts::python(&packages, &scripts_folder.join("check_hta.py"), &[&samples]),
        node(
            &node_scripts,
            "check_speedscope.mjs",
            &[&samples, &chromium],
        ),
    ];
    let mut counts = ScriptCounts::default();
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
    command.args(["--features", "trace", "--example", "trace-samples", "--"]);
    workspace::succeed(command.arg(samples))
}

/// A folder with the scripts beside the npm packages that they import.
fn install_node(folder: &Path) -> Result<PathBuf, String> {
    let scripts = folder.join("node");
    let source = workspace::root().join(SCRIPTS);
    scripts::once(&source.join("package.json"), &scripts, || {
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
