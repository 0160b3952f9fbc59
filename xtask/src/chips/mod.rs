//! `cargo xtask chips`: which hardware counters each chip has room for, by NVIDIA's libcupti, and
//! which of its instructions are of double precision, by NVIDIA's disassembler.

mod disassembly;
mod instructions;

use std::fs;

use crate::needs::{self, Need};
use crate::wheel;
use crate::workspace::{self, Workspace};

const USAGE: &str = "usage: cargo xtask chips";

/// The library inside the wheel.
const LIBRARY: &str = "nvidia/cu13/lib/libcupti.so.13";

/// What the test writes into the folder of the cubins once it has compared them.
const COMPARED: &str = "compared.txt";

/// Runs the checks, in a target folder of its own.
///
/// # Errors
/// A text for the user: no python3 or pip, no wheel for this machine, or a check that failed.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err(USAGE.into());
    }
    needs::ensure(&[Need::CCompiler, Need::Pip])?;
    let target = Workspace::load()?.target.join("chips");
    let folder = target.join("libcupti");
    wheel::unpack(&workspace::root().join("xtask/cupti.txt"), &folder)?;
    let cubins = disassembly::make(&target)?;
    let mut test = workspace::cargo(["test", "--package", "gpuprof-runtime", "--lib"]);
    test.args(["--features", "cupti", "--"])
        .args(["pm_sampling::chips", "module_code::nvdisasm"])
        // Two threads at once get CUPTI_ERROR_UNKNOWN from libcupti (13.0, without a driver).
        .arg("--test-threads=1")
        .env("RUSTFLAGS", "--cfg chips")
        .env("CARGO_TARGET_DIR", &target)
        .env("GPUPROF_TEST_CUBINS", &cubins)
        .env("GPUPROF_CUPTI_LIBRARY", folder.join(LIBRARY));
    workspace::succeed(&mut test)?;
    let compared = fs::read_to_string(cubins.join(COMPARED))
        .map_err(|e| format!("no cubin was compared with its disassembly: {e}"))?;
    println!("{compared}");
    Ok(())
}
