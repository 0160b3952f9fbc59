//! Promise: switched off, gpuprof adds no dependency except the attribute and its plain data types,
//! and every example compiles.

use std::path::Path;
use std::process::Command;

#[test]
fn no_dependency_of_the_run_time_is_built() {
    let arguments = [
        "tree",
        "-p",
        "gpuprof",
        "--no-default-features",
        "-e",
        "normal",
        "--no-dedupe",
        "--prefix",
        "none",
        "-f",
        "{lib}",
    ];
    let tree = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .unwrap();
    assert!(
        tree.status.success(),
        "{}",
        String::from_utf8_lossy(&tree.stderr)
    );
    let mut built: Vec<String> = String::from_utf8(tree.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    built.sort();
    built.dedup();
    let attribute = [
        "gpuprof",
        "gpuprof_macros",
        "gpuprof_report",
        "proc_macro2",
        "quote",
        "strsim",
        "syn",
        "unicode_ident",
    ];
    assert_eq!(built, attribute);
}

#[test]
fn every_example_is_compiled_here() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(here.join("Cargo.toml")).unwrap();
    let mut examples = 0;
    for entry in std::fs::read_dir(here.join("../../examples")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".rs") {
            examples += 1;
            let path = format!("path = \"../../examples/{name}\"");
            assert!(
                manifest.contains(&path),
                "tests/switched-off/Cargo.toml lacks {path}"
            );
        }
    }
    assert!(examples > 0);
}
