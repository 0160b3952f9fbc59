//! Which rooms and packages may import which, and where unsafe code may be.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::imports::Graph;
use super::parse_modules;

/// The folder whose rooms are layered.
pub(crate) const RUNTIME: &str = "gpuprof-runtime/src";

/// The rooms of the runtime from top to bottom. A room may import those of its own layer and of the
/// layers below.
const LAYERS: [&[&str]; 7] = [
    &["lib", "injection", "macro_support"],
    &["nvtx_ranges", "tracing_layer"],
    &["session"],
    &["span"],
    &["collector"],
    &["gpu", "cupti", "stats", "recorder", "nvml"],
    &[
        "driver",
        "site",
        "settings",
        "os",
        "nvtx",
        "clock",
        "sync",
        "diagnostic_lines",
    ],
];

/// Where the runtime has unsafe code: each operation has a reason there.
const UNSAFE: [&str; 11] = [
    "driver/",
    "gpu/stream/",
    "gpu/thread/inherit.rs",
    "cupti/collect/",
    "nvml/library.rs",
    "nvtx.rs",
    "os/",
    "session/elf_note.rs",
    "session/exit.rs",
    "session/signals.rs",
    "stats/concurrent_histogram.rs",
];

/// Which packages of the workspace a package may depend on. `None`: it is free.
fn allowed_dependencies(package: &str) -> Option<&'static [&'static str]> {
    match package {
        "gpuprof-macros" | "gpuprof-report" => Some(&[]),
        "gpuprof-runtime" | "gpuprof-cli" => Some(&["gpuprof-report"]),
        "gpuprof-bench" => Some(&["gpuprof-report", "gpuprof-runtime"]),
        "gpuprof" => Some(&[
            "gpuprof-bench",
            "gpuprof-macros",
            "gpuprof-report",
            "gpuprof-runtime",
        ]),
        "simbase" | "simcuda" | "simcupti" | "simnvml" | "xtask" => Some(&[]),
        _ => None,
    }
}

/// One line for each room of the layers that does not exist.
pub(crate) fn missing(repository: &Path) -> Vec<String> {
    let folder = repository.join(RUNTIME);
    let rooms = LAYERS.into_iter().flatten();
    let missing = rooms.filter(|room| {
        let at = folder.join(room);
        !at.is_dir() && !at.with_extension("rs").is_file()
    });
    missing
        .map(|room| format!("the room {room} of the layers does not exist"))
        .collect()
}

/// One line for each import from a room into a higher one.
pub(crate) fn upward(graph: &Graph) -> Vec<String> {
    let mut problems = Vec::new();
    for (importer, imported) in graph {
        for imported in imported {
            match (layer(importer), layer(imported)) {
                (Some(from), Some(to)) if from <= to => {}
                (Some(_), Some(_)) => problems.push(format!("{importer} imports {imported}")),
                _ => problems.push(format!("{importer} or {imported} is in no layer")),
            }
        }
    }
    problems
}

fn layer(file: &str) -> Option<usize> {
    let inside = file.strip_prefix(RUNTIME)?.strip_prefix('/')?;
    let room = inside.split(['/', '.']).next()?;
    LAYERS.iter().position(|rooms| rooms.contains(&room))
}

/// One line for each file with unsafe code outside of [`UNSAFE`], and each room there without any.
pub(crate) fn unsafe_code(repository: &Path) -> Vec<String> {
    let mut seen: BTreeMap<&str, bool> = UNSAFE.iter().map(|room| (*room, false)).collect();
    let mut problems = Vec::new();
    for module in parse_modules::of_crate(repository, RUNTIME).values() {
        if !module.identifiers.contains("unsafe") {
            continue;
        }
        let inside = &module.file[RUNTIME.len() + 1..];
        match seen.iter_mut().find(|(room, _)| inside.starts_with(**room)) {
            Some((_, seen)) => *seen = true,
            None => problems.push(format!("{} has unsafe code", module.file)),
        }
    }
    let unused = seen.into_iter().filter(|(_, seen)| !seen);
    problems.extend(unused.map(|(room, _)| format!("{room} has none any more")));
    problems
}

/// One line for each dependency between packages that is not allowed.
pub(crate) fn forbidden_dependencies(repository: &Path) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--offline",
        ])
        .current_dir(repository)
        .output()
        .expect("cargo");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let names: Vec<&str> = packages
        .iter()
        .filter_map(|package| package["name"].as_str())
        .collect();
    let mut problems = Vec::new();
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        let Some(allowed) = allowed_dependencies(name) else {
            continue;
        };
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            // A package's own tests may use what they like, except that a simulator must not need
            // what is tested on it.
            let is_for_tests = dependency["kind"] == "dev" && name.starts_with("gpuprof");
            let wanted = dependency["name"].as_str().expect("a name");
            if names.contains(&wanted)
                && !allowed.contains(&wanted)
                && !is_for_tests
                && (name.starts_with("gpuprof") || wanted.starts_with("gpuprof"))
            {
                problems.push(format!("{name} depends on {wanted}"));
            }
        }
    }
    problems
}
