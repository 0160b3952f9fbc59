//! What a stranger meets first: README and CONTRIBUTING, of some length, with a map on which every
//! folder of sources and every layer is; and the demo, which builds few packages.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

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

/// The most packages that `cargo xtask demo` builds in a fresh clone: on two cores it took 102 s
/// with so many.
const MOST_DEMO_PACKAGES: usize = 63;

/// A line if the demo builds more packages.
pub(crate) fn slow_demo(repository: &Path) -> Option<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--package", "gpuprof-examples"])
        .arg("--no-default-features")
        .args(["--edges", "normal,build,dev", "--prefix", "none"])
        .current_dir(repository)
        .output()
        .expect("cargo runs");
    assert!(tree.status.success(), "{tree:?}");
    let text = String::from_utf8_lossy(&tree.stdout);
    // A name and a version, and what else is said of a package.
    let package = |line: &str| {
        let mut words = line.split(' ');
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    };
    let packages: BTreeSet<_> = text.lines().filter_map(package).collect();
    let built = packages.len();
    (built > MOST_DEMO_PACKAGES)
        .then(|| format!("the demo builds {built} packages, {MOST_DEMO_PACKAGES} at most"))
}
