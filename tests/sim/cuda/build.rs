//! Sets the SONAME of the simulated driver, which cudarc looks for, and compiles a number that
//! identifies the sources into both libraries, so that the rlib rejects a driver of other sources.

use std::path::{Path, PathBuf};
use std::{fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
    let mut files = Vec::new();
    collect(Path::new("src"), &mut files)?;
    files.sort();
    let mut build = FNV_OFFSET;
    for file in files {
        let name = file.to_string_lossy().into_owned().into_bytes();
        for byte in name.into_iter().chain(fs::read(&file)?) {
            build = (build ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
        }
    }
    println!("cargo:rustc-env=SIMCUDA_BUILD={build:016x}");
    Ok(())
}

/// The 64-bit FNV-1a hash (RFC 9923, FNV Primes and Offset Basis).
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Appends every file below `folder`.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
