//! Where libcupti may lie. It is no part of the driver: it comes with the CUDA toolkit, or as a Python wheel.
//!
//! Must import nothing of gpuprof's.

use std::env;
use std::fs;
use std::path::Path;

/// Names a libcupti, which is then the only one tried. Read here and no part of the settings: a session of the program's own
/// looks there as well.
const CHOSEN: &str = "GPUPROF_CUPTI_LIBRARY";

const NAMES: [&str; 3] = ["libcupti.so.13", "libcupti.so.12", "libcupti.so"];

/// One place to try.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// For `dlopen`.
    pub(crate) name: String,
    /// Only if the process has it already.
    pub(crate) is_loaded: bool,
}

/// The user's choice.
pub(crate) fn chosen() -> Option<String> {
    let path = env::var(CHOSEN).ok()?;
    let path = path.trim();
    (!path.is_empty()).then(|| path.to_owned())
}

/// Every place, in order: what is loaded, what the loader finds, the toolkit's folders.
pub(crate) fn all() -> Vec<Place> {
    let root = |variable| env::var(variable).ok();
    listed(
        [root("CUDA_HOME"), root("CUDA_PATH")].into_iter().flatten(),
        Path::new("/usr/local/cuda"),
    )
}

fn listed(roots: impl Iterator<Item = String>, usual: &Path) -> Vec<Place> {
    let by_name = |is_loaded| {
        NAMES.iter().map(move |name| Place {
            name: (*name).to_owned(),
            is_loaded,
        })
    };
    let roots = roots.filter(|root| !root.is_empty());
    let mut folders: Vec<_> = roots
        .map(|root| Path::new(&root).join("extras/CUPTI/lib64"))
        .collect();
    folders.push(usual.join("extras/CUPTI/lib64"));
    let targets = fs::read_dir(usual.join("targets")).into_iter().flatten();
    folders.extend(targets.flatten().map(|target| target.path().join("lib")));
    let in_folders = folders.iter().flat_map(|folder| {
        NAMES
            .iter()
            .filter_map(|name| folder.join(name).to_str().map(str::to_owned))
            .map(|name| Place {
                name,
                is_loaded: false,
            })
    });
    by_name(true)
        .chain(by_name(false))
        .chain(in_folders)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::listed;
    use std::fs;

    #[test]
    fn what_is_loaded_comes_first_and_then_the_toolkits() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("targets/sbsa-linux/lib")).expect("a folder");
        let places = listed(
            ["/opt/cuda".to_owned(), String::new()].into_iter(),
            folder.path(),
        );
        let names: Vec<_> = places
            .iter()
            .map(|place| (place.name.as_str(), place.is_loaded))
            .collect();
        assert_eq!(names[0], ("libcupti.so.13", true));
        assert_eq!(names[3], ("libcupti.so.13", false));
        assert_eq!(
            names[6],
            ("/opt/cuda/extras/CUPTI/lib64/libcupti.so.13", false)
        );
        let target = folder.path().join("targets/sbsa-linux/lib/libcupti.so");
        assert_eq!(
            names.last(),
            Some(&(target.to_str().expect("UTF-8"), false))
        );
        assert_eq!(names.len(), 3 + 3 + 3 * 3);
    }
}
