//! The tables as docs/fleets/tables.md lists them.

use std::collections::HashSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::tables::TABLES;

const BEGIN: &str = "<!-- The tables, written by a test of gpuprof-cli -->\n";
const END: &str = "<!-- The end of the tables -->\n";

/// A section for each table. What a table before has is only named.
fn sections() -> String {
    let mut known = HashSet::new();
    let mut text = String::new();
    for table in &TABLES {
        let columns = (table.columns)();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n## `{}`\n\n{}", table.name, table.about);
        let as_above: Vec<String> = columns
            .iter()
            .filter(|column| known.contains(*column))
            .map(|(name, ..)| format!("`{name}`"))
            .collect();
        if !as_above.is_empty() {
            let _ = writeln!(text, "\nAs above: {}.", as_above.join(", "));
        }
        if as_above.len() < columns.len() {
            text.push_str("\n| column | type | meaning |\n|---|---|---|\n");
        }
        for column in columns {
            let (name, sql_type, meaning) = &column;
            if !known.contains(&column) {
                let _ = writeln!(text, "| `{name}` | {sql_type} | {meaning} |");
            }
            known.insert(column);
        }
    }
    text.push('\n');
    text
}

#[test]
fn the_page_lists_every_table_and_column() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/fleets/tables.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (listed, after) = rest.split_once(END).unwrap();
    let sections = sections();
    if env::var_os("WRITE_FLEETS_PAGE").is_some() {
        fs::write(&path, [before, BEGIN, &sections, END, after].concat()).unwrap();
        return;
    }
    assert_eq!(
        listed, sections,
        "WRITE_FLEETS_PAGE=1 cargo test -p gpuprof-cli --features parquet page renews the page"
    );
}
