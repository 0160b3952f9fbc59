//! Promise: a build without the feature `enable` has the same sessions, settings and functions,
//! with the same signatures, so that a library compiles in both builds.

use std::collections::BTreeSet;
use std::path::Path;

/// The signatures of all public functions, in one line each, without what differs in a function
/// that ignores its parameters.
fn signatures(source: &str) -> BTreeSet<String> {
    let functions = source.match_indices("pub fn ").map(|(start, _)| {
        let signature = source[start..].split('{').next().unwrap();
        let words: Vec<&str> = signature.split_whitespace().collect();
        let one_line = words.join(" ").replace("( ", "(").replace(", )", ")");
        one_line
            .replace("mut self", "self")
            .replace("(_", "(")
            .replace(", _", ", ")
            // cudarc's types have the trait in the measuring build only.
            .replace("S: HasStream", "S")
    });
    functions.collect()
}

#[test]
fn every_function_of_sessions_exists_with_the_same_signature() {
    let disabled = signatures(include_str!("../../../src/disabled.rs"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gpuprof-runtime/src/session");
    // What is public in the folders is of features that imply `enable`, such as `metrics`.
    let current_span = folder.join("../span/thread_state/current_span.rs");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .chain([current_span]);
    let mut measuring: BTreeSet<String> = files
        .flat_map(|file| signatures(&std::fs::read_to_string(file).unwrap()))
        .collect();
    // Methods of `Site`, which generated code alone uses.
    measuring.retain(|signature| !signature.contains("&'static self"));
    assert!(measuring.len() > 10, "{measuring:#?}");
    let missing: Vec<&String> = measuring.difference(&disabled).collect();
    assert!(missing.is_empty(), "src/disabled.rs lacks {missing:#?}");
}
