//! Finds and loads a simulated library that cargo built as a dependency.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

mod elf;

/// Why a simulated library could not be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// The library was not built, or is in none of these places.
    NotFound(String, Vec<PathBuf>),
    /// The library could not be loaded or lacks a control function.
    Load(libloading::Error),
    /// The copy without the hidden functions could not be made.
    Copy(std::io::Error),
    /// The library lacks a function to hide.
    NothingToHide(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::NotFound(file, places) => {
                write!(f, "{file} is not built or not found; searched:")?;
                places
                    .iter()
                    .try_for_each(|place| write!(f, " {}", place.display()))
            }
            LoadError::Load(error) => write!(f, "it cannot be loaded: {error}"),
            LoadError::Copy(error) => {
                write!(
                    f,
                    "a copy without the hidden functions cannot be written: {error}"
                )
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

/// The path of `file`: the `configured` path if there is one, else the place where cargo puts the
/// library of a dependency, relative to a binary, a test or an example, or relative to `out_dir`, a
/// package's `OUT_DIR`, for documentation tests.
///
/// The folder `deps` comes before the folder of the binary. Cargo writes the library beside the
/// binary only if its own package is built, so that one may be out of date.
///
/// # Errors
/// [`LoadError::NotFound`] if it is in none of these places.
pub fn find(file: &str, configured: Option<&OsStr>, out_dir: &str) -> Result<PathBuf, LoadError> {
    let mut places = Vec::new();
    if let Some(path) = configured {
        // Absolute, because the loader searches its own folders for a file name.
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

/// Loads the library at `path`, or a copy in which `dlsym` does not find the `hidden` functions, as
/// if the library were older.
///
/// # Errors
/// If the library cannot be loaded, the copy cannot be written, or a function to hide does not
/// exist.
pub fn load(path: &Path, hidden: &[String]) -> Result<Library, LoadError> {
    if hidden.is_empty() {
        open(path)
    } else {
        load_without(path, hidden)
    }
}

fn load_without(path: &Path, hidden: &[String]) -> Result<Library, LoadError> {
    let mut image = fs::read(path).map_err(LoadError::Copy)?;
    for name in hidden {
        elf::hide(&mut image, name).ok_or_else(|| LoadError::NothingToHide(name.clone()))?;
    }
    let copy = private_path(path);
    fs::write(&copy, &image).map_err(LoadError::Copy)?;
    let library = open(&copy);
    // A loaded library does not need its file.
    fs::remove_file(&copy).map_err(LoadError::Copy)?;
    library
}

fn private_path(path: &Path) -> PathBuf {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    std::env::temp_dir().join(format!("{name}-{}.so", std::process::id()))
}

/// The library that is loaded under `name`.
pub fn loaded(name: &str) -> Option<Library> {
    // SAFETY: RTLD_NOLOAD runs no initializer.
    unsafe { Library::open(Some(name), RTLD_NOW | libc::RTLD_NOLOAD) }.ok()
}

fn open(path: &Path) -> Result<Library, LoadError> {
    // SAFETY: the library is a simulated one of this workspace; they have no initializers.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(LoadError::Load)
}
