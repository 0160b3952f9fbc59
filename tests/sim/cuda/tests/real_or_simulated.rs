//! The choice between a real device and the simulator.

use std::process::{Command, Output};

use cudarc::driver::CudaContext;
use simcuda::{Device, real_or_simulated};

/// Every machine has one of the two. The tests below run this test in a process of its own.
#[test]
fn there_is_always_a_device() {
    let device = real_or_simulated();
    let name = CudaContext::new(0).unwrap().name().unwrap();
    assert_eq!(
        matches!(device, Device::Simulated(_)),
        name == "simulated device"
    );
    assert_eq!(
        matches!(real_or_simulated(), Device::Real),
        matches!(device, Device::Real)
    );
    println!("device: {name}");
}

fn run(variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "there_is_always_a_device", "--nocapture"])
        .env_remove("GPUPROF_SIM");
    command.envs(variables.iter().copied()).output().unwrap()
}

/// GPUPROF_SIM=1 installs the simulator, which prints one line on standard error.
#[test]
fn the_simulator_can_be_forced() {
    let output = run(&[("GPUPROF_SIM", "1")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("device: simulated device"));
    let said = "running on the simulated device; its times are modelled, not measured";
    assert_eq!(errors.matches(said).count(), 1, "{errors}");
}

/// If the library is not at the configured path, the message names the variable.
#[test]
fn a_missing_library_is_reported() {
    let output = run(&[
        ("GPUPROF_SIM", "1"),
        ("GPUPROF_SIM_DRIVER", "/nowhere/libsimcuda.so"),
    ]);
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("set GPUPROF_SIM_DRIVER to its path"),
        "{errors}"
    );
}
