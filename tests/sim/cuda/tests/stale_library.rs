//! A driver library that was built from other sources is not used.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use libloading::os::unix::Library;

/// Set if this process, a copy of the program, is to install the driver.
const INSTALL: &str = "SIMCUDA_TEST_INSTALL";
const FILE: &str = "libsimcuda.so";

/// What a copy of this program prints when it installs the driver, in a folder with `libraries`.
fn installed(name: &str, libraries: &[(&str, &[u8])]) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("deps")).unwrap();
    let program = folder.join("program");
    fs::copy(env::current_exe().unwrap(), &program).unwrap();
    for (place, image) in libraries {
        fs::write(folder.join(place).join(FILE), image).unwrap();
    }
    let output = Command::new(program)
        .args(["--exact", "child", "--nocapture"])
        .env(INSTALL, "1")
        .env_remove("GPUPROF_SIM_DRIVER")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn fresh() -> PathBuf {
    env::current_exe().unwrap().with_file_name(FILE)
}

/// The image of the library with another build number.
fn stale() -> Vec<u8> {
    // SAFETY: the library is this crate's own; it has no initializers.
    let library = unsafe { Library::new(fresh()) }.unwrap();
    // SAFETY: the symbol is a number.
    let build = **unsafe { library.get::<&u64>(b"simcuda_build") }.unwrap();
    let mut image = fs::read(fresh()).unwrap();
    let build = build.to_ne_bytes();
    let places: Vec<_> = image.windows(8).enumerate().collect();
    let places = places.iter().filter(|(_, bytes)| **bytes == build);
    let places: Vec<_> = places.map(|(offset, _)| *offset).collect();
    assert!(!places.is_empty(), "the file contains the number");
    places.into_iter().for_each(|offset| image[offset] ^= 1);
    image
}

#[test]
fn child() {
    if env::var_os(INSTALL).is_some() {
        match simcuda::install() {
            Ok(_) => println!("installed"),
            Err(error) => println!("refused: {error}"),
        }
    }
}

#[test]
fn the_library_in_deps_comes_before_one_beside_the_program() {
    let fresh = fs::read(fresh()).unwrap();
    let said = installed("both", &[("", &stale()), ("deps", &fresh)]);
    assert!(said.contains("installed"), "{said}");
}

#[test]
fn a_library_from_other_sources_is_refused_by_its_path() {
    let said = installed("stale", &[("", &stale())]);
    assert!(
        said.contains("stale/libsimcuda.so was built from other sources"),
        "{said}"
    );
}
