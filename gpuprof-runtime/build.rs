//! With the feature `nvtx`, says what to do where libclang is missing: bindgen, which the crate
//! nvtx runs, names neither a package nor the feature.
//!
//! Without a dependency, so that cargo runs it before bindgen is built, if there are more than two
//! cores. It looks in every place in which clang-sys 1.9 looks, and less closely, so that it never
//! stops a build that would succeed.

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
    if let Some(path) = env::var_os("LIBCLANG_PATH") {
        let path = Path::new(&path);
        return path.is_file() || is_below(path, 0);
    }
    let variable = |name: &str| env::var_os(name).unwrap_or_default();
    let has_llvm_config = env::var_os("LLVM_CONFIG_PATH").is_some()
        || env::split_paths(&variable("PATH")).any(|folder| folder.join("llvm-config").exists());
    let is_stated = |name| env::split_paths(&variable(name)).any(|folder| is_below(&folder, 0));
    has_llvm_config
        || is_stated("LD_LIBRARY_PATH")
        || is_stated("LIBRARY_PATH")
        // `/usr/lib/llvm-19/lib`, `/usr/local/llvm19/lib`.
        || is_below(Path::new("/usr"), 3)
}

/// Whether there is a libclang in `folder` or, at most `depth` levels, below it.
fn is_below(folder: &Path, depth: u32) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let holds_libraries = ["lib", "llvm", "local", "x86_64", "aarch64"]
            .iter()
            .any(|start| name.starts_with(start));
        name.starts_with("libclang")
            || (depth > 0 && holds_libraries && is_below(&entry.path(), depth - 1))
    })
}
