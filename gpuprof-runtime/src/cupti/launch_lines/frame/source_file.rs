//! From whose package a source file is, and how its path is shown.

/// Whose file a source file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Package {
    /// The standard library, the test harness, and what they are built with.
    Toolchain,
    /// Of a registry, a git repository or a `vendor` folder: the crate, as Rust writes it.
    Dependency(String),
    /// One of gpuprof's own, wherever it was built.
    Gpuprof,
    /// None of these: the program's, or a dependency's at a path.
    Local,
}

/// Folders that hold the source files of a package.
const SOURCE_FOLDERS: [&str; 4] = ["src", "tests", "examples", "benches"];

/// The packages of gpuprof with code that runs.
const OWN_PACKAGES: [&str; 3] = ["gpuprof-bench", "gpuprof-report", "gpuprof-runtime"];

pub(super) fn package(file: &str) -> Package {
    if toolchain_part(file).is_some() {
        return Package::Toolchain;
    }
    if let Some(part) = dependency_part(file) {
        let folder = part
            .split_once("/src/")
            .map_or(&*part, |(before, _)| before);
        return Package::Dependency(crate_of_folder(last_folder(folder)));
    }
    if is_of_gpuprof(file) {
        Package::Gpuprof
    } else {
        Package::Local
    }
}

/// Whether it is in one of the packages beside this one, by where the compiler found this file:
/// below the folder that it was called in, or at an absolute path.
fn is_of_gpuprof(file: &str) -> bool {
    let here = file!().split_once("gpuprof-runtime/src/");
    here.is_some_and(|(root, _)| {
        let starts = match root {
            "" => file.match_indices("gpuprof-").map(|(at, _)| at).collect(),
            _ => vec![root.len()],
        };
        let is_whole = |at: &usize| *at == 0 || file.get(..*at).is_some_and(|of| of.ends_with('/'));
        let is_ours = |at: usize| {
            let package = file.get(at..).and_then(|rest| rest.split_once("/src/"));
            package.is_some_and(|(package, _)| OWN_PACKAGES.contains(&package))
        };
        file.starts_with(root) && starts.into_iter().filter(is_whole).any(is_ours)
    })
}

/// A path from the folder of its package on.
pub(super) fn shown_file(file: &str) -> String {
    let toolchain = toolchain_part(file).map(str::to_owned);
    let dependency = || dependency_part(file);
    let of_python = || python_package_part(file).or_else(|| python_library_part(file));
    let of_python = || of_python().map(str::to_owned);
    let shown = toolchain.or_else(dependency).or_else(of_python);
    shown.unwrap_or_else(|| local_part(file).to_owned())
}

fn last_folder(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, folder)| folder)
}

/// `candle_core` of `candle-core-0.9.1`.
fn crate_of_folder(folder: &str) -> String {
    let is_version = |text: &str| text.starts_with(|digit: char| digit.is_ascii_digit());
    let mut starts = folder.match_indices('-');
    let version = starts.find(|(at, _)| folder.get(at + 1..).is_some_and(is_version));
    let name = version.and_then(|(at, _)| folder.get(..at));
    name.unwrap_or(folder).replace('-', "_")
}

/// The path after a mark and so many folders.
fn after<'a>(file: &'a str, mark: &str, folders: usize) -> Option<&'a str> {
    let (_, mut rest) = file.split_once(mark)?;
    for _ in 0..folders {
        (_, rest) = rest.split_once('/')?;
    }
    Some(rest)
}

/// A path of the toolchain, from the folder of the crate on.
fn toolchain_part(file: &str) -> Option<&str> {
    // The hash of the compiler's commit.
    let rest = file.strip_prefix("/rustc/");
    let rest = rest.and_then(|rest| Some(rest.split_once('/')?.1));
    rest.map(|rest| rest.strip_prefix("library/").unwrap_or(rest))
        .or_else(|| file.strip_prefix("/rust/deps/"))
        .or_else(|| after(file, "/lib/rustlib/src/rust/library/", 0))
}

/// A path of a dependency, from the folder of the crate on.
fn dependency_part(file: &str) -> Option<String> {
    let vendored = || after(file, "/vendor/", 0);
    let part = path_in_registry(file).or_else(vendored).map(str::to_owned);
    part.or_else(|| path_in_checkout(file))
}

/// `half-2.4.1/src/lib.rs` of that path below `…/registry/src/index.crates.io-1949cf8c6b5b557f/`.
fn path_in_registry(file: &str) -> Option<&str> {
    let (index, part) = after(file, "/registry/src/", 0)?.split_once('/')?;
    without_hash(index).map(|_| part)
}

