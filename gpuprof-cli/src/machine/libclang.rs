//! Finds libclang, which builds with the feature `nvtx` load at build time.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Levels of folders below those of libraries that are searched: `/usr/lib/llvm-19/lib`.
const DEPTH: u32 = 2;

/// The first libclang that is found: where `LIBCLANG_PATH` says and nowhere else, or else in the
/// folders of libraries.
pub(crate) fn find() -> Option<PathBuf> {
    if let Some(path) = env::var_os("LIBCLANG_PATH").map(PathBuf::from) {
        let is_library = path.is_file() && path.file_name().is_some_and(is_libclang);
        return if is_library {
            Some(path)
        } else {
            library_in(&path, 0)
        };
    }
    let variable = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let stated = env::split_paths(&variable).filter(|folder| !folder.as_os_str().is_empty());
    if let Some(found) = stated.into_iter().find_map(|folder| library_in(&folder, 0)) {
        return Some(found);
    }
    let roots = [
        "/usr/local/lib",
        "/usr/lib",
        "/usr/lib64",
        "/usr/local/lib64",
    ];
    roots
        .iter()
        .find_map(|root| library_in(Path::new(root), DEPTH))
}

/// The first libclang in `folder` and the folders below it, `depth` levels deep.
fn library_in(folder: &Path, depth: u32) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in entries.flatten() {
        if is_libclang(&entry.file_name()) {
            files.push(entry.path());
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            folders.push(entry.path());
        }
    }
    files.sort_unstable();
    // A dangling link does not count.
    if let Some(found) = files.into_iter().find(|file| file.exists()) {
        return Some(found);
    }
    let below = depth.checked_sub(1)?;
    folders.sort_unstable();
    folders.iter().find_map(|folder| library_in(folder, below))
}

/// `libclang.so`, `libclang.so.N`, `libclang-N.so`, `libclang-N.so.M`; not the C++ library.
fn is_libclang(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let rest = name.strip_prefix("libclang");
    let plain = rest.is_some_and(|rest| rest == ".so" || rest.starts_with(".so."));
    let versioned = rest.is_some_and(|rest| {
        rest.starts_with('-') && (rest.ends_with(".so") || rest.contains(".so."))
    });
    (plain || versioned) && !name.contains("-cpp.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_by_its_names_and_no_deeper_than_asked() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for file in [
            "libclang-cpp.so.19",
            "libclangAST.so",
            "a/b/c/libclang.so",
            "llvm-19/lib/libclang-19.so.19",
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("inside")).expect("folders");
            fs::write(path, "").expect("a file");
        }
        std::os::unix::fs::symlink("/nowhere", root.join("libclang.so")).expect("a link");
        assert_eq!(library_in(root, 0), None);
        let found = root.join("llvm-19/lib/libclang-19.so.19");
        assert_eq!(library_in(root, 2), Some(found));
        assert_eq!(library_in(&root.join("nowhere"), 2), None);
    }
}
