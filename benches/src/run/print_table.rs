//! Prints the table of a run.

use crate::outcome::{Outcome, Time, time};
use crate::promises::kib;
use crate::table::{Column, Table, wrapped};
use crate::table_rows::{CASES, Case, THREADS, case};

/// The numbers of threads whose ratio to the bare calls is shown.
const COMPARED: [u64; 2] = [1, 16];

pub(super) fn show(outcome: &Outcome, width: Option<usize>) {
    let texts = |texts: Vec<String>| {
        let lines = texts.into_iter();
        lines.flat_map(move |text| wrapped(&text, width))
    };
    let mut lines: Vec<String> = texts(head(outcome)).collect();
    for table in [
        times(outcome, false),
        times(outcome, true),
        memory(outcome),
        overhead(outcome),
        report(outcome),
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
    if simulated {
        format!("{} (simulated device)", case.label)
    } else {
        case.label.to_owned()
    }
}

/// The times of the rows with launches, or of those without.
fn times(outcome: &Outcome, gpu: bool) -> Table {
    let simulated = |time: &Time| gpu && time.simulated_device;
    let simulated = if outcome.times.iter().any(simulated) {
        ", simulated"
    } else {
        ""
    };
    let what = if gpu { "launch" } else { "call" };
    let mut columns = vec![column(format!("ns per {what}{simulated}"), false)];
    let mark = |threads| {
        if threads > outcome.machine.cores {
            "*"
        } else {
            ""
        }
    };
    for threads in THREADS {
        let head = if threads == 1 {
            "1 thread".to_owned()
        } else {
            format!("{threads} thr{}", mark(threads))
        };
        columns.push(column(head, false));
        columns.push(column("p25–p75", true));
    }
    for threads in COMPARED {
        columns.push(column(format!("× bare, {threads}"), threads > 1));
    }
    let row = |case: &Case| {
        let time = |threads| time(&outcome.times, case.name, threads);
        let shown = |of: Option<f64>| of.map_or_else(|| "–".to_owned(), |ns| format!("{ns:.1}"));
        let mut row = vec![case.label.to_owned()];
        for time in THREADS.map(time) {
            let quartiles = time.map(|time| time.quartiles);
            row.push(shown(quartiles.map(|of| of.median)));
            row.push(
                quartiles.map_or_else(String::new, |of| format!("{:.1}–{:.1}", of.p25, of.p75)),
            );
        }
        for ratio in COMPARED.map(|threads| time(threads)?.to_bare) {
            row.push(ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}")));
        }
        row
    };
    Table {
        columns,
        rows: (CASES.iter().filter(|case| case.gpu == gpu))
            .map(row)
            .collect(),
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

fn report(outcome: &Outcome) -> Table {
    let columns = [
        "report, ms",
        "threads",
        "snapshot",
        "table",
        "JSON",
        "counters",
    ];
    let rows = outcome.report.iter().map(|report| {
        let milliseconds = |time: f64| format!("{time:.1}");
        vec![
            format!("{} functions", calls(report.functions)),
            report.threads.to_string(),
            milliseconds(report.snapshot_ms),
            milliseconds(report.table_ms),
            milliseconds(report.json_ms),
            kib(report.counter_bytes.into()),
        ]
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
        "medians of {} rounds of all rows in turn, {} on 8 and 16 threads; figures include loop \
         and call",
        outcome.rounds,
        outcome.rounds.div_ceil(3)
    ));
    lines.push(
        "× bare: relative to two raw TSC reads; launches to events by hand, sampled ones to \
         launches; on 1 and on 16 threads"
            .into(),
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
