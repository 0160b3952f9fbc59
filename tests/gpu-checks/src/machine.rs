//! Queries the machine. The driver is queried in a separate process, because the process that
//! starts the checks must continue if the driver hangs.

use std::fs;

use cudarc::driver::{result, sys};

use crate::check::RunMode;
use crate::outcome::Machine;

/// Queries the driver and the operating system.
///
/// # Errors
/// The driver's error.
pub(crate) fn this(run_mode: &RunMode) -> Result<Machine, String> {
    let failed = |error| format!("cannot query the driver: {error}");
    result::init().map_err(failed)?;
    let devices = result::device::get_count().map_err(failed)?;
    let device = result::device::get(0).map_err(failed)?;
    let name = result::device::get_name(device).map_err(failed)?;
    let mut version = 0;
    // SAFETY: `version` is writable.
    unsafe { sys::cuDriverGetVersion(&mut version) }
        .result()
        .map_err(failed)?;
    let driver = fs::read_to_string("/proc/driver/nvidia/version");
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    Ok(Machine {
        device: name,
        devices: devices.max(0).cast_unsigned(),
        simulated: run_mode.simulated,
        driver: if run_mode.simulated {
            "simulated device".into()
        } else {
            driver_version(&driver.unwrap_or_default()).unwrap_or_else(|| "unknown".into())
        },
        cuda: format!("{}.{}", version / 1000, version % 1000 / 10),
        cpu: model(&cpu).unwrap_or_else(|| "unknown".into()),
        cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
        kernel: format!("Linux {}", kernel.trim()),
    })
}

/// The version in the kernel module's text, such as `NVRM version: NVIDIA UNIX x86_64 Kernel Module
/// 580.65.06 Release Build`.
fn driver_version(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("NVRM version"))?;
    let is_version = |word: &&str| {
        word.contains('.')
            && word
                .split('.')
                .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    line.split_whitespace().find(is_version).map(String::from)
}

/// The processor's name in `/proc/cpuinfo`; only x86_64 has one there.
fn model(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_models_are_found() {
        for module in [
            "UNIX x86_64 Kernel Module ",
            "UNIX Open Kernel Module for x86_64 ",
        ] {
            let text = format!(
                "NVRM version: NVIDIA {module} 580.65.06  Release Build  (a@b)\n\
                 GCC version: 12.3.0\n"
            );
            assert_eq!(driver_version(&text).as_deref(), Some("580.65.06"));
        }
        assert_eq!(driver_version(""), None);
        let text = "processor : 0\nmodel name\t: Some CPU @ 2.0GHz\n";
        assert_eq!(model(text).as_deref(), Some("Some CPU @ 2.0GHz"));
    }
}
