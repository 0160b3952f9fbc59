//! Where libcupti may be installed, for the program that opens it and the command that says whether
//! it could. The driver does not include it: it comes with the CUDA toolkit or as a Python wheel.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::variables::CUPTI_LIBRARY;

/// Its file names, the newest first.
const NAMES: [&str; 3] = ["libcupti.so.13", "libcupti.so.12", "libcupti.so"];

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

/// What to try otherwise, in order: loaded libraries, the loader's search path, the folders of the
/// toolkit, Python environments, and toolkits that `/usr/local/cuda` does not name.
pub fn candidates() -> impl Iterator<Item = LibraryCandidate> {
    let root = |variable| env::var(variable).ok();
    let usual = candidates_in(
        [root("CUDA_HOME"), root("CUDA_PATH")].into_iter().flatten(),
        Path::new("/usr/local/cuda"),
    );
    // Folders are listed only if nothing else is found.
    let elsewhere = std::iter::once_with(|| {
        let toolkits = [Path::new("/usr/local"), Path::new("/opt")];
        files_in(&python_packages(), &toolkits)
    });
    let elsewhere = elsewhere.flatten().filter_map(|file| {
        Some(LibraryCandidate {
            name: file.to_str()?.to_owned(),
            only_if_loaded: false,
        })
    });
    usual.into_iter().chain(elsewhere)
}

/// The folders of packages of the Python program that this is, if it is one, and of the
/// environments that are active or the system's.
fn python_packages() -> Vec<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut folders = loaded_packages(&maps);
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".local"));
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].map(env::var_os);
    let environments = environments.into_iter().flatten().map(PathBuf::from);
    let system = ["/usr/local", "/usr"].map(PathBuf::from);
    for prefix in environments.chain(home).chain(system) {
        for python in subfolders(&prefix.join("lib"), "python3") {
            folders.extend(PACKAGES.map(|packages| python.join(packages)));
        }
    }
    folders
}

/// Names of the folders of Python packages.
const PACKAGES: [&str; 2] = ["site-packages", "dist-packages"];

/// The folders of packages that a process has loaded libraries from, by its list of mappings.
fn loaded_packages(maps: &str) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for mapping in maps.lines() {
        let path = mapping.splitn(6, ' ').nth(5).unwrap_or_default();
        let path = Path::new(path.trim_start());
        let is_packages = |folder: &&Path| PACKAGES.iter().any(|name| folder.ends_with(name));
        if let Some(folder) = path.ancestors().find(is_packages)
            && !folders.iter().any(|known| known == folder)
        {
            folders.push(folder.to_owned());
        }
    }
    folders
}

/// Folders below `nvidia` among Python packages: the wheels of CUDA 13 and of CUDA 12.
const WHEELS: [&str; 2] = ["cu13/lib", "cuda_cupti/lib"];

/// The files that exist, in the order in which to try them.
fn files_in(packages: &[PathBuf], toolkits: &[&Path]) -> Vec<PathBuf> {
    let wheels = packages.iter().flat_map(|packages| {
        let nvidia = packages.join("nvidia");
        WHEELS.map(|wheel| nvidia.join(wheel))
    });
    let mut folders: Vec<PathBuf> = wheels.collect();
    for root in toolkits {
        let toolkits = subfolders(root, "cuda").into_iter();
        folders.extend(toolkits.map(|toolkit| toolkit.join("extras/CUPTI/lib64")));
    }
    let files = folders
        .iter()
        .flat_map(|folder| NAMES.map(|name| folder.join(name)));
    files.filter(|file| file.is_file()).collect()
}

/// The folders in `folder` whose name starts with `prefix`, by name from the last.
fn subfolders(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| {
        let name = entry.file_name();
        name.as_encoded_bytes().starts_with(prefix.as_bytes())
    });
    let mut folders: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    folders.sort_unstable_by(|a, b| b.cmp(a));
    folders
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
    use super::{candidates_in, files_in, loaded_packages};
    use std::fs;
    use std::path::Path;

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

    #[test]
    fn wheels_come_before_other_toolkits_and_only_what_exists_is_tried() {
        let root = tempfile::tempdir().expect("a folder");
        let packages = "venv/lib/python3.12/site-packages";
        let wheel = format!("{packages}/nvidia/cu13/lib/libcupti.so.13");
        let older = format!("{packages}/nvidia/cuda_cupti/lib/libcupti.so.12");
        let toolkits = ["12.8", "13.1"]
            .map(|version| format!("local/cuda-{version}/extras/CUPTI/lib64/libcupti.so"));
        for file in [
            &wheel,
            &older,
            &toolkits[0],
            &toolkits[1],
            "local/other/libcupti.so",
        ] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("inside")).expect("folders");
            fs::write(path, "").expect("a file");
        }
        let found = files_in(
            &[root.path().join(packages), root.path().join("nowhere")],
            &[&root.path().join("local")],
        );
        let expected = [&wheel, &older, &toolkits[1], &toolkits[0]];
        assert_eq!(found, expected.map(|file| root.path().join(file)));
    }

    #[test]
    fn packages_are_found_by_the_libraries_that_are_loaded() {
        let maps = "\
7f00-7f10 r-xp 00000000 fe:00 7                     /opt/py/lib/python3.11/site-packages/numpy/a.so
7f20-7f30 r--p 00000000 fe:00 7                     /opt/py/lib/python3.11/site-packages/numpy/a.so
7f40-7f50 r-xp 00000000 fe:00 8                     /usr/lib/python3/dist-packages/x y/b.so
7f60-7f70 rw-p 00000000 00:00 0
7f80-7f90 r-xp 00000000 fe:00 9                     /usr/lib/libc.so.6
";
        let expected = [
            "/opt/py/lib/python3.11/site-packages",
            "/usr/lib/python3/dist-packages",
        ];
        assert_eq!(loaded_packages(maps), expected.map(Path::new));
    }
}
