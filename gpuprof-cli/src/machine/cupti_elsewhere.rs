//! Where libcupti is often installed and programs do not look: Python environments, and toolkits
//! that `/usr/local/cuda` does not name.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use gpuprof_report::libcupti_paths::NAMES;

/// Folders below `nvidia` in a Python environment: the wheels of CUDA 13 and of CUDA 12.
const WHEELS: [&str; 2] = ["cu13/lib", "cuda_cupti/lib"];

/// Files that exist there, in the order in which to try them.
pub(crate) fn files() -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".local"));
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .map(env::var_os)
        .into_iter()
        .flatten()
        .map(PathBuf::from);
    let system = ["/usr/local", "/usr"].map(PathBuf::from);
    let prefixes: Vec<PathBuf> = environments.chain(home).chain(system).collect();
    files_in(&prefixes, &[Path::new("/usr/local"), Path::new("/opt")])
}

fn files_in(prefixes: &[PathBuf], toolkits: &[&Path]) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for prefix in prefixes {
        for python in subfolders(&prefix.join("lib"), "python3") {
            for packages in ["site-packages", "dist-packages"] {
                let nvidia = python.join(packages).join("nvidia");
                folders.extend(WHEELS.map(|wheel| nvidia.join(wheel)));
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheels_come_before_toolkits_and_only_what_exists_is_tried() {
        let root = tempfile::tempdir().expect("a folder");
        let wheel = "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13";
        let older = "venv/lib/python3.12/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12";
        let toolkits = ["12.8", "13.1"]
            .map(|version| format!("local/cuda-{version}/extras/CUPTI/lib64/libcupti.so"));
        for file in [
            wheel,
            older,
            &toolkits[0],
            &toolkits[1],
            "local/other/libcupti.so",
        ] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("inside")).expect("folders");
            fs::write(path, "").expect("a file");
        }
        let found = files_in(
            &[root.path().join("venv"), root.path().join("nowhere")],
            &[&root.path().join("local")],
        );
        let expected = [wheel, older, &toolkits[1], &toolkits[0]];
        assert_eq!(found, expected.map(|file| root.path().join(file)));
    }
}
