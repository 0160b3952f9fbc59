//! Cubins for each chip, and their disassembly.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::instructions;
use crate::wheel;
use crate::workspace;

/// The compute capabilities that the table of double precision is for.
const CAPABILITIES: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];

/// Where the wheels have their programs.
const PROGRAMS: &str = "nvidia/cu13/bin";

/// Assembles the PTX of `kernels/ptx` and that of [`instructions::ptx`] for each chip. In the
/// returned folder each `.cubin` has its text by nvdisasm beside it, as `.sass`.
///
/// # Errors
/// A text for the user: no wheel for this machine, or what an assembler or disassembler refused.
pub(super) fn make(target: &Path) -> Result<PathBuf, String> {
    let ptxas = program(target, "ptxas")?;
    let nvdisasm = program(target, "nvdisasm")?;
    let folder = target.join("cubins");
    let failed = |e| format!("cannot prepare {}: {e}", folder.display());
    workspace::empty_folder(&folder)?;
    let checked_in = fs::read_dir(workspace::root().join("kernels/ptx")).map_err(failed)?;
    let mut sources = Vec::new();
    for entry in checked_in {
        sources.push(entry.map_err(failed)?.path());
    }
    for capability in CAPABILITIES {
        let each = folder.join("instructions.ptx");
        fs::write(&each, instructions::ptx(capability)).map_err(failed)?;
        for source in sources.iter().chain([&each]) {
            let name = source.file_stem().unwrap_or_default().display();
            let cubin = folder.join(format!("{name}.sm_{capability}.cubin"));
            let mut assemble = Command::new(&ptxas);
            assemble.arg(format!("--gpu-name=sm_{capability}"));
            output(assemble.arg(source).arg("--output-file").arg(&cubin))?;
            let mut disassemble = Command::new(&nvdisasm);
            let text = output(disassemble.args(["-c", "-ndf"]).arg(&cubin))?;
            fs::write(cubin.with_extension("sass"), text).map_err(failed)?;
        }
    }
    Ok(folder)
}

/// A program of the wheel that `xtask/NAME.txt` pins.
fn program(target: &Path, name: &str) -> Result<PathBuf, String> {
    let folder = target.join(name);
    let pinned = workspace::root().join("xtask").join(name);
    wheel::unpack(&pinned.with_extension("txt"), &folder)?;
    let program = folder.join(PROGRAMS).join(name);
    // Python's zipfile gives no file the right to be run.
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
        .map_err(|e| format!("cannot prepare {}: {e}", program.display()))?;
    Ok(program)
}

fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let shown = workspace::shown(command);
    let output = command
        .output()
        .map_err(|e| format!("cannot run {shown}: {e}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{shown} failed ({})\n{}",
        output.status,
        said.trim_end()
    ))
}
