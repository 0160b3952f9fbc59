//! What a stranger meets first: README and CONTRIBUTING, of some length, with a map on which every
//! folder of sources and every layer is; and the demo, which builds few packages.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::layers;
use super::parse_modules::rust_files;

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

/// One line for each file that the drawings of docs/architecture.md name and that does not exist.
pub(crate) fn drawn_without_a_file(repository: &Path) -> Vec<String> {
    let page = read(&repository.join("docs/architecture.md"));
    // Every other part is in a fence.
    let drawings = page.split("```").skip(1).step_by(2);
    let steps = drawings
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("  "));
    let files = steps.filter_map(|step| step.split(' ').next());
    let (drawn, lacking): (Vec<_>, Vec<_>) =
        files.filter(|file| file.contains('/')).partition(|file| {
            let at = repository.join(layers::RUNTIME).join(file);
            at.with_extension("rs").is_file() || at.join("mod.rs").is_file()
        });
    assert!(drawn.len() > 20, "the drawings are found: {drawn:?}");
    let problem = |file: &str| format!("docs/architecture.md draws {file}, which does not exist");
    lacking.into_iter().map(problem).collect()
}

/// The pages that name tests.
const PAGES_WITH_TESTS: [&str; 3] = [
    "docs/concurrency.md",
    "docs/driver-rules.md",
    "tests/sim/README.md",
];

/// One line for each test that a page names and that does not exist. A test has a name of several
/// words.
pub(crate) fn tests_that_are_gone(repository: &Path) -> Vec<String> {
    let sources = ["tests", "gpuprof-report/src", "gpuprof-runtime/src"]
        .map(|folder| repository.join(folder));
    let files = sources.iter().flat_map(|folder| rust_files(folder));
    let code: String = files.map(|file| read(&file)).collect();
    let mut problems = Vec::new();
    for name in PAGES_WITH_TESTS {
        let page = read(&repository.join(name));
        let words = page.split(|c: char| !c.is_alphanumeric() && c != '_');
        let tests: BTreeSet<&str> = words
            .filter(|word| word.matches('_').count() >= 3 && word.to_lowercase() == *word)
            .collect();
        assert!(!tests.is_empty(), "{name} names tests");
        let gone = tests
            .into_iter()
            .filter(|test| !code.contains(&format!("fn {test}(")));
        problems.extend(gone.map(|test| format!("{name} names {test}, which does not exist")));
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

/// The most packages that `cargo xtask demo` builds in a fresh clone. Wanted are at most 90 s on
/// two idle cores: with 63 it took 79 s on one machine and 121 s on another (2026-11-27).
const MOST_DEMO_PACKAGES: usize = 50;

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

/// A line if `gpuprof doctor` knows other CUDA versions than the cudarc in Cargo.lock, or names
/// another cudarc.
pub(crate) fn other_cuda_versions(repository: &Path) -> Option<String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .current_dir(repository)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let doctor = read(&repository.join("gpuprof-cli/src/machine/nvcc.rs"));
    let packages = metadata["packages"].as_array().expect("packages");
    let cudarc = packages.iter().find(|package| {
        let version = package["version"].as_str().expect("a version");
        package["name"] == "cudarc" && doctor.contains(&format!("\"{version}\""))
    });
    let Some(cudarc) = cudarc else {
        return Some("gpuprof doctor names a cudarc that is not in Cargo.lock".into());
    };
    // `cuda-13040`.
    let features = cudarc["features"].as_object().expect("features");
    let versions = features.keys().filter_map(|name| {
        let version: u32 = name.strip_prefix("cuda-")?.parse().ok()?;
        Some(format!(
            "    ({}, {}),",
            version / 1_000,
            version % 1_000 / 10
        ))
    });
    let mut unknown = versions.filter(|line| !doctor.contains(line));
    let unknown = unknown.next()?;
    Some(format!("gpuprof doctor lacks the CUDA version {unknown}"))
}
