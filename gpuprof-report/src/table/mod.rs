//! The report: what ran, what to do first, and where the time went.
//!
//! In the order of the text: `header`, `look_first`, `call_tree`, `functions` (full reports only),
//! `activities`, `why` with `stalls` and `stall_rows` (full reports only), `launch_lines`, `memory`
//! with `memory_lines`, `ranks` and `late_steps` (merged profiles only), `diagnostics` with
//! `coverage`, `legend`, `budget`, `counters`, `stalls` and `records`, `hidden`, `commands`.
//! `row` computes the values of a row and `qualifiers` how far they can be trusted, `tree_rows` and
//! `kept_rows` walk the call tree, `columns` lists the columns, `quantity` chooses their units,
//! `number` formats numbers, `grid` aligns cells and fits them to the terminal. `page_parts` gives
//! the same rows, columns and lines to the HTML page.

mod activities;
mod budget;
mod call_tree;
mod columns;
mod commands;
mod counters;
mod coverage;
mod diagnostics;
mod function_name;
mod functions;
mod grid;
mod header;
mod hidden;
mod kept_rows;
mod label_rows;
mod late_steps;
mod launch_lines;
mod legend;
mod look_first;
mod memory;
mod memory_lines;
mod number;
mod options;
#[cfg(feature = "html")]
pub(crate) mod page_parts;
mod peak;
mod qualifiers;
mod quantity;
mod ranks;
mod records;
mod row;
mod stall_rows;
mod stalls;
mod tree_rows;
mod why;
mod words;

use std::fmt;
use std::io::{self, Write};

#[cfg(feature = "analysis")]
pub(crate) use number::size;
pub(crate) use number::{count, duration, prefixed_rate};

use crate::profile::{Function, Profile};
pub use crate::setting_values::Sort;
use hidden::Hidden;
use legend::Marks;
pub use options::{FULL_REPORT, TableOptions};

/// The report as in a pipe; nothing for a profile without a call and without records.
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(self, &TableOptions::default()))
    }
}

/// Writes the report in one piece; nothing for a profile without a call.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(text(profile, options).as_bytes())
}

fn text(profile: &Profile, options: &TableOptions) -> String {
    if !has_run(profile) {
        return String::new();
    }
    let mut text = String::from("\n");
    let mut hidden = Hidden::default();
    header::write(profile, options, &mut text);
    text.push('\n');
    look_first::write(profile, options, &mut hidden, &mut text);
    let mut marks = Marks::default();
    if !profile.tree.is_empty() {
        marks = call_tree::write(profile, options, &mut hidden, &mut text);
    }
    if has_functions(profile) && (profile.tree.is_empty() || options.full) {
        marks = marks.and(functions::write(profile, options, &mut hidden, &mut text));
    }
    activities::write(profile, options, &mut hidden, &mut text);
    why::write(profile, options, &mut text);
    stall_rows::write(profile, options, &mut hidden, &mut text);
    activities::write_calls(profile, options, &mut hidden, &mut text);
    launch_lines::write(profile, options, &mut hidden, &mut text);
    memory::write(profile, options, &mut hidden, &mut text);
    ranks::write(profile, options, &mut hidden, &mut text);
    late_steps::write(profile, options, &mut hidden, &mut text);
    diagnostics::write(profile, marks, options, &mut text);
    hidden.write(profile, options, &mut text);
    if options.full {
        commands::write(profile, options, &mut text);
    }
    text
}

/// Whether a call has begun, or CUPTI has recorded something.
fn has_run(profile: &Profile) -> bool {
    has_functions(profile) || profile.tree.iter().any(row::has_run) || profile.has_records()
}

/// Whether a call has begun.
fn has_functions(profile: &Profile) -> bool {
    profile.functions.iter().any(Function::has_run)
}
