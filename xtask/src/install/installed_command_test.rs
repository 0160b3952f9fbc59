//! What was installed measures a C program on the simulated device, as a stranger's first try does.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::c_program::{self, STATUS};
use crate::sim;
use crate::workspace::{self, Workspace};

/// Has `install` install into a folder of the target folder, and runs what is there.
pub(super) fn run(install: fn(&Path) -> Result<(), String>) -> Result<(), String> {
    let prefix = Workspace::load()?.target.join("installed");
    let _ = fs::remove_dir_all(&prefix);
    install(&prefix)?;
    let program = prefix.join("program");
    c_program::compile(&program)?;
    let libraries = sim::libraries()?;
    let run = || run_installed(&prefix, &program, &libraries);

    let measured = run()?;
    let table = String::from_utf8_lossy(&measured.stderr);
    println!("{table}");
    let parts = [
        "gpuprof program · ",
        "\nscale ",
        "\nAPI call ",
        "\ncuLaunchKernel ",
    ];
    if let Some(part) = parts.into_iter().find(|part| !table.contains(part)) {
        return Err(format!(
            "{part:?} is not in the report of {}",
            program.display()
        ));
    }
    let page = fs::read_to_string(prefix.join("page.html")).unwrap_or_default();
    if !page.contains("cuLaunchKernel") {
        return Err("there is no web page of the report".into());
    }
    let library = prefix.join("lib/gpuprof/libgpuprof_inject.so");
    fs::remove_file(&library).map_err(|error| format!("{}: {error}", library.display()))?;
    let unmeasured = run()?;
    let said = String::from_utf8_lossy(&unmeasured.stderr);
    let lines = said.lines().filter(|line| line.starts_with("gpuprof"));
    match lines.collect::<Vec<_>>()[..] {
        [line] if line.contains("cargo xtask install") => {
            println!("{line}");
            Ok(())
        }
        _ => Err(format!("without the library one line must say so: {said}")),
    }
}

/// The program under the installed command, which must end as it does alone.
fn run_installed(prefix: &Path, program: &Path, libraries: &Path) -> Result<Output, String> {
    let mut command = Command::new(prefix.join("bin/gpuprof"));
    let page = prefix.join("page.html");
    let report = format!("table,html={}", page.display());
    command
        .args(["run", "--report", &report, "--"])
        .arg(program);
    // The program loads libraries by name.
    command.env("LD_LIBRARY_PATH", libraries);
    command.env_remove("CUDA_INJECTION64_PATH");
    let shown = workspace::shown(&command);
    let output = command
        .output()
        .map_err(|error| format!("{shown}: {error}"))?;
    if output.status.code() != Some(STATUS) || output.stdout != b"done\n" {
        return Err(format!(
            "{shown} ended otherwise than the program: {output:?}"
        ));
    }
    Ok(output)
}
