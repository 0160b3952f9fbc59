//! Whose code a frame is.

use super::source_file::{Package, package};

/// Whose code a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Program,
    /// A framework, or any other dependency: shown if the stack has no frame of the program.
    Dependency,
    /// Code that is never the line wanted: the standard library, gpuprof, cudarc, libraries that
    /// call what they are given, and code without the name of a Rust function.
    Plumbing,
}

/// Crates whose lines are never wanted, besides those of the toolchain.
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

/// Of a function, by its path and the file that the debug information has. What does not say whose
/// it is, such as a name without a crate, or a folder's name, is taken for the program's.
pub(super) fn origin(
    function: &str,
    file: Option<&str>,
    is_main_crate: &mut dyn FnMut(&str) -> bool,
) -> Origin {
    let mut named: Vec<&str> = crates_of_function(function).collect();
    let has_crates = !named.is_empty();
    named.retain(|name| !TOOLCHAIN.contains(name));
    let mut by_name = || origin_of_crates(&named, is_main_crate);
    match file.map(package) {
        Some(Package::Toolchain | Package::Gpuprof) => Origin::Plumbing,
        Some(Package::Dependency(krate)) if PLUMBING.contains(&&*krate) => Origin::Plumbing,
        Some(Package::Dependency(_)) => Origin::Dependency,
        // The program, or a dependency that is replaced by a path.
        Some(Package::Local) => by_name(),
        // C functions, and those of the toolchain.
        None if !has_crates || named.is_empty() => Origin::Plumbing,
        None => by_name(),
    }
}

/// By all crates that a function may be of: it is a dependency's if each of them is one.
fn origin_of_crates(names: &[&str], is_main_crate: &mut dyn FnMut(&str) -> bool) -> Origin {
    let mut origin = None;
    for name in names {
        let of_crate = if PLUMBING.contains(name) {
            Origin::Plumbing
        } else if is_framework(name) {
            Origin::Dependency
        } else {
            return Origin::Program;
        };
        // A program may have the name of a dependency, most often that of its folder.
        if is_main_crate(name) {
            return Origin::Program;
        }
        origin = match origin {
            Some(Origin::Dependency) => origin,
            _ => Some(of_crate),
        };
    }
    origin.unwrap_or(Origin::Program)
}

fn is_framework(name: &str) -> bool {
    FRAMEWORKS.iter().any(|framework| {
        let part = name
            .strip_prefix(framework)
            .and_then(|rest| rest.strip_prefix('_'));
        part.is_some_and(|part| FRAMEWORK_PARTS.contains(&part))
    })
}

/// The crates that a path names. Of `<T as Trait>::function` these are all, because an `impl` is in
/// the crate of one of its types or of its trait. None if the path has no crate, as C functions.
fn crates_of_function(path: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let is_impl = path.starts_with('<');
    let words =
        path.split(move |letter| !is_part(letter))
            .take(if is_impl { usize::MAX } else { 1 });
    words.filter_map(|word| {
        let (name, _) = word.split_once("::")?;
        (!name.is_empty()).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::{Origin, crates_of_function, origin};

    #[test]
    fn crates_are_found_in_functions() {
        for (path, names) in [
            ("app::main", &["app"][..]),
            ("app::run::<cudarc::CudaSlice>", &["app"]),
            (
                "<app::Model as candle_core::Module>::forward",
                &["app", "candle_core"],
            ),
            (
                "<&mut alloc::vec::Vec<T> as core::ops::Deref>::deref",
                &["alloc", "core"],
            ),
            ("<T as candle_nn::Module>::forward", &["candle_nn"]),
            ("<dyn app::Layer>::forward", &["app"]),
            ("main", &[]),
            ("{closure#0}", &[]),
            ("", &[]),
            ("__libc_start_main@@GLIBC_2.34", &[]),
        ] {
            assert!(crates_of_function(path).eq(names.iter().copied()), "{path}");
        }
    }

    /// The origin in a program whose `main` is in the crate `app`.
    fn of_app(function: &str, file: Option<&str>) -> Origin {
        origin(function, file, &mut |krate| krate == "app")
    }

    #[test]
    fn the_name_of_a_folder_says_nothing() {
        for folder in ["gpuprof", "tokio", "tracing", "cudarc", "candle-core"] {
            let name = folder.replace('-', "_");
            for file in ["src/main.rs", "tests/suite/gpu.rs", "src/gpu/mod.rs"] {
                let file = format!("/home/me/{folder}/{file}");
                for function in ["launch", "{closure#0}", "app::launch", "<app::A as B>::run"] {
                    assert_eq!(of_app(function, Some(&file)), Origin::Program, "{file}");
                }
                // A program whose crate has that name, too.
                let function = format!("{name}::launch");
                let of_program = origin(&function, Some(&file), &mut |krate| krate == name);
                assert_eq!(of_program, Origin::Program, "{function}");
                assert_ne!(of_app(&function, Some(&file)), Origin::Program);
            }
        }
    }

    #[test]
    fn gpuprof_has_its_own_files_and_no_others() {
        for file in [file!().to_owned(), format!("/home/me/clone/{}", file!())] {
            assert_eq!(of_app("with_stream", Some(&file)), Origin::Plumbing);
        }
        let file = "/home/me/gpuprof/tests/suite/cupti/stacks.rs";
        assert_eq!(of_app("launch", Some(file)), Origin::Program);
    }

    #[test]
    fn the_file_says_whose_a_frame_is_before_its_name_does() {
        use Origin::{Dependency, Plumbing, Program};
        let registry = "/r/registry/src/index.crates.io-1949cf8c6b5b557f";
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
                "/r/git/checkouts/cudarc-1a2b3c4d5e6f7a8b/4d5e6f7/src/driver/safe/launch.rs",
                Plumbing,
            ),
            (
                "mistralrs_core::run",
                "/r/git/checkouts/mistral.rs-1a2b3c4d5e6f7a8b/4d5e6f7/mistralrs-core/src/lib.rs",
                Dependency,
            ),
            (
                "<app::Model as candle_core::Module>::forward",
                &format!("{registry}/candle-core-0.9.1/src/lib.rs"),
                Dependency,
            ),
            // A dependency that is replaced by a path.
            (
                "candle_core::tensor::Tensor::matmul",
                "/home/me/candle/candle-core/src/tensor.rs",
                Dependency,
            ),
            (
                "cudarc::driver::launch",
                "/home/me/cudarc/src/driver.rs",
                Plumbing,
            ),
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
            ("run", "/home/me/registry/src/server/main.rs", Program),
            ("run", "/home/me/git/checkouts/app/src/main.rs", Program),
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
                of_app(function, debug_file),
                expected,
                "{function} in {file}"
            );
        }
    }
}
