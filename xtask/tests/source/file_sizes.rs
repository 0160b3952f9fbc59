//! The size of source files.

use std::fs;
use std::path::Path;

use super::parse_modules::rust_files;

const MAX_LINES: usize = 400;
const MAX_COLUMNS: usize = 100;

/// One line for each file of the repository that is too long or too wide.
pub(crate) fn oversized(repository: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for path in rust_files(repository) {
        let text = fs::read_to_string(&path).expect("a readable file");
        let file = path
            .strip_prefix(repository)
            .expect("a file of the repository");
        let file = file.display().to_string();
        let lines = text.lines().count();
        if lines > MAX_LINES {
            problems.push(format!("{file} has {lines} lines"));
        }
        let wide: Vec<_> = (1..)
            .zip(text.lines())
            .filter(|(_, line)| line.chars().count() > MAX_COLUMNS)
            .map(|(number, _): (usize, _)| number.to_string())
            .collect();
        if !wide.is_empty() {
            problems.push(format!("{file} is too wide in line {}", wide.join(", ")));
        }
    }
    problems
}
