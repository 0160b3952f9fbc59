//! Finds and loads the built driver library. The copy of its code that is linked into this crate
//! never runs.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use libloading::os::unix::Library;
use simbase::library::{self, LoadError, loaded};

use crate::control::{Functions, Sim};

/// The library's SONAME, and the name that cudarc looks for first.
const SONAME: &str = "libcuda.so";
/// The SONAME of the real driver library.
pub(crate) const REAL_SONAME: &str = "libcuda.so.1";
const FILE: &str = "libsimcuda.so";
/// The simulated libcupti.
const CUPTI_FILE: &str = "libsimcupti.so";
/// A number that identifies the sources of this crate.
pub(crate) const BUILD: u64 = match u64::from_str_radix(env!("SIMCUDA_BUILD"), 16) {
    Ok(build) => build,
    Err(_) => panic!("build.rs must set a hexadecimal number"),
};

/// How to install the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether time moves only by synchronizing calls, modelled call durations and
    /// [`Sim::advance`].
    pub virtual_clock: bool,
    /// Functions to hide, as if the driver were older.
    pub hide: Vec<String>,
    /// The number of simulated devices.
    pub devices: u32,
    /// Whether `cuInit` returns NO_DEVICE, as on a machine with a driver and no GPU.
    pub no_device: bool,
    /// Whether the launch of an unknown kernel returns NOT_SUPPORTED. In a program that does not
    /// install the simulator itself it is a no-op of 10 µs.
    pub unknown_kernels_fail: bool,
}

impl Default for Options {
    /// One device under the host's clock, no hidden function; unknown kernels fail.
    fn default() -> Options {
        Options {
            virtual_clock: false,
            hide: Vec::new(),
            devices: 1,
            no_device: false,
            unknown_kernels_fail: true,
        }
    }
}

/// Why the simulator could not be installed.
#[derive(Debug)]
pub enum InstallError {
    /// The library was not built, or is in none of these places.
    NotFound(Vec<PathBuf>),
    /// The library was built from other sources than this program.
    OtherBuild(PathBuf),
    /// The library could not be loaded or lacks a control function.
    Load(libloading::Error),
    /// The copy without the hidden functions could not be made.
    Copy(std::io::Error),
    /// The library lacks a function to hide.
    NothingToHide(String),
    /// Another libcuda.so was loaded before.
    OtherDriver,
    /// The simulator was installed with other options, or is already in use.
    Installed,
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstallError::NotFound(places) => {
                write!(
                    f,
                    "{FILE} is not built or not found (set GPUPROF_SIM_DRIVER to its path); \
                     searched:"
                )?;
                places
                    .iter()
                    .try_for_each(|place| write!(f, " {}", place.display()))
            }
            InstallError::OtherBuild(path) => write!(
                f,
                "{} was built from other sources than this program: build both again",
                path.display()
            ),
            InstallError::Load(error) => write!(f, "cannot load {FILE}: {error}"),
            InstallError::Copy(error) => write!(
                f,
                "cannot write a copy of {FILE} without the hidden functions: {error}"
            ),
            InstallError::NothingToHide(symbol) => {
                write!(f, "cannot hide `{symbol}`: the library lacks it")
            }
            InstallError::OtherDriver => f.write_str("another libcuda.so was loaded before"),
            InstallError::Installed => {
                f.write_str("it was installed with other options, or is already in use")
            }
        }
    }
}

impl From<LoadError> for InstallError {
    fn from(error: LoadError) -> InstallError {
        match error {
            LoadError::NotFound(_, places) => InstallError::NotFound(places),
            LoadError::Load(error) => InstallError::Load(error),
            LoadError::Copy(error) => InstallError::Copy(error),
            LoadError::NothingToHide(symbol) => InstallError::NothingToHide(symbol),
        }
    }
}

impl std::error::Error for InstallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            InstallError::Load(error) => Some(error),
            InstallError::Copy(error) => Some(error),
            _ => None,
        }
    }
}

static INSTALLED: Mutex<Option<(Sim, Options)>> = Mutex::new(None);

/// Loads the simulated driver with one device under the host's clock. Must be called before cudarc
/// is used.
///
/// # Errors
/// See [`install_with`].
pub fn install() -> Result<Sim, InstallError> {
    install_with(&Options::default())
}

/// Loads the simulated driver. Must be called before cudarc is used. A later call with the same
/// options returns the installed driver.
///
/// # Errors
/// If the library is not found or cannot be loaded, a function to hide does not exist, another
/// driver was loaded before, or the simulator was installed with other options.
pub fn install_with(options: &Options) -> Result<Sim, InstallError> {
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((sim, with)) = &*installed {
        return if with == options {
            Ok(*sim)
        } else {
            Err(InstallError::Installed)
        };
    }
    let sim = load(&options.hide)?;
    let devices = if options.no_device {
        0
    } else {
        options.devices
    };
    if !sim.configure(options.virtual_clock, devices, options.unknown_kernels_fail) {
        return Err(InstallError::Installed);
    }
    *installed = Some((sim, options.clone()));
    Ok(sim)
}

/// The simulator, if it is installed.
pub(crate) fn installed() -> Option<Sim> {
    let installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    installed.as_ref().map(|(sim, _)| *sim)
}

fn load(hide: &[String]) -> Result<Sim, InstallError> {
    let (library, functions) = match preloaded() {
        Some(_) if !hide.is_empty() => return Err(InstallError::Installed),
        Some(preloaded) => preloaded,
        None => {
            let configured = std::env::var_os("GPUPROF_SIM_DRIVER");
            let path = library::find(FILE, configured.as_deref(), env!("OUT_DIR"))?;
            let library = library::load(&path, hide)?;
            let functions = Functions::find(&library).map_err(InstallError::Load)?;
            if functions.build() != BUILD {
                return Err(InstallError::OtherBuild(path));
            }
            (library, functions)
        }
    };
    // Never unloaded: the program has handles and function pointers into it.
    std::mem::forget(library);
    let found = loaded(SONAME).and_then(|library| Functions::find(&library).ok());
    if found.is_some_and(|found| found.same_library(&functions)) {
        Ok(Sim::new(functions))
    } else {
        Err(InstallError::OtherDriver)
    }
}

/// The simulator, if the program's launcher loaded it in the driver's place. The real name comes
/// first: if `libcuda.so` is a link to a real driver, a look-up by that name would make the loader
/// remember it as the driver's.
fn preloaded() -> Option<(Library, Functions)> {
    let library = loaded(REAL_SONAME).or_else(|| loaded(SONAME))?;
    let functions = Functions::find(&library).ok()?;
    Some((library, functions))
}

/// Loads the simulated libcupti, so that a `dlopen` of the real name finds it. Does nothing if it
/// was not built, as for programs that do not depend on it.
pub(crate) fn add_cupti() {
    let configured = std::env::var_os("GPUPROF_SIM_CUPTI");
    let found = library::find(CUPTI_FILE, configured.as_deref(), env!("OUT_DIR"));
    if let Ok(cupti) = found.and_then(|path| library::load(&path, &[])) {
        // Never unloaded, like the driver.
        std::mem::forget(cupti);
    }
}
