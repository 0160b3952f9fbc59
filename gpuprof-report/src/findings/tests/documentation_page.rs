//! The texts of docs/findings.md are not compiled into users' programs.

use std::path::PathBuf;
use std::process::Command;

use crate::findings::{RULES, page};

#[test]
fn a_library_with_findings_has_the_rules_and_not_the_texts_of_their_page() {
    let library = std::fs::read(library()).unwrap();
    let library = String::from_utf8_lossy(&library);
    let has = |text: &str| library.contains(text);
    assert!(has("load it once with CudaContext::load_module"), "advice");
    let page = page();
    for rule in RULES {
        let texts = &rule.page;
        let reasons = texts.thresholds.iter().map(|threshold| threshold.page.why);
        // A shorter text could be a part of another.
        let reasons = reasons.filter(|why| why.len() > 40);
        for text in [texts.when, texts.gain].into_iter().chain(reasons) {
            assert!(page.contains(text), "{text}");
            assert!(!has(text), "{text}");
        }
    }
    assert!(page.starts_with("# Findings\n") && !has("# Findings\n"));
}

/// This crate, built as programs with gpuprof have it.
fn library() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--lib", "--package", "gpuprof-report"])
        .args(["--features", "table,demangle", "--message-format=json"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let lines = String::from_utf8(output.stdout).unwrap();
    let is_this = |line: &&str| line.contains("\"name\":\"gpuprof_report\",\"src_path\"");
    let files = lines
        .lines()
        .find(is_this)
        .and_then(|line| line.split_once("\"filenames\":[\""))
        .unwrap_or_else(|| panic!("cargo built no gpuprof-report\n{lines}"))
        .1;
    let file = files.split_once('"').unwrap().0;
    assert!(file.ends_with(".rlib"), "{file}");
    file.into()
}
