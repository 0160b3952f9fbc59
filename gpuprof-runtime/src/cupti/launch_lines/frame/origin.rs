//! Whose code a frame is.

use super::source_file::{Package, package};

/// Whose code a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Program,
    /// A framework, or any other dependency: shown if the stack has no frame of the program.
    Dependency,
    /// Code that nobody looks for: the standard library, gpuprof, cudarc, libraries that call what
    /// they are given, and code without the name of a Rust function.
    Plumbing,
}

/// Crates that nobody looks for, besides those of the toolchain.
const PLUMBING: [&str; 13] = [
    "backtrace",
    "crossbeam_utils",
    "cudarc",
    "futures_util",
    "gpuprof",
    "gpuprof_bench",
    "gpuprof_runtime",
    "inventory",
    "libloading",
    "rayon",
    "rayon_core",
    "tokio",
    "tracing",
];

/// Crates of the toolchain, for frames without a file.
const TOOLCHAIN: [&str; 5] = ["alloc", "core", "hashbrown", "std", "test"];

/// Frameworks, and the parts that a name may have after it: `candle_core`.
const FRAMEWORKS: [&str; 4] = ["burn", "candle", "cubecl", "cubek"];
const FRAMEWORK_PARTS: [&str; 26] = [
    "autodiff",
    "backend",
    "common",
    "convolution",
    "core",
    "cpp",
    "cubecl",
    "cubecl_fusion",
    "cuda",
    "datasets",
    "dispatch",
    "flash_attn",
    "fusion",
    "kernels",
    "matmul",
    "nn",
    "onnx",
    "optim",
    "random",
    "reduce",
    "router",
    "runtime",
    "std",
    "tensor",
    "train",
    "transformers",
];

/// Of a function, by its path and the file that the debug information has.
pub(super) fn origin(function: &str, file: Option<&str>) -> Origin {
    let name = crate_of_function(function);
    match file.map(package) {
        Some(Package::Toolchain) => Origin::Plumbing,
        Some(Package::Dependency(krate)) if PLUMBING.contains(&&*krate) => Origin::Plumbing,
        Some(Package::Dependency(_)) => Origin::Dependency,
        Some(Package::Local(folder)) => local(name, &folder),
        None => match name {
            None => Origin::Plumbing,
            Some(name) if TOOLCHAIN.contains(&name) => Origin::Plumbing,
            Some(name) => by_crate(name),
        },
    }
}

/// The origin of a frame in a file that is not marked as a dependency's: in a package of the
/// program, unless its folder and its crate are those of a dependency, replaced by a path.
/// Line tables alone do not have the crate.
fn local(name: Option<&str>, folder: &str) -> Origin {
    let of_gpuprof = |name: &str| name.starts_with("gpuprof") && PLUMBING.contains(&name);
    match name {
        Some(name) if of_gpuprof(name) => Origin::Plumbing,
        Some(name) if name != folder => Origin::Program,
        _ => by_crate(folder),
    }
}

fn by_crate(name: &str) -> Origin {
    if PLUMBING.contains(&name) {
        return Origin::Plumbing;
    }
    let is_framework = FRAMEWORKS.iter().any(|framework| {
        let part = name
            .strip_prefix(framework)
            .and_then(|rest| rest.strip_prefix('_'));
        part.is_some_and(|part| FRAMEWORK_PARTS.contains(&part))
    });
    match is_framework {
        true => Origin::Dependency,
        false => Origin::Program,
    }
}

