//! A simulated NVML: the functions that gpuprof calls, with answers that a test sets.
//!
//! Its SONAME is `libnvidia-ml.so.1`. Once the cdylib is loaded by its path, every later
//! `dlopen("libnvidia-ml.so.1")` finds it, even if a real driver is installed. All other functions
//! of NVML are missing, as with an old driver.
//!
//! This crate must never depend on gpuprof or its NVML crate, because they are under test.

mod exports;

use std::env;
use std::path::{Path, PathBuf};

use libloading::Library;
use libloading::os::unix;

const FILE: &str = "libsimnvml.so";

/// The loaded library. It stays loaded for the rest of the process.
#[derive(Debug)]
pub struct Simulated {
    library: Library,
}

/// Loads the simulated library under the name of the real one, with one device that is not
/// throttled.
///
/// # Panics
/// If the cdylib is not built or cannot be loaded.
#[must_use]
pub fn install() -> Simulated {
    let path = library();
    let flags = unix::RTLD_NOW | unix::RTLD_GLOBAL;
    // SAFETY: its only initializers are those of Rust's standard library.
    let library = unsafe { unix::Library::open(Some(&path), flags) };
    let library = library.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // A handle that is never closed, so that the library stays loaded until the process ends.
    std::mem::forget(library);
    // SAFETY: as above.
    let library = unsafe { Library::new(&path) };
    let library = library.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Simulated { library }
}

/// What the device answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Bits of `nvmlClocksEventReasons`.
    pub reasons: u64,
    /// SM clock, MHz.
    pub sm_clock: u32,
    /// `nvmlReturn_t` of every later call on a device: 0 is success, 15 a lost GPU.
    pub result: u32,
}

impl Simulated {
    /// UUID of the device: that of the simulated driver's first device.
    pub const UUID: &str = "GPU-73696d75-6c61-7465-642d-6465762d3030";
    /// The device's maximum SM clock, MHz.
    pub const MAX_CLOCK: u32 = 1_980;
    /// Generation and lanes of the device's PCIe link.
    pub const LINK: [u32; 2] = [3, 16];

    /// Sets the device's answers.
    ///
    /// # Panics
    /// If the library lacks its control function.
    pub fn set(&self, state: State) {
        // SAFETY: the library exports it with this type.
        let set = unsafe {
            self.library
                .get::<extern "C" fn(u64, u32, u32)>(b"simnvml_set\0")
        };
        set.expect("the control function")(state.reasons, state.sm_clock, state.result);
    }

    /// Initializations without a shutdown.
    ///
    /// # Panics
    /// If the library lacks its control function.
    #[must_use]
    pub fn open_handles(&self) -> u32 {
        // SAFETY: the library exports it with this type.
        let open = unsafe {
            self.library
                .get::<extern "C" fn() -> u32>(b"simnvml_open\0")
        };
        open.expect("the control function")()
    }
}

/// The library is beside the test program or one directory up, where cargo puts the libraries of
/// dependencies.
fn library() -> PathBuf {
    let program = env::current_exe().expect("the path of the test program");
    let folders = program.ancestors().skip(1).take(2);
    let mut places = folders.flat_map(|folder| [folder.join(FILE), folder.join("deps").join(FILE)]);
    let found = places.find(|place| Path::exists(place));
    found.expect("cargo builds libsimnvml.so with the test")
}
