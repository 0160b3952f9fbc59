//! Finds libclang where the build of the crate nvtx will look for it.
//!
//! The search follows the rules of the crate clang-sys (`build/common.rs`, `build/dynamic.rs` of
//! 1.9), because the build uses them. It opens the library by its file name, so `ldconfig` and
//! `pkg-config` do not matter.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where clang-sys would look on this machine.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// `LIBCLANG_PATH`: a file or a folder. If it is set, nothing else is searched.
    pub(super) explicit: Option<PathBuf>,
    /// Folders, in order.
    pub(super) folders: Vec<PathBuf>,
    /// Folders that hold `VERSION/include/stddef.h`, clang's own headers.
    pub(super) headers: Vec<PathBuf>,
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Library and headers.
    Complete,
    /// The library without headers, as in Debian's `libclang1`: the build then fails with
    /// `'stddef.h' file not found`.
    NoHeaders,
    /// `LIBCLANG_PATH` is set and there is no libclang there; installing one elsewhere would not
    /// help.
    WrongPath,
    /// No library.
    Nothing,
}

impl Search {
    /// The search on this machine.
    pub(super) fn here() -> Search {
        let mut folders = Vec::new();
        if let Some(prefix) = llvm_prefix() {
            folders.extend(["bin", "lib", "lib64"].map(|name| prefix.join(name)));
        }
        for variable in ["LD_LIBRARY_PATH", "LIBRARY_PATH"] {
            folders.extend(env::var_os(variable).iter().flat_map(env::split_paths));
        }
        let mut headers = Vec::new();
        for root in ["/usr/local", "/usr"].map(Path::new) {
            for lib in subfolders(root, "lib") {
                headers.push(lib.join("clang"));
                for llvm in subfolders(&lib, "llvm") {
                    headers.push(llvm.join("lib/clang"));
                }
                with_subfolders(&lib, 2, &mut folders);
            }
            for llvm in subfolders(root, "llvm") {
                headers.push(llvm.join("lib/clang"));
                folders.extend(subfolders(&llvm, "lib"));
            }
        }
        Search {
            explicit: env::var_os("LIBCLANG_PATH").map(PathBuf::from),
            folders,
            headers,
        }
    }

    /// Searches. For a library that the user named, the headers are assumed to exist.
    pub(super) fn run(&self) -> Found {
        if let Some(path) = &self.explicit {
            let named = path.is_file() && path.file_name().is_some_and(is_libclang);
            return if named || library_in(path).is_some() {
                Found::Complete
            } else {
                Found::WrongPath
            };
        }
        let Some(library) = self.folders.iter().find_map(|folder| library_in(folder)) else {
            return Found::Nothing;
        };
        // libclang also searches for headers beside its own file.
        let beside = library.parent().unwrap_or(Path::new("/")).join("clang");
        let complete = self.headers.iter().chain([&beside]).any(|folder| {
            subfolders(folder, "")
                .iter()
                .any(|version| version.join("include/stddef.h").is_file())
        });
        if complete {
            Found::Complete
        } else {
            Found::NoHeaders
        }
    }
}

/// The prefix that `llvm-config` answers, `LLVM_CONFIG_PATH` honoured as clang-sys does.
fn llvm_prefix() -> Option<PathBuf> {
    let program = env::var_os("LLVM_CONFIG_PATH").unwrap_or_else(|| "llvm-config".into());
    let output = Command::new(program).arg("--prefix").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output
        .status
        .success()
        .then(|| PathBuf::from(text.trim_end()))
}

/// The first file in `folder` that clang-sys takes for libclang.
fn library_in(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    let mut files = entries
        .flatten()
        .filter(|entry| is_libclang(&entry.file_name()));
    // A dangling link does not count.
    files.find_map(|entry| entry.path().canonicalize().ok())
}

/// `libclang.so`, `libclang.so.N`, `libclang-N.so`, `libclang-N.so.M`; not the C++ library.
fn is_libclang(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let plain = name == "libclang.so" || name.starts_with("libclang.so.");
    let versioned =
        name.starts_with("libclang-") && (name.ends_with(".so") || name.contains(".so."));
    (plain || versioned) && !name.contains("-cpp.")
}

/// The folders in `folder` whose name starts with `prefix`.
fn subfolders(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let named = entries.flatten().filter(|entry| {
        entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(prefix.as_bytes())
    });
    named
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}

/// Appends `folder` and the folders below it, `depth` levels deep.
fn with_subfolders(folder: &Path, depth: u32, out: &mut Vec<PathBuf>) {
    out.push(folder.into());
    if depth > 0 {
        for below in subfolders(folder, "") {
            with_subfolders(&below, depth - 1, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that stands for `/usr/lib`, with these empty files in it.
    fn machine(files: &[&str]) -> (tempfile::TempDir, Search) {
        let folder = tempfile::tempdir().expect("a folder");
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().expect("inside")).expect("folders");
            fs::write(path, "").expect("a file");
        }
        let mut search = Search {
            headers: vec![folder.path().join("clang")],
            ..Search::default()
        };
        with_subfolders(folder.path(), 2, &mut search.folders);
        (folder, search)
    }

    const HEADER: &str = "clang/14.0.6/include/stddef.h";

    #[test]
    fn every_name_that_distributions_use_is_found() {
        for library in [
            "libclang.so",
            "llvm-14/lib/libclang.so.1",
            "x/libclang-14.so.14.0.6",
            "x/libclang-3.9.so",
        ] {
            let (_folder, search) = machine(&[library, HEADER]);
            assert_eq!(search.run(), Found::Complete, "{library}");
        }
    }

    #[test]
    fn other_libraries_of_clang_do_not_count() {
        let (_folder, search) = machine(&[
            "libclang-cpp.so.14",
            "libclang-cpp.so",
            "libclangAST.so",
            HEADER,
        ]);
        assert_eq!(search.run(), Found::Nothing);
    }

    #[test]
    fn a_library_without_headers_is_not_enough() {
        let (folder, search) = machine(&["x86_64-linux-gnu/libclang-14.so.1"]);
        assert_eq!(search.run(), Found::NoHeaders);
        let beside = folder.path().join("x86_64-linux-gnu").join(HEADER);
        fs::create_dir_all(beside.parent().expect("inside")).expect("folders");
        fs::write(beside, "").expect("a file");
        assert_eq!(search.run(), Found::Complete);
    }

    #[test]
    fn the_users_path_may_be_a_file_or_a_folder_and_is_the_only_one() {
        let (folder, mut search) = machine(&["x/libclang.so.1", HEADER]);
        for (path, found) in [
            ("x/libclang.so.1", Found::Complete),
            ("x", Found::Complete),
            ("clang", Found::WrongPath),
        ] {
            search.explicit = Some(folder.path().join(path));
            assert_eq!(search.run(), found, "{path}");
        }
    }

    #[test]
    fn a_link_to_nothing_is_no_library() {
        let (folder, search) = machine(&[HEADER]);
        std::os::unix::fs::symlink("/nowhere/libclang.so", folder.path().join("libclang.so"))
            .expect("a link");
        assert_eq!(search.run(), Found::Nothing);
    }
}
