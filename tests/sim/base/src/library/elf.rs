//! Loading a library without some of its functions, as an older one would be. A private copy
//! of the file loses the names in its dynamic symbol table; its SONAME stays. Part of `library`.

use std::fs;
use std::path::{Path, PathBuf};

use libloading::os::unix::Library;

use super::{LoadError, open};

/// `SHT_DYNSYM` (System V ABI, Object Files, Sections).
const DYNSYM: u32 = 11;
/// Sizes of the headers and symbols of a 64-bit ELF file.
const SECTION_SIZE: usize = 64;
const SYMBOL_SIZE: usize = 24;

/// Loads a copy of the library at `path` in which `dlsym` does not find the `hidden` functions.
pub(super) fn load_without(path: &Path, hidden: &[String]) -> Result<Library, LoadError> {
    let mut image = fs::read(path).map_err(LoadError::Copy)?;
    for name in hidden {
        hide(&mut image, name).ok_or_else(|| LoadError::NothingToHide(name.clone()))?;
    }
    let copy = private_path(path);
    fs::write(&copy, &image).map_err(LoadError::Copy)?;
    let library = open(&copy);
    // The loaded library needs its file no more.
    fs::remove_file(&copy).map_err(LoadError::Copy)?;
    library
}

/// Points the symbol's name at the string table's empty first string; none where the symbol is missing.
fn hide(image: &mut [u8], name: &str) -> Option<()> {
    let sections = number(image, 0x28, 8)?;
    let count = number(image, 0x3c, 2)?;
    let header = |index: usize| sections + index * SECTION_SIZE;
    let symbols = (0..count)
        .map(header)
        .find(|at| number(image, at + 4, 4) == Some(DYNSYM as usize))?;
    let (start, size) = (
        number(image, symbols + 24, 8)?,
        number(image, symbols + 32, 8)?,
    );
    let strings = number(image, header(number(image, symbols + 40, 4)?) + 24, 8)?;
    let mut entries = (start..start + size).step_by(SYMBOL_SIZE);
    let entry = entries.find(|at| {
        let text = number(image, *at, 4).and_then(|offset| image.get(strings + offset..));
        text.is_some_and(|text| {
            text.starts_with(name.as_bytes()) && text.get(name.len()) == Some(&0)
        })
    })?;
    image.get_mut(entry..entry + 4)?.fill(0);
    Some(())
}

/// The little-endian number of `len` bytes at `at`.
fn number(image: &[u8], at: usize, len: usize) -> Option<usize> {
    let bytes = image.get(at..at.checked_add(len)?)?;
    bytes.iter().rev().try_fold(0_usize, |value, byte| {
        value.checked_mul(256)?.checked_add(usize::from(*byte))
    })
}

fn private_path(path: &Path) -> PathBuf {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    std::env::temp_dir().join(format!("{name}-{}.so", std::process::id()))
}
