//! A simulated NVML: what gpuprof asks of it, with answers that a test sets.
//!
//! Once the cdylib is loaded by its path, whoever opens `libnvidia-ml.so.1` gets it, for that is its SONAME, also where a
//! real driver is installed. It has the few functions of NVML that gpuprof calls; who asks for another one finds it missing,
//! as with an old driver.
//!
//! Must never import gpuprof or its NVML crate: what is under test cannot be the witness too.

mod exports;

use std::env;
use std::path::{Path, PathBuf};

use libloading::Library;
use libloading::os::unix;

const FILE: &str = "libsimnvml.so";

/// The library, loaded; it stays so for the rest of the process.
#[derive(Debug)]
pub struct Simulated {
    library: Library,
}

/// Loads the simulated library under the name of the real one. One device, not held down.
///
/// # Panics
/// Where the cdylib has not been built, or cannot be loaded.
#[must_use]
pub fn install() -> Simulated {
    let path = library();
    let flags = unix::RTLD_NOW | unix::RTLD_GLOBAL;
    // SAFETY: its initializers are those of Rust's standard library.
    let library = unsafe { unix::Library::open(Some(&path), flags) };
    let library = library.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // One more handle that nobody closes: what came by its SONAME must not go before the process does.
    std::mem::forget(library);
    // SAFETY: as above.
    let library = unsafe { Library::new(&path) };
    let library = library.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Simulated { library }
}

/// What the device is to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Bits of `nvmlClocksEventReasons`.
    pub reasons: u64,
    /// SM clock, MHz.
    pub sm_clock: u32,
    /// Return value of every later call on a device: 0 is success, 15 a GPU that is lost.
    pub answer: u32,
}

impl Simulated {
    /// UUID of its one device: that of the simulated driver's first.
    pub const UUID: &str = "GPU-73696d75-6c61-7465-642d-6465762d3030";
    /// The device's highest SM clock, MHz.
    pub const HIGHEST: u32 = 1_980;

    /// Sets the device's answers.
    ///
    /// # Panics
    /// Where the library lacks its control function.
    pub fn set(&self, state: State) {
        // SAFETY: the library exports it with this type.
        let set = unsafe {
            self.library
                .get::<extern "C" fn(u64, u32, u32)>(b"simnvml_set\0")
        };
        set.expect("the control function")(state.reasons, state.sm_clock, state.answer);
    }

    /// How often it was initialized and not yet shut down.
    ///
    /// # Panics
    /// Where the library lacks its control function.
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

/// Beside the test program, or one folder up, where cargo puts the libraries of dependencies.
fn library() -> PathBuf {
    let program = env::current_exe().expect("the test knows its own path");
    let folders = program.ancestors().skip(1).take(2);
    let mut places = folders.flat_map(|folder| [folder.join(FILE), folder.join("deps").join(FILE)]);
    let found = places.find(|place| Path::exists(place));
    found.expect("cargo builds libsimnvml.so with the test")
}
