//! From whose package a source file is, and how its path is shown.

/// Whose file a source file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Package {
    /// The standard library, the test harness, and what they are built with.
    Toolchain,
    /// Of a registry, a git repository or a `vendor` folder: the crate, as Rust writes it.
    Dependency(String),
    /// Neither: the program's, or a dependency's at a path. The package's folder, as Rust writes
    /// it; empty if the path does not have it.
    Local(String),
}

/// Folders that hold the source files of a package.
const SOURCE_FOLDERS: [&str; 4] = ["src", "tests", "examples", "benches"];

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
    let shown = local_part(file);
    let folder = shown.split_once('/').map_or("", |(folder, _)| folder);
    Package::Local(match SOURCE_FOLDERS.contains(&folder) {
        true => String::new(),
        false => crate_of_folder(folder),
    })
}

/// A path from the folder of its package on.
pub(super) fn shown_file(file: &str) -> String {
    let toolchain = toolchain_part(file).map(str::to_owned);
    let dependency = || dependency_part(file);
    let shown = toolchain.or_else(dependency);
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
    // The folder of the index.
    let registry = after(file, "/registry/src/", 1).or_else(|| after(file, "/vendor/", 0));
    registry.map(str::to_owned).or_else(|| of_checkout(file))
}

/// `cudarc/src/lib.rs` of `…/git/checkouts/cudarc-1a2b3c/4d5e6f/src/lib.rs`.
fn of_checkout(file: &str) -> Option<String> {
    let (checkout, rest) = after(file, "/git/checkouts/", 0)?.split_once('/')?;
    let (_commit, part) = rest.split_once('/')?;
    if !part.starts_with("src/") {
        return Some(part.to_owned());
    }
    let repository = checkout.rsplit_once('-').map_or(checkout, |(name, _)| name);
    Some(format!("{repository}/{part}"))
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
        let local = |name: &str| Package::Local(name.to_owned());
        for (file, expected, shown) in [
            (
                "/r/registry/src/index-1/cudarc-0.19.4/src/driver/mod.rs",
                dependency("cudarc"),
                "cudarc-0.19.4/src/driver/mod.rs",
            ),
            (
                "/r/registry/src/index-1/candle-core-0.9.0-rc.1/src/lib.rs",
                dependency("candle_core"),
                "candle-core-0.9.0-rc.1/src/lib.rs",
            ),
            (
                "/r/git/checkouts/burn-1a2b3c/4d5e6f/crates/burn-core/src/lib.rs",
                dependency("burn_core"),
                "crates/burn-core/src/lib.rs",
            ),
            (
                "/r/git/checkouts/mistral-rs-1a2b/4d5e/src/driver/src/lib.rs",
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
                local("fork"),
                "fork/src/lib.rs",
            ),
            (
                "/home/me/src/app/crates/a-b/src/b/c.rs",
                local("a_b"),
                "a-b/src/b/c.rs",
            ),
            (
                "/home/me/src/app/tests/suite/one.rs",
                local("app"),
                "app/tests/suite/one.rs",
            ),
            (
                "/home/me/app/examples/digits/src/gpu.rs",
                local("digits"),
                "digits/src/gpu.rs",
            ),
            ("app/src/main.rs", local("app"), "app/src/main.rs"),
            ("/src/main.rs", local(""), "/src/main.rs"),
            ("src/main.rs", local(""), "src/main.rs"),
            ("/tmp/one.cpp", local(""), "/tmp/one.cpp"),
            ("", local(""), ""),
        ] {
            assert_eq!(package(file), expected, "{file}");
            assert_eq!(shown_file(file), shown);
        }
    }
}
