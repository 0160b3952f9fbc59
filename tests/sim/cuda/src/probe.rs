//! Finds out whether this machine has a CUDA device, before cudarc loads a driver: cudarc cannot
//! load another one later.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::control::{Functions, Sim};
use crate::load::{self, Options};

/// Which driver cudarc will find.
#[derive(Clone, Copy, Debug)]
pub enum Device {
    /// That of a real device.
    Real,
    /// The simulator.
    Simulated(Sim),
}

/// Installs the simulator unless the machine has a CUDA device, or if `GPUPROF_SIM=1`. It then uses
/// the host's clock, loads the simulated libcupti if that was built, and prints one line on
/// standard error. Must be called before cudarc is used.
///
/// # Panics
/// If there is no device and the simulator cannot be installed.
pub fn real_or_simulated() -> Device {
    real_or_simulated_with(&Options::default())
}

/// The same with options for the simulator.
///
/// # Panics
/// As [`real_or_simulated`], and if the simulator was installed with other options.
pub fn real_or_simulated_with(options: &Options) -> Device {
    if let Some(sim) = load::installed() {
        return Device::Simulated(sim);
    }
    let forced = std::env::var_os("GPUPROF_SIM").is_some_and(|value| value == "1");
    if !forced && has_device() {
        return Device::Real;
    }
    match load::install_with(options) {
        Ok(sim) => {
            let why = if forced {
                "GPUPROF_SIM=1"
            } else {
                "no real CUDA device was found"
            };
            eprintln!(
                "{why}: running on the simulated device; its times are modelled, not measured"
            );
            load::add_cupti();
            Device::Simulated(sim)
        }
        Err(error) => {
            panic!("no CUDA device was found, and the simulator cannot be installed: {error}")
        }
    }
}

/// Asks the installed driver library, which stays loaded: unloading a driver is not safe.
fn has_device() -> bool {
    // SAFETY: loading the machine's own CUDA driver, as cudarc is about to do.
    let Ok(library) = (unsafe { Library::open(Some(load::REAL_SONAME), RTLD_NOW | RTLD_LOCAL) })
    else {
        return false;
    };
    if Functions::find(&library).is_ok() {
        // A launcher loaded the simulator under the real name.
        return false;
    }
    let library = Box::leak(Box::new(library));
    type Init = unsafe extern "C" fn(u32) -> i32;
    type Count = unsafe extern "C" fn(*mut i32) -> i32;
    // SAFETY: the type is cuInit's.
    let Ok(init) = (unsafe { library.get::<Init>(b"cuInit") }) else {
        return false;
    };
    // SAFETY: the type is cuDeviceGetCount's.
    let Ok(count) = (unsafe { library.get::<Count>(b"cuDeviceGetCount") }) else {
        return false;
    };
    let mut devices = 0;
    // SAFETY: flags must be 0.
    if unsafe { init(0) } != 0 {
        return false;
    }
    // SAFETY: `devices` is writable.
    let code = unsafe { count(&mut devices) };
    code == 0 && devices > 0
}
