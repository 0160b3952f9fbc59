//! The run as text: one table, which is Markdown and readable as it stands.
//!
//! Must never import: anything that runs or measures.

use std::fmt::Write;

use crate::check::{Row, Verdict};
use crate::outcome::Outcome;

const HEAD: [&str; 4] = ["check", "measured", "wanted", "verdict"];
/// Wider columns are not padded: one long answer must not push all others off the screen.
const WIDEST: usize = 60;

/// Head, table, promises and closing line.
pub(crate) fn markdown(outcome: &Outcome) -> String {
    let mut text = String::from("# gpuprof on this machine\n\n");
    text.push_str(&head(outcome));
    text.push('\n');
    text.push_str(&table(outcome));
    text.push_str("\nWhat each check holds:\n\n");
    for part in &outcome.parts {
        // A text can always be written to.
        let _ = writeln!(
            text,
            "- {} ({:.1} s): {}",
            part.name, part.seconds, part.promise
        );
    }
    let _ = writeln!(text, "\n{}", closing(outcome));
    text
}

/// What ran where, and what of it is no measurement.
pub(crate) fn head(outcome: &Outcome) -> String {
    let machine = &outcome.machine;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "- {name}: {value}");
    };
    line(
        "device",
        &format!("{} ({} in all)", machine.device, machine.devices),
    );
    line(
        "driver",
        &format!("{}, CUDA {}", machine.driver, machine.cuda),
    );
    line(
        "host",
        &format!(
            "{} ({} processors), {}",
            machine.cpu, machine.cpus, machine.kernel
        ),
    );
    line("gpuprof", &outcome.gpuprof);
    line("date", &outcome.date);
    line("command", &format!("`{}`", outcome.command));
    if machine.simulated {
        line("note", "simulated device: no time here is a measurement");
    }
    if outcome.short {
        line("note", "short run: counts too small for a measurement");
    }
    text
}

/// The rows of all checks.
pub(crate) fn table(outcome: &Outcome) -> String {
    let mut rows = vec![HEAD.map(String::from)];
    for part in &outcome.parts {
        rows.extend(part.rows.iter().map(|row| cells(&part.name, row)));
    }
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.filter(|width| *width <= WIDEST).max().unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2), width(3)];
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let padded = row.iter().zip(widths);
        let padded: Vec<_> = padded
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        let _ = writeln!(text, "| {} |", padded.join(" | "));
        if index == 0 {
            let _ = writeln!(text, "|{}|", widths.map(|w| "-".repeat(w + 2)).join("|"));
        }
    }
    text
}

/// How many rows ended how.
pub(crate) fn closing(outcome: &Outcome) -> String {
    format!(
        "{} as wanted, {} not, {} told, {} not answered here",
        outcome.count(Verdict::Good),
        outcome.count(Verdict::Bad),
        outcome.count(Verdict::Told),
        outcome.count(Verdict::NotHere)
    )
}

fn cells(part: &str, row: &Row) -> [String; 4] {
    let verdict = match row.verdict {
        Verdict::Good => "good",
        Verdict::Bad => "BAD",
        Verdict::Told => "told",
        Verdict::NotHere => "not here",
    };
    [
        cell(&format!("{part}: {}", row.what)),
        cell(&row.measured),
        cell(&row.wanted),
        verdict.into(),
    ]
}

/// One line, without what would end a cell.
fn cell(text: &str) -> String {
    let lines: Vec<_> = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    lines.join(" / ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Machine, Part};

    fn outcome(rows: Vec<Row>) -> Outcome {
        let machine = Machine {
            device: "Some GPU".into(),
            devices: 1,
            simulated: true,
            driver: "1.2".into(),
            cuda: "13.0".into(),
            cpu: "Some CPU".into(),
            cpus: 2,
            kernel: "Linux 6".into(),
        };
        Outcome {
            gpuprof: "0.1.0".into(),
            date: "2026-01-01T00:00:00Z".into(),
            command: "gpu-checks".into(),
            short: true,
            machine,
            parts: vec![Part {
                name: "one".into(),
                promise: "It holds.".into(),
                seconds: 1.25,
                rows,
            }],
        }
    }

    #[test]
    fn a_row_is_one_line_of_four_cells() {
        let outcome = outcome(vec![
            Row::held("a|b", "first\n\nsecond", "third", false),
            Row::told("c", "d".repeat(70)),
        ]);
        let text = table(&outcome);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[2].starts_with("| one: a\\|b | first / second | third "));
        assert!(lines[2].ends_with("| BAD     |"), "{text}");
        // The long cell does not widen the others.
        assert!(lines[2].chars().count() < 60, "{text}");
    }

    #[test]
    fn the_page_says_what_is_no_measurement_and_counts_the_verdicts() {
        let text = markdown(&outcome(vec![
            Row::held("a", "1", "1", true),
            Row::not_here("b", "one device"),
        ]));
        assert!(text.contains("simulated device: no time here is a measurement"));
        assert!(text.contains("- one (1.2 s): It holds.\n"), "{text}");
        assert!(text.ends_with("\n1 as wanted, 0 not, 0 told, 1 not answered here\n"));
    }
}
