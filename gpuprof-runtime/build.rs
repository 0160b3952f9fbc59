//! With the feature `nvtx`, says what to do where libclang is missing: bindgen, which the crate
//! nvtx runs, names neither a package nor the feature.
//!
//! Without a dependency, so that cargo may run it before bindgen is built. It looks in every place
//! in which clang-sys 1.9 looks, and less closely, so that it never stops a build that would
//! succeed.

use std::env;
use std::fs;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LIBCLANG_PATH");
    if env::var_os("CARGO_FEATURE_NVTX").is_some() && !may_have_libclang() {
        // As in the README and `gpuprof doctor`.
        for line in [
            "the feature nvtx needs libclang, which is not found:",
            "→ apt-get install libclang-dev, dnf install clang-devel, or pacman -S clang",
            "→ or build without it: default-features = false, features = [\"enable\"]",
        ] {
            println!("cargo::error={line}");
        }
    }
}

fn may_have_libclang() -> bool {
    if !cfg!(target_os = "linux") {
        // Other systems have other places.
        return true;
    }
    if let Some(path) = env::var_os("LIBCLANG_PATH") {
        let path = Path::new(&path);
        return path.is_file() || has_libclang(path, 0);
    }
    let variable = |name: &str| env::var_os(name).unwrap_or_default();
    let has_llvm_config = env::var_os("LLVM_CONFIG_PATH").is_some()
        || env::split_paths(&variable("PATH")).any(|folder| folder.join("llvm-config").exists());
    let is_stated = |name| env::split_paths(&variable(name)).any(|folder| has_libclang(&folder, 0));
    has_llvm_config
        || is_stated("LD_LIBRARY_PATH")
        || is_stated("LIBRARY_PATH")
        || ["/usr", "/usr/local"].into_iter().any(has_libclang_in)
}

/// Whether there is a libclang in the folders of libraries of `prefix`, such as `lib/llvm-19/lib`.
fn has_libclang_in(prefix: &str) -> bool {
    let folders = fs::read_dir(prefix).into_iter().flatten().flatten();
    let mut folders = folders.filter(|folder| {
        let name = folder.file_name().to_string_lossy().to_ascii_lowercase();
        name.starts_with("lib") || name.starts_with("llvm")
    });
    folders.any(|folder| has_libclang(&folder.path(), 2))
}

/// Whether there is a libclang in `folder` or, at most `depth` levels, below it.
fn has_libclang(folder: &Path, depth: u32) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.any(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_library = name.starts_with("libclang.so")
            || name.starts_with("libclang-") && !name.starts_with("libclang-cpp");
        is_library && name.contains(".so") && path.exists()
            || depth > 0 && path.is_dir() && has_libclang(&path, depth - 1)
    })
}
