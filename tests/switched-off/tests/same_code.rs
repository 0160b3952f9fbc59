//! Promise: switched off, the attribute and `scope!` add no instruction. The same source is
//! compiled with and without them, optimized, and both assemblies are identical.
//!
//! Compiled separately, because within one program the compiler merges identical functions.

use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/same_code/functions.rs");

/// The functions that must be present for the comparison to be valid.
const FUNCTIONS: [&str; 9] = [
    "leaf",
    "saxpy",
    "early",
    "panics",
    "forward",
    "of_bytes",
    "polled",
    "scoped",
    "scoped_with_a_stream",
];

#[test]
fn no_instruction_is_added() {
    let gpuprof = library();
    let plain = assembly(&gpuprof, "plain");
    for function in FUNCTIONS {
        assert!(plain.contains(&format!("\n{function}:\n")), "no {function}");
    }
    // The comparison is sensitive: one counter in one function is visible.
    assert!(difference(&plain, &assembly(&gpuprof, "touched")).is_some());
    if let Some(difference) = difference(&plain, &assembly(&gpuprof, "annotated")) {
        panic!("annotated functions are other machine code\n{difference}");
    }
}

/// The optimized switched-off gpuprof that this package depends on.
fn library() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--release", "--lib", "--package", "switched-off"])
        .arg("--message-format=json")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    // One line per library; a JSON parser would be a dependency for this alone.
    let lines = String::from_utf8(output.stdout).unwrap();
    let line = lines
        .lines()
        .find(|line| line.contains("\"name\":\"gpuprof\",\"src_path\""));
    let files = line
        .and_then(|line| line.split_once("\"filenames\":[\""))
        .unwrap_or_else(|| panic!("cargo built no gpuprof\n{lines}"))
        .1;
    let file = files.split_once('"').unwrap().0;
    assert!(file.ends_with(".rlib"), "{file}");
    file.into()
}

/// The assembly of the source under one `--cfg`, without lines about its origin.
fn assembly(gpuprof: &Path, cfg: &str) -> String {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("same_code_{cfg}.s"));
    let folder = gpuprof.parent().unwrap();
    // The library is beside its dependencies or one folder above them.
    let dependencies = if folder.ends_with("deps") {
        folder.into()
    } else {
        folder.join("deps")
    };
    let path = |prefix: &str, path: &Path| format!("{prefix}={}", path.display());
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--crate-type", "lib", "--crate-name", "functions"])
        .args(["--edition", "2024", "--cap-lints", "allow"])
        .args(["-C", "opt-level=3", "-C", "codegen-units=1"])
        .args(["--cfg", cfg, "--extern", &path("gpuprof", gpuprof)])
        .args(["-L", &path("dependency", &dependencies)])
        .args(["--emit", &path("asm", &file), SOURCE])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{cfg}: {said}");
    std::fs::read_to_string(file).unwrap()
}

/// The first lines that differ.
fn difference(one: &str, other: &str) -> Option<String> {
    let mut pairs = one.lines().zip(other.lines());
    match pairs.find(|(one, other)| one != other) {
        Some((one, other)) => Some(format!("- {one}\n+ {other}")),
        None if one.lines().count() != other.lines().count() => Some("one ends early".into()),
        None => None,
    }
}
