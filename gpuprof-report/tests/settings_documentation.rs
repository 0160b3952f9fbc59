//! The documentation of the settings agrees with their table in the code.

use std::fs;
use std::path::Path;

use gpuprof_report::variables::VARIABLES;

/// Text of a file of the repository.
fn text(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Markdown without code marks, and links without their targets.
fn plain(markdown: &str) -> String {
    let mut plain = String::new();
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once("](") {
        plain.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain.replace(['`', '['], "")
}

/// The rows of the table of settings: lines that begin with a variable's name in a cell.
fn rows(text: &str) -> Vec<String> {
    let rows = text.lines().filter(|line| line.starts_with("| `GPUPROF"));
    rows.map(plain).collect()
}

#[test]
fn the_documentation_lists_the_settings_as_the_code_has_them() {
    let expected = VARIABLES.map(|variable| {
        let cells = [
            variable.name,
            variable.default,
            variable.accepts,
            variable.meaning,
        ];
        format!("| {} |", plain(&cells.join(" | ")))
    });
    assert_eq!(rows(&text("docs/settings.md")), expected);
}

#[test]
fn the_crate_documentation_describes_every_setting_as_the_code_does() {
    let text = text("src/lib.rs");
    let lines = text.lines().filter_map(|line| line.strip_prefix("//! "));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let page = words.join(" ").replace('`', "");
    for variable in VARIABLES {
        let entry = format!(
            "- {}: {}. Takes {}; default: {}.",
            variable.name, variable.meaning, variable.accepts, variable.default
        );
        assert!(page.contains(&entry), "src/lib.rs lacks: {entry}");
    }
    let entries = page.matches("- GPUPROF").count();
    assert_eq!(entries, VARIABLES.len());
}

#[test]
fn every_setting_of_a_window_has_a_builder_method() {
    for file in [
        "gpuprof-runtime/src/session/measuring_session.rs",
        "src/disabled.rs",
    ] {
        let text = text(file);
        for method in VARIABLES.iter().filter_map(|variable| variable.builder) {
            let signature = format!("pub fn {method}(");
            assert!(text.contains(&signature), "{file} has no {method}");
        }
    }
}
