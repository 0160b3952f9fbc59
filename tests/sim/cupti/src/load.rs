//! Finds and loads the built library. The copy of its code that is linked into this crate never
//! runs.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use libloading::os::unix::Library;
use simbase::library::{self, LoadError, loaded};

use crate::control::{Cupti, Functions};
use crate::record_sizes::Version;

/// The library's SONAME, by which programs look for libcupti.
pub(crate) const SONAME: &str = "libcupti.so.13";
const FILE: &str = "libsimcupti.so";

/// How to install the library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The layout of records.
    pub version: Version,
    /// Functions to hide, as if the library were older.
    pub hide: Vec<String>,
}

/// Why the library could not be installed.
#[derive(Debug)]
pub enum InstallError {
    /// It was not built or could not be loaded.
    Library(LoadError),
    /// Another libcupti.so.13 was loaded before.
    OtherCupti,
    /// It was installed with other options, or was loaded before functions could be hidden.
    Installed,
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstallError::Library(error) => write!(f, "the simulated libcupti: {error}"),
            InstallError::OtherCupti => write!(f, "another {SONAME} was loaded before"),
            InstallError::Installed => {
                f.write_str("it was installed with other options, or is already loaded")
            }
        }
    }
}

impl std::error::Error for InstallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            InstallError::Library(error) => Some(error),
            InstallError::OtherCupti | InstallError::Installed => None,
        }
    }
}

impl From<LoadError> for InstallError {
    fn from(error: LoadError) -> InstallError {
        InstallError::Library(error)
    }
}

static INSTALLED: Mutex<Option<(Cupti, Options)>> = Mutex::new(None);

/// Loads the library as that of CUDA 13.0, with nothing hidden. The simulated driver feeds it, and
/// must be installed before anything is enabled.
///
/// # Errors
/// As [`install_with`].
pub fn install() -> Result<Cupti, InstallError> {
    install_with(&Options::default())
}

/// Loads the library, so that a `dlopen` of the real one's name finds it. Returns the installed
/// library if it was loaded with the same options before.
///
/// # Errors
/// If the library is not found or cannot be loaded, a function to hide does not exist, another
/// libcupti was loaded before, or the library was installed with other options.
pub fn install_with(options: &Options) -> Result<Cupti, InstallError> {
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((cupti, with)) = &*installed {
        return if with == options {
            Ok(*cupti)
        } else {
            Err(InstallError::Installed)
        };
    }
    let cupti = load(&options.hide)?;
    cupti.set_version(options.version);
    *installed = Some((cupti, options.clone()));
    Ok(cupti)
}

fn load(hide: &[String]) -> Result<Cupti, InstallError> {
    let library = match preloaded() {
        Some(_) if !hide.is_empty() => return Err(InstallError::Installed),
        Some(library) => library,
        None => {
            let stated = std::env::var_os("GPUPROF_SIM_CUPTI");
            let path = library::find(FILE, stated.as_deref(), env!("OUT_DIR"))?;
            library::load(&path, hide)?
        }
    };
    let functions = Functions::find(&library).map_err(LoadError::Load)?;
    // Never unloaded, because function pointers into it live as long as the process.
    std::mem::forget(library);
    match preloaded() {
        Some(_) => Ok(Cupti::new(functions)),
        None => Err(InstallError::OtherCupti),
    }
}

/// The simulated library, if the name finds it.
fn preloaded() -> Option<Library> {
    let library = loaded(SONAME)?;
    Functions::find(&library).is_ok().then_some(library)
}
