//! The text of a report, as tests read it.

use gpuprof::profile::Profile;
use gpuprof_report::table::{self, TableOptions};

/// The report with every row, column and line.
pub fn full_report(profile: &Profile) -> String {
    let mut options = TableOptions::default();
    options.full = true;
    let mut text = Vec::new();
    table::write(profile, &options, &mut text).expect("a Vec takes it");
    String::from_utf8(text).expect("text")
}

/// The name at the beginning of a row, without a mark and the branches of the call tree.
pub fn row_name(row: &str) -> &str {
    let is_name = |word: &&str| !word.chars().all(|c| "∅?!│├└─".contains(c));
    row.split_whitespace().find(is_name).unwrap_or_default()
}

/// The rows of the table whose heading begins so.
pub fn rows<'a>(report: &'a str, heading: &str) -> Vec<&'a str> {
    let is_heading = |line: &&str| line.trim_start().starts_with(heading);
    let lines = report.lines().skip_while(|line| !is_heading(line));
    lines.skip(1).take_while(|line| !line.is_empty()).collect()
}

/// The cells of the row of a function, by the end of its path, in the table with this heading.
///
/// # Panics
/// There is no such row.
pub fn cells<'a>(report: &'a str, heading: &str, name: &str) -> Vec<&'a str> {
    let rows = rows(report, heading);
    let is_of = |row: &&&str| {
        let path = row_name(row).strip_suffix(name);
        path.is_some_and(|path| path.is_empty() || path.ends_with("::"))
    };
    let row = rows
        .iter()
        .find(is_of)
        .unwrap_or_else(|| panic!("no row {name} below {heading} in {report}"));
    let (_, cells) = row.split_once(name).unwrap_or_default();
    cells.split_whitespace().collect()
}