/// The crate of a path; of `<T as Trait>::function` that of the type. `None` if it has none, as C
/// functions.
fn crate_of_function(path: &str) -> Option<&str> {
    let path = path.trim_start_matches(['<', '&', '*', '[', '(']);
    let path = ["mut ", "const ", "dyn "]
        .iter()
        .fold(path, |path, word| path.strip_prefix(word).unwrap_or(path));
    let (name, _) = path.split_once("::")?;
    // The hash of a crate in the newer form of symbols: `app[4f1c…]`.
    let (name, _) = name.split_once('[').unwrap_or((name, ""));
    let is_name = |name: &str| {
        let mut letters = name.chars();
        letters.all(|letter| letter.is_alphanumeric() || letter == '_') && !name.is_empty()
    };
    is_name(name).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{Origin, crate_of_function, origin};

    #[test]
    fn crates_are_found_in_functions() {
        for (path, name) in [
            ("app::main", Some("app")),
            ("<app::Model as candle_core::Module>::forward", Some("app")),
            (
                "<&mut alloc::vec::Vec<T> as core::ops::Deref>::deref",
                Some("alloc"),
            ),
            ("app[4f1c6a]::main", Some("app")),
            ("<T as candle_nn::Module>::forward", None),
            ("<dyn app::Layer>::forward", Some("app")),
            ("main", None),
            ("", None),
            ("__libc_start_main@@GLIBC_2.34", None),
        ] {
            assert_eq!(crate_of_function(path), name, "{path}");
        }
    }

    #[test]
    fn the_file_says_whose_a_frame_is_before_its_name_does() {
        use Origin::{Dependency, Plumbing, Program};
        let registry = "/r/registry/src/index-1";
        for (function, file, expected) in [
            // The toolchain, by whatever type the function is for.
            (
                "app::run",
                "/rustc/59807616e/library/core/src/x.rs",
                Plumbing,
            ),
            (
                "<app::Key as hashbrown::Equivalent<Q>>::equivalent",
                "/rust/deps/hashbrown-0.15.2/src/lib.rs",
                Plumbing,
            ),
            (
                "test::__rust_begin_short_backtrace",
                "/rustc/59807616e/library/test/src/lib.rs",
                Plumbing,
            ),
            // Dependencies.
            (
                "rayon_core::join",
                &format!("{registry}/rayon-core-1.13.0/src/join/mod.rs"),
                Plumbing,
            ),
            (
                "poll",
                &format!("{registry}/tokio-1.47.1/src/task.rs"),
                Plumbing,
            ),
            (
                "launch",
                "/r/git/checkouts/cudarc-1a2b/4d5e/src/driver/safe/launch.rs",
                Plumbing,
            ),
            (
                "mistralrs_core::run",
                "/r/git/checkouts/mistral.rs-1a2b/4d5e/mistralrs-core/src/lib.rs",
                Dependency,
            ),
            (
                "<app::Model as candle_core::Module>::forward",
                &format!("{registry}/candle-core-0.9.1/src/lib.rs"),
                Dependency,
            ),
            // A dependency that is replaced by a path, with a name and by line tables alone.
            (
                "candle_core::tensor::Tensor::matmul",
                "/home/me/candle/candle-core/src/tensor.rs",
                Dependency,
            ),
            (
                "matmul",
                "/home/me/candle/candle-core/src/tensor.rs",
                Dependency,
            ),
            (
                "cudarc::driver::launch",
                "/home/me/cudarc/src/driver.rs",
                Plumbing,
            ),
            ("launch", "/home/me/cudarc/src/driver.rs", Plumbing),
            ("gpuprof::collect", "/home/me/fork/src/lib.rs", Plumbing),
            // The program.
            (
                "candle_demo::main",
                "/home/me/candle-demo/src/main.rs",
                Program,
            ),
            (
                "<candle_core::Tensor as app::Double>::double",
                "/home/me/app/src/ext.rs",
                Program,
            ),
            (
                "<alloc::vec::Vec<T> as app::Run>::run",
                "/app/src/ext.rs",
                Program,
            ),
            ("burn::main", "/home/me/burn/src/main.rs", Program),
            ("one", "/tmp/one.cpp", Program),
            // No file.
            ("core::ops::FnOnce::call_once", "", Plumbing),
            ("test::run_test", "", Plumbing),
            ("rayon::join", "", Plumbing),
            ("cuLaunchKernel", "", Plumbing),
            ("candle_nn::linear::Linear::forward", "", Dependency),
            ("app::run", "", Program),
        ] {
            let debug_file = Some(file).filter(|file| !file.is_empty());
            assert_eq!(
                origin(function, debug_file),
                expected,
                "{function} in {file}"
            );
        }
    }
}
