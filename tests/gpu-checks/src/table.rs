//! The result of a run as one Markdown table.

use std::fmt::Write;

use crate::check::{Row, Verdict};
use crate::outcome::Outcome;

const HEAD: [&str; 4] = ["check", "measured", "wanted", "verdict"];
/// Columns are padded to at most this width, so that one long cell does not widen every row.
const WIDEST: usize = 60;

/// The complete page: machine, table, promises and totals.
pub(crate) fn markdown(outcome: &Outcome) -> String {
    let mut text = String::from("# gpuprof on this machine\n\n");
    text.push_str(&head(outcome));
    text.push('\n');
    text.push_str(&table(outcome));
    text.push_str("\nWhat each check promises:\n\n");
    for part in &outcome.parts {
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            text,
            "- {} ({:.1} s): {}",
            part.name, part.seconds, part.promise
        );
    }
    let _ = writeln!(text, "\n{}", closing(outcome));
    text
}

/// The machine and the command, and a note if the times are not measurements.
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

/// The number of rows with each verdict.
pub(crate) fn closing(outcome: &Outcome) -> String {
    format!(
        "{} passed, {} failed, {} for information, {} not available",
        outcome.count(Verdict::Pass),
        outcome.count(Verdict::Fail),
        outcome.count(Verdict::Info),
        outcome.count(Verdict::Unavailable)
    )
}

fn cells(part: &str, row: &Row) -> [String; 4] {
    let verdict = match row.verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "FAIL",
        Verdict::Info => "info",
        Verdict::Unavailable => "n/a",
    };
    [
        cell(&format!("{part}: {}", row.what)),
        cell(&row.measured),
        cell(&row.wanted),
        verdict.into(),
    ]
}

/// The text on one line, with `|` escaped.
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
            Row::judged("a|b", "first\n\nsecond", "third", false),
            Row::info("c", "d".repeat(70)),
        ]);
        let text = table(&outcome);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[2].starts_with("| one: a\\|b | first / second | third "));
        assert!(lines[2].ends_with("| FAIL    |"), "{text}");
        // The long cell does not widen the other columns.
        assert!(lines[2].chars().count() < 60, "{text}");
    }

    #[test]
    fn the_page_says_what_is_no_measurement_and_counts_the_verdicts() {
        let text = markdown(&outcome(vec![
            Row::judged("a", "1", "1", true),
            Row::unavailable("b", "one device"),
        ]));
        assert!(text.contains("simulated device: no time here is a measurement"));
        assert!(text.contains("- one (1.2 s): It holds.\n"), "{text}");
        assert!(text.ends_with("\n1 passed, 0 failed, 0 for information, 1 not available\n"));
    }
}
