//! Whether this machine has a CUDA device, asked before cudarc loads a driver: it cannot change its mind
//! later. Must never run driver code of this crate.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::control::{Functions, Sim};
use crate::load;

/// Which driver cudarc will find.
#[derive(Clone, Copy, Debug)]
pub enum Device {
    /// A real device answers.
    Real,
    /// The simulator is installed.
    Simulated(Sim),
}

/// Takes a real device where one answers, else installs the simulator under the host's clock and says so in
/// one line on standard error; beside it the simulated libcupti, where the program's tests or examples depend on it.
/// `GPUPROF_SIM=1` skips the question. Call it before anything of cudarc.
///
/// # Panics
/// Where no device answers and the simulator cannot be installed.
pub fn real_or_simulated() -> Device {
    if let Some(sim) = load::installed() {
        return Device::Simulated(sim);
    }
    let forced = std::env::var_os("GPUPROF_SIM").is_some_and(|value| value == "1");
    if !forced && device_answers() {
        return Device::Real;
    }
    match load::install() {
        Ok(sim) => {
            let why = if forced {
                "GPUPROF_SIM=1"
            } else {
                "no CUDA device answers"
            };
            eprintln!(
                "{why}: running on the simulated device; its times are modelled, not measured"
            );
            load::add_cupti();
            Device::Simulated(sim)
        }
        Err(error) => {
            panic!("no CUDA device answers and the simulated one cannot be installed: {error}")
        }
    }
}

/// Asks the installed driver library. It stays loaded: unloading a driver is not safe.
fn device_answers() -> bool {
    // SAFETY: loading the machine's own CUDA driver, as cudarc is about to do.
    let Ok(library) = (unsafe { Library::open(Some(load::REAL_SONAME), RTLD_NOW | RTLD_LOCAL) })
    else {
        return false;
    };
    if Functions::find(&library).is_ok() {
        // The simulator under the real name, as a launcher places it: no real device.
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
    let answer = unsafe { count(&mut devices) };
    answer == 0 && devices > 0
}
