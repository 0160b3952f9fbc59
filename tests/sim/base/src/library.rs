//! Finding and loading a simulated library that cargo built as a dependency. Must never know which library it is.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

mod elf;

/// Why a simulated library could not be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// The library was not built, or not where it is looked for: its file and the places.
    NotFound(String, Vec<PathBuf>),
    /// The loader refused it, or it lacks a control function.
    Load(libloading::Error),
    /// The copy without the hidden functions could not be made.
    Copy(std::io::Error),
    /// A function to hide is not among the library's symbols.
    NothingToHide(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::NotFound(file, places) => {
                write!(f, "{file} is not built or not found; looked for")?;
                places
                    .iter()
                    .try_for_each(|place| write!(f, " {}", place.display()))
            }
            LoadError::Load(error) => write!(f, "loading: {error}"),
            LoadError::Copy(error) => {
                write!(f, "making a copy without the hidden functions: {error}")
            }
            LoadError::NothingToHide(symbol) => {
                write!(f, "cannot hide `{symbol}`: the library lacks it")
            }
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LoadError::Load(error) => Some(error),
            LoadError::Copy(error) => Some(error),
            LoadError::NotFound(..) | LoadError::NothingToHide(_) => None,
        }
    }
}

/// Where `file` is: at `stated`, the whole path, where the user gave one; else where cargo puts the library of a dependency, as
/// seen from a binary, a test or an example; else in the build directory that `out_dir`, a package's `OUT_DIR`, belongs to, for
/// documentation tests, whose programs stand elsewhere. What stands beside a binary comes after what stands in `deps`: cargo puts
/// it there when the package itself is built, and leaves it there, older and older, when it is built for another.
///
/// # Errors
/// [`LoadError::NotFound`] where it is in none of these places.
pub fn find(file: &str, stated: Option<&OsStr>, out_dir: &str) -> Result<PathBuf, LoadError> {
    let mut places = Vec::new();
    if let Some(path) = stated {
        // Absolute, because the loader searches its own folders for a bare name.
        places.push(std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path)));
    } else {
        let program = std::env::current_exe().ok();
        if let Some(folder) = program.as_deref().and_then(Path::parent) {
            places.extend(["deps", "../deps", ""].map(|sub| folder.join(sub).join(file)));
        }
        places.push(Path::new(out_dir).join("../../../deps").join(file));
    }
    places
        .iter()
        .find(|place| place.is_file())
        .cloned()
        .ok_or_else(|| LoadError::NotFound(file.to_owned(), places))
}

/// Loads the library at `path`, where `hidden` names functions a copy in which `dlsym` does not find these.
///
/// # Errors
/// Where the loader refuses it, the copy cannot be made, or a function to hide does not exist.
pub fn load(path: &Path, hidden: &[String]) -> Result<Library, LoadError> {
    if hidden.is_empty() {
        open(path)
    } else {
        elf::load_without(path, hidden)
    }
}

/// The library that a `dlopen` of `name` would find loaded.
pub fn loaded(name: &str) -> Option<Library> {
    // SAFETY: RTLD_NOLOAD runs no initialiser.
    unsafe { Library::open(Some(name), RTLD_NOW | libc::RTLD_NOLOAD) }.ok()
}

fn open(path: &Path) -> Result<Library, LoadError> {
    // SAFETY: the library is one of the workspace's simulated ones; they have no initialisers.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(LoadError::Load)
}
