//! What README and CONTRIBUTING promise of themselves: their length, and a map on which every
//! folder of sources and every layer is.

use std::path::Path;

use super::layers;

/// The most lines of a document.
const LENGTHS: [(&str, usize); 2] = [("README.md", 200), ("CONTRIBUTING.md", 160)];

/// The crates whose folders are on the map one by one.
const SHIPPED: [&str; 5] = [
    "gpuprof-bench/src",
    "gpuprof-cli/src",
    "gpuprof-macros/src",
    "gpuprof-report/src",
    "gpuprof-runtime/src",
];

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One line for each document that is too long.
pub(crate) fn too_long(repository: &Path) -> Vec<String> {
    let lengths = LENGTHS.into_iter().map(|(name, most)| {
        let lines = read(&repository.join(name)).lines().count();
        (lines > most).then(|| format!("{name} has {lines} lines, {most} at most"))
    });
    lengths.flatten().collect()
}

/// One line for each folder that the map of CONTRIBUTING.md lacks, and for each layer that it names
/// and that does not exist.
pub(crate) fn off_the_map(repository: &Path) -> Vec<String> {
    let page = read(&repository.join("CONTRIBUTING.md"));
    let (_, map) = page.split_once("## The map").expect("the map");
    let (map, _) = map.split_once("## How to add").expect("its end");
    let mut problems = Vec::new();
    for crate_folder in SHIPPED {
        let listed = map.contains(&format!("{crate_folder}/"));
        if !listed {
            problems.push(format!("{crate_folder}/ is not on the map"));
        }
        for folder in subfolders(&repository.join(crate_folder)) {
            if !map.contains(&format!("{folder}/")) {
                problems.push(format!("{crate_folder}/{folder}/ is not on the map"));
            }
        }
    }
    for folder in subfolders(&repository.join("tests")) {
        if !map.contains(&format!("    {folder}/")) {
            problems.push(format!("tests/{folder}/ is not on the map"));
        }
    }
    let (_, layers) = map.split_once("within the runtime ").expect("the layers");
    let (layers, _) = layers.split_once('.').expect("their end");
    let names = layers.split(|c: char| !c.is_alphanumeric() && c != '_');
    for name in names.filter(|name| !name.is_empty()) {
        let at = repository.join(layers::RUNTIME).join(name);
        if !at.is_dir() && !at.with_extension("rs").is_file() {
            problems.push(format!("the layer {name} does not exist"));
        }
    }
    problems
}

/// The folders that hold sources, by name.
fn subfolders(folder: &Path) -> Vec<String> {
    let entries =
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let folders = entries
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
