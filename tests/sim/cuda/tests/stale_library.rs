//! A driver library that cargo left behind from other sources is not taken for this program's own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use libloading::os::unix::Library;

/// Asks a copy of this program to install the driver.
const INSTALL: &str = "SIMCUDA_TEST_INSTALL";
const FILE: &str = "libsimcuda.so";

/// What the installation said in a copy of this program, in a folder with these libraries.
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

/// The library as it would be with other sources.
fn stale() -> Vec<u8> {
    // SAFETY: the library is this crate's own; it has no initialisers.
    let library = unsafe { Library::new(fresh()) }.unwrap();
    // SAFETY: the symbol is a number.
    let build = **unsafe { library.get::<&u64>(b"simcuda_build") }.unwrap();
    let mut image = fs::read(fresh()).unwrap();
    let build = build.to_ne_bytes();
    let places: Vec<_> = image.windows(8).enumerate().collect();
    let places = places.iter().filter(|(_, bytes)| **bytes == build);
    let places: Vec<_> = places.map(|(at, _)| *at).collect();
    assert!(!places.is_empty(), "the number stands in the file");
    places.into_iter().for_each(|at| image[at] ^= 1);
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
fn what_stands_in_deps_comes_before_what_was_left_beside_a_program() {
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
