//! Prints the table of a run.

use super::THREADS;
use crate::outcome::{Outcome, time};
use crate::promises::kib;
use crate::table::{Column, Table, wrapped};
use crate::table_rows::{CASES, Case, case};

pub(super) fn show(outcome: &Outcome, width: Option<usize>) {
    let texts = |texts: Vec<String>| {
        let lines = texts.into_iter();
        lines.flat_map(move |text| wrapped(&text, width))
    };
    let mut lines: Vec<String> = texts(head(outcome)).collect();
    for table in [
        times(outcome),
        memory(outcome),
        overhead(outcome),
        promises(outcome),
    ] {
        if !table.rows.is_empty() {
            lines.push(String::new());
            lines.extend(table.lines(width));
        }
    }
    lines.extend(texts(notes(outcome)));
    for line in lines {
        println!("{line}");
    }
}

fn head(outcome: &Outcome) -> Vec<String> {
    let machine = &outcome.machine;
    let mut lines = vec![
        format!(
            "{}, {} cores; device: {}",
            machine.processor, machine.cores, machine.device
        ),
        machine.versions.join(", "),
    ];
    if outcome.short {
        lines
            .push("a short run: it only shows that the benchmark works; times mean nothing".into());
    }
    lines
}

fn column(head: impl Into<String>, spare: bool) -> Column {
    Column {
        head: head.into(),
        spare,
    }
}

/// A row's label, with a note for the simulated device.
fn label(case: &Case, simulated: bool) -> String {
    match simulated {
        true => format!("{} (simulated device)", case.label),
        false => case.label.to_owned(),
    }
}

fn times(outcome: &Outcome) -> Table {
    let mut columns = vec![column("ns per call", false)];
    for threads in THREADS {
        let mark = if threads > outcome.machine.cores {
            "*"
        } else {
            ""
        };
        let head = if threads == 1 {
            "1 thread".to_owned()
        } else {
            format!("{threads} thr{mark}")
        };
        columns.push(column(head, false));
        columns.push(column("p25–p75", true));
    }
    columns.push(column("× bare", false));
    let row = |case: &Case| {
        let found = THREADS.map(|threads| time(&outcome.times, case.name, threads));
        let simulated = found[0].is_some_and(|time| time.simulated_device);
        let mut row = vec![label(case, simulated)];
        for time in found {
            let quartiles = time.map(|time| time.quartiles);
            let shown =
                |of: Option<f64>| of.map_or_else(|| "–".to_owned(), |ns| format!("{ns:.1}"));
            row.push(shown(quartiles.map(|of| of.median)));
            row.push(
                quartiles.map_or_else(String::new, |of| format!("{:.1}–{:.1}", of.p25, of.p75)),
            );
        }
        let to_bare = found[0].and_then(|time| time.to_bare);
        row.push(to_bare.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}")));
        row
    };
    Table {
        columns,
        rows: CASES.iter().map(row).collect(),
    }
}

/// A short form of a round count.
fn calls(calls: u64) -> String {
    match calls {
        _ if calls.is_multiple_of(1_000_000) => format!("{} M", calls / 1_000_000),
        _ if calls.is_multiple_of(1_000) => format!("{} k", calls / 1_000),
        _ => calls.to_string(),
    }
}

fn memory(outcome: &Outcome) -> Table {
    let columns = ["memory", "thr", "calls", "allocs", "resident", "growth"];
    let rows = outcome.memory.iter().filter_map(|memory| {
        Some(vec![
            label(case(memory.name)?, memory.simulated_device),
            memory.threads.to_string(),
            calls(memory.calls),
            memory.allocations.to_string(),
            kib(memory.resident_warm_bytes.into()),
            kib(memory.growth()),
        ])
    });
    Table {
        columns: columns.map(|head| column(head, false)).into(),
        rows: rows.collect(),
    }
}

fn overhead(outcome: &Outcome) -> Table {
    let columns = ["overhead, ns per call", "calls", "reported", "from outside"];
    let rows = outcome.overhead.iter().filter_map(|cost| {
        let [measured, reported] = cost.medians();
        Some(vec![
            label(case(cost.name)?, cost.simulated_device),
            calls(cost.calls),
            format!("{reported:.1}"),
            format!("{measured:.1}"),
        ])
    });
    Table {
        columns: columns.map(|head| column(head, false)).into(),
        rows: rows.collect(),
    }
}

fn promises(outcome: &Outcome) -> Table {
    let columns = ["promise", "measured", "wanted", "verdict"];
    let rows = outcome.promises.iter().map(|promise| {
        vec![
            promise.what.clone(),
            promise.measured.clone(),
            promise.wanted.clone(),
            promise.verdict.word().to_owned(),
        ]
    });
    Table {
        columns: columns.map(|head| column(head, false)).into(),
        rows: rows.collect(),
    }
}

fn notes(outcome: &Outcome) -> Vec<String> {
    let mut lines = vec![String::new()];
    lines.push(format!(
        "medians of {} rounds of all rows in turn; figures include loop and call",
        outcome.rounds
    ));
    lines.push(
        "× bare: relative to two raw TSC reads, launches to events by hand; on 1 thread".into(),
    );
    if THREADS
        .iter()
        .any(|&threads| threads > outcome.machine.cores)
    {
        lines.push("* more threads than cores: times include waiting for a core".into());
    }
    if outcome.times.iter().any(|time| time.simulated_device) {
        lines.push("simulated device: the driver is a model on the CPU; not GPU figures".into());
    }
    let remarks = outcome
        .remarks
        .iter()
        .map(|remark| format!("not measured: {remark}"));
    lines.extend(remarks);
    lines
}