/// `cudarc/src/lib.rs` of `…/git/checkouts/cudarc-1949cf8c6b5b557f/4d5e6f7/src/lib.rs`.
fn path_in_checkout(file: &str) -> Option<String> {
    let (checkout, rest) = after(file, "/git/checkouts/", 0)?.split_once('/')?;
    let (commit, part) = rest.split_once('/')?;
    let repository = without_hash(checkout).filter(|_| is_hexadecimal(commit))?;
    Some(if part.starts_with("src/") {
        format!("{repository}/{part}")
    } else {
        part.to_owned()
    })
}

/// The name of one of cargo's folders, which a hash of 64 bits follows.
fn without_hash(folder: &str) -> Option<&str> {
    let (name, hash) = folder.rsplit_once('-')?;
    (hash.len() == 16 && is_hexadecimal(hash)).then_some(name)
}

fn is_hexadecimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// A path of an installed package of Python, from its folder on.
pub(super) fn python_package_part(file: &str) -> Option<&str> {
    let folders = ["/site-packages/", "/dist-packages/"];
    let (_, part) = folders.iter().find_map(|of| file.rsplit_once(of))?;
    Some(part)
}

/// A path of Python's standard library: what follows `…/lib/python3.12/`.
pub(super) fn python_library_part(file: &str) -> Option<&str> {
    let folders = ["/lib/python3.", "/lib64/python3."];
    let (_, rest) = folders.iter().find_map(|of| file.split_once(of))?;
    let (minor, part) = rest.split_once('/')?;
    let is_version = minor.bytes().all(|digit| digit.is_ascii_digit());
    is_version.then_some(part)
}

/// The program's path, from the folder of the package on.
fn local_part(file: &str) -> &str {
    let innermost = SOURCE_FOLDERS
        .iter()
        .filter_map(|folder| file.rfind(&format!("/{folder}/")));
    let Some(end) = innermost.max() else {
        return file;
    };
    let start = file.get(..end).and_then(|before| before.rfind('/'));
    let part = start.map_or(Some(file), |start| file.get(start + 1..));
    part.unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::{Package, package, shown_file};

    #[test]
    fn packages_and_shown_paths_are_those_of_the_file() {
        let dependency = |name: &str| Package::Dependency(name.to_owned());
        for (file, expected, shown) in [
            (
                "/r/registry/src/index.crates.io-1949cf8c6b5b557f/cudarc-0.19.4/src/driver/mod.rs",
                dependency("cudarc"),
                "cudarc-0.19.4/src/driver/mod.rs",
            ),
            (
                "/r/registry/src/crates.io-1949cf8c6b5b557f/candle-core-0.9.0-rc.1/src/lib.rs",
                dependency("candle_core"),
                "candle-core-0.9.0-rc.1/src/lib.rs",
            ),
            (
                "/r/git/checkouts/burn-1949cf8c6b5b557f/4d5e6f7/crates/burn-core/src/lib.rs",
                dependency("burn_core"),
                "crates/burn-core/src/lib.rs",
            ),
            (
                "/r/git/checkouts/mistral-rs-1949cf8c6b5b557f/4d5e6f7/src/driver/src/lib.rs",
                dependency("mistral_rs"),
                "mistral-rs/src/driver/src/lib.rs",
            ),
            (
                "/rustc/59807616e/library/alloc/src/boxed.rs",
                Package::Toolchain,
                "alloc/src/boxed.rs",
            ),
            (
                "/rust/deps/hashbrown-0.15.2/src/raw/mod.rs",
                Package::Toolchain,
                "hashbrown-0.15.2/src/raw/mod.rs",
            ),
            (
                "/opt/rust/lib/rustlib/src/rust/library/test/src/lib.rs",
                Package::Toolchain,
                "test/src/lib.rs",
            ),
            (
                "/w/vendor/half-2.4.1/src/lib.rs",
                dependency("half"),
                "half-2.4.1/src/lib.rs",
            ),
            (
                "/home/me/rustc/fork/src/lib.rs",
                Package::Local,
                "fork/src/lib.rs",
            ),
            (
                "/home/me/src/app/crates/a-b/src/b/c.rs",
                Package::Local,
                "a-b/src/b/c.rs",
            ),
            (
                "/home/me/src/app/tests/suite/one.rs",
                Package::Local,
                "app/tests/suite/one.rs",
            ),
            (
                "/home/me/app/examples/digits/src/gpu.rs",
                Package::Local,
                "digits/src/gpu.rs",
            ),
            ("app/src/main.rs", Package::Local, "app/src/main.rs"),
            ("/src/main.rs", Package::Local, "/src/main.rs"),
            ("src/main.rs", Package::Local, "src/main.rs"),
            ("/tmp/one.cpp", Package::Local, "/tmp/one.cpp"),
            ("", Package::Local, ""),
        ] {
            assert_eq!(package(file), expected, "{file}");
            assert_eq!(shown_file(file), shown);
        }
    }
}
