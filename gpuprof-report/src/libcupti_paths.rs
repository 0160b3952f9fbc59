//! Where libcupti may be installed, for the program that opens it and the command that says whether
//! it could. The driver does not include it: it comes with the CUDA toolkit or as a Python wheel.

use std::env;
use std::fs;
use std::path::Path;

use crate::variables::CUPTI_LIBRARY;

/// Its file names, the newest first.
pub const NAMES: [&str; 3] = ["libcupti.so.13", "libcupti.so.12", "libcupti.so"];

/// A library to try.
#[derive(Debug, PartialEq, Eq)]
pub struct LibraryCandidate {
    /// For `dlopen`.
    pub name: String,
    /// Whether it is taken only if the process has loaded it already.
    pub only_if_loaded: bool,
}

/// The only library to try, if `GPUPROF_CUPTI_LIBRARY` names one.
#[must_use]
pub fn user_choice() -> Option<String> {
    let path = env::var(CUPTI_LIBRARY).ok()?;
    let path = path.trim();
    (!path.is_empty()).then(|| path.to_owned())
}

/// What to try otherwise, in order: loaded libraries, the loader's search path, the directories of
/// the toolkit.
#[must_use]
pub fn candidates() -> Vec<LibraryCandidate> {
    let root = |variable| env::var(variable).ok();
    candidates_in(
        [root("CUDA_HOME"), root("CUDA_PATH")].into_iter().flatten(),
        Path::new("/usr/local/cuda"),
    )
}

fn candidates_in(
    roots: impl Iterator<Item = String>,
    default_root: &Path,
) -> Vec<LibraryCandidate> {
    let by_name = |only_if_loaded| {
        NAMES.iter().map(move |name| LibraryCandidate {
            name: (*name).to_owned(),
            only_if_loaded,
        })
    };
    let roots = roots.filter(|root| !root.is_empty());
    let mut directories: Vec<_> = roots
        .map(|root| Path::new(&root).join("extras/CUPTI/lib64"))
        .collect();
    directories.push(default_root.join("extras/CUPTI/lib64"));
    let targets = fs::read_dir(default_root.join("targets"))
        .into_iter()
        .flatten();
    directories.extend(targets.flatten().map(|target| target.path().join("lib")));
    let in_directories = directories.iter().flat_map(|directory| {
        NAMES
            .iter()
            .filter_map(|name| directory.join(name).to_str().map(str::to_owned))
            .map(|name| LibraryCandidate {
                name,
                only_if_loaded: false,
            })
    });
    by_name(true)
        .chain(by_name(false))
        .chain(in_directories)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::candidates_in;
    use std::fs;

    #[test]
    fn loaded_libraries_come_first_and_toolkits_last() {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(root.path().join("targets/sbsa-linux/lib")).expect("a directory");
        let candidates = candidates_in(
            ["/opt/cuda".to_owned(), String::new()].into_iter(),
            root.path(),
        );
        let names: Vec<_> = candidates
            .iter()
            .map(|candidate| (candidate.name.as_str(), candidate.only_if_loaded))
            .collect();
        assert_eq!(names[0], ("libcupti.so.13", true));
        assert_eq!(names[3], ("libcupti.so.13", false));
        assert_eq!(
            names[6],
            ("/opt/cuda/extras/CUPTI/lib64/libcupti.so.13", false)
        );
        let target = root.path().join("targets/sbsa-linux/lib/libcupti.so");
        assert_eq!(
            names.last(),
            Some(&(target.to_str().expect("UTF-8"), false))
        );
        assert_eq!(names.len(), 3 + 3 + 3 * 3);
    }
}
