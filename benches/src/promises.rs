//! gpuprof's promises about its cost, compared with the measurements.
//!
//! A broken time promise does not fail the program, because a busy machine is no defect. A broken
//! memory promise does, because memory does not depend on the load.

use crate::outcome::{
    KernelReport, Memory, Outcome, OverheadComparison, ReportTime, paired, ratio, time,
};
use crate::verdict::{Promise, Verdict};

/// Octaves of a duration histogram. Each is allocated at the first call in its range, which depends
/// on the machine's delays. Nothing else may be allocated after the warm-up, whatever the number of
/// calls.
const OCTAVES: u64 = 40;

/// Accepted growth of resident memory after the warm-up, in bytes: a few newly touched pages.
const GROWTH: i128 = 64 << 10;

/// Accepted ratio of clock reads on two threads to one thread, on a machine with two free cores.
/// Above it the machine is too busy to judge scaling.
const QUIET: f64 = 1.1;

/// The longest time of the report on 10,000 functions on 64 threads, in ms.
const REPORT_MS: f64 = 300.0;

/// The longest time, in ms, and the most memory of a profile of 10,000 kernels in 6 functions.
const KERNEL_REPORT_MS: f64 = 300.0;
const KERNEL_REPORT_BYTES: u64 = 100_000_000;

/// The most that the counters of all threads take.
const COUNTERS: u64 = 1 << 30;

/// The verdicts on all promises.
pub(crate) fn judge(outcome: &Outcome) -> Vec<Promise> {
    let mut promises = times(outcome);
    for memory in outcome.memory.iter().filter(|memory| memory.promised) {
        promises.extend(memory_promises(memory));
    }
    promises.extend(
        outcome
            .overhead
            .iter()
            .map(|cost| overhead(cost, outcome.short)),
    );
    let reports = outcome.report.iter();
    promises.extend(reports.flat_map(|report| report_promises(report, outcome.short)));
    let reports = outcome.kernel_report.iter();
    promises.extend(reports.flat_map(|report| kernel_report_promises(report, outcome.short)));
    promises
}

fn times(outcome: &Outcome) -> Vec<Promise> {
    let ns = |name: &str, threads| Some(time(&outcome.times, name, threads)?.ns.as_slice());
    let ratio_of = |above, below| Some(ratio(ns(above, 1)?, ns(below, 1)?));
    // What a layer takes beyond an empty one, in spans of gpuprof.
    let layer = |above, empty| {
        let beyond = paired(ns(above, 1)?, ns(empty, 1)?, |a, b| a - b);
        Some(beyond / paired(ns("span", 1)?, ns("span", 1)?, |span, _| span))
    };
    let scaling = |name| Some(ratio(ns(name, 2)?, ns(name, 1)?));
    let over = |name, nothing| Some(paired(ns(name, 1)?, ns(nothing, 1)?, |a, b| a - b));
    // Clock reads on two threads are independent: if they slow each other down, two cores were not
    // available. `Instant` takes about as long as a span, so it sees the same disturbances.
    let busy = scaling("instant").is_none_or(|ratio| ratio > QUIET);
    let times = |x: f64| format!("{x:.2} ×");
    let apart = |x: f64| match x.abs() {
        100.0.. => format!("{x:+.0} ns"),
        _ => format!("{x:+.1} ns"),
    };
    let at_most = |what: &str, measured: Option<f64>, most, shown: &dyn Fn(f64) -> String| {
        let verdict = match measured {
            None => Verdict::Missing,
            Some(_) if outcome.short => Verdict::Info,
            Some(measured) if measured <= most => Verdict::Pass,
            Some(_) => Verdict::Fail,
        };
        Promise {
            what: what.to_owned(),
            measured: measured.map_or_else(|| "–".to_owned(), shown),
            wanted: format!("≤ {}", shown(most).trim_start_matches('+')),
            verdict,
            strict: false,
        }
    };
    vec![
        at_most(
            "gpuprof / two raw TSC reads",
            ratio_of("span", "raw-tsc"),
            1.5,
            &times,
        ),
        at_most(
            "gpuprof / hotpath",
            ratio_of("span", "hotpath"),
            0.6,
            &times,
        ),
        match at_most(
            "gpuprof, 2 threads / 1 thread",
            scaling("span"),
            1.15,
            &times,
        ) {
            scaled if busy && scaled.verdict != Verdict::Missing => Promise {
                verdict: Verdict::Info,
                ..scaled
            },
            scaled => scaled,
        },
        at_most(
            "two Instant reads, 2 threads / 1 thread",
            scaling("instant"),
            QUIET,
            &times,
        ),
        at_most(
            "on a time line over gpuprof",
            over("time-line", "span"),
            15.0,
            &apart,
        ),
        at_most(
            "tracing layer over a filtered one / gpuprof",
            layer("tracing-gpuprof", "tracing-filtered"),
            1.3,
            &times,
        ),
        at_most(
            "the same, a stored span / gpuprof",
            layer("tracing-stored-gpuprof", "tracing-stored-filtered"),
            1.3,
            &times,
        ),
        at_most(
            "GPUPROF=off over nothing",
            over("off", "nothing"),
            1.5,
            &apart,
        ),
        // The instructions are compared in tests/switched-off; this is the variation of the loop
        // around them.
        at_most(
            "feature off over nothing",
            over("switched-off", "nothing-there"),
            0.5,
            &apart,
        ),
    ]
}

fn memory_promises(memory: &Memory) -> [Promise; 2] {
    let threads = match memory.threads {
        1 => "1 thread".to_owned(),
        threads => format!("{threads} threads"),
    };
    let judged = |good| if good { Verdict::Pass } else { Verdict::Fail };
    // The driver's memory is not gpuprof's, so its growth is not judged; it does not use the
    // counted allocator.
    let driver = memory.gpu;
    let what = if driver { "launches: " } else { "" };
    [
        Promise {
            what: format!("{what}allocations after warm-up, {threads}"),
            measured: memory.allocations.to_string(),
            wanted: format!("≤ {OCTAVES} a thread"),
            verdict: judged(memory.allocations <= OCTAVES * memory.threads),
            strict: true,
        },
        Promise {
            what: format!("{what}growth of resident memory, {threads}"),
            measured: kib(memory.growth()),
            wanted: format!("≤ {}", kib(GROWTH)),
            verdict: if driver {
                Verdict::Info
            } else {
                judged(memory.growth() <= GROWTH)
            },
            strict: !driver,
        },
    ]
}

fn report_promises(report: &ReportTime, short: bool) -> [Promise; 3] {
    let judged = |good| if good { Verdict::Pass } else { Verdict::Fail };
    let what = |of: &str| format!("report: {of}");
    [
        Promise {
            what: what("snapshot, table and JSON"),
            measured: format!("{:.0} ms", report.total_ms()),
            wanted: format!("≤ {REPORT_MS:.0} ms"),
            verdict: if short {
                Verdict::Info
            } else {
                judged(report.total_ms() <= REPORT_MS)
            },
            strict: false,
        },
        Promise {
            what: what("memory of the counters"),
            measured: kib(report.counter_bytes.into()),
            wanted: format!("≤ {}", kib(COUNTERS.into())),
            verdict: judged(report.counter_bytes <= COUNTERS),
            strict: true,
        },
        Promise {
            what: what("dropped calls"),
            measured: report.dropped_calls.to_string(),
            wanted: "0".to_owned(),
            verdict: judged(report.dropped_calls == 0),
            strict: true,
        },
    ]
}

fn kernel_report_promises(report: &KernelReport, short: bool) -> [Promise; 2] {
    let judged = |good| match (short, good) {
        (true, _) => Verdict::Info,
        (false, true) => Verdict::Pass,
        (false, false) => Verdict::Fail,
    };
    [
        Promise {
            what: "kernels: snapshot".to_owned(),
            measured: format!("{:.0} ms", report.snapshot_ms),
            wanted: format!("≤ {KERNEL_REPORT_MS:.0} ms"),
            verdict: judged(report.snapshot_ms <= KERNEL_REPORT_MS),
            strict: false,
        },
        Promise {
            what: "kernels: memory of a snapshot".to_owned(),
            measured: kib(report.peak_bytes.into()),
            wanted: format!("≤ {}", kib(KERNEL_REPORT_BYTES.into())),
            verdict: judged(report.peak_bytes <= KERNEL_REPORT_BYTES),
            strict: !short,
        },
    ]
}

fn overhead(cost: &OverheadComparison, short: bool) -> Promise {
    let [measured, reported] = cost.medians();
    let off = (reported / measured - 1.0) * 100.0;
    let verdict = if short || cost.simulated_device {
        Verdict::Info
    } else if off.abs() <= 30.0 {
        Verdict::Pass
    } else {
        Verdict::Fail
    };
    Promise {
        what: format!("{}: overhead, reported / from outside", cost.name),
        measured: format!("{off:+.0} %"),
        wanted: "± 30 %".to_owned(),
        verdict,
        strict: false,
    }
}

/// Bytes as KiB or MiB.
pub(crate) fn kib(bytes: i128) -> String {
    match bytes.abs() {
        ..=1_048_575 => format!("{} KiB", bytes / 1024),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(allocations: u64, resident_end_bytes: u64) -> Memory {
        Memory {
            name: "span",
            threads: 1,
            calls: 10,
            warm_up: 1,
            gpu: false,
            simulated_device: false,
            promised: true,
            allocations,
            allocated_bytes: 0,
            resident_warm_bytes: 1 << 20,
            resident_end_bytes,
        }
    }

    #[test]
    fn more_than_the_histograms_or_a_growing_memory_breaks_the_promise() {
        let verdicts = |memory| memory_promises(&memory).map(|promise| promise.verdict);
        assert_eq!(verdicts(memory(0, 1 << 20)), [Verdict::Pass; 2]);
        assert_eq!(verdicts(memory(0, 1 << 19)), [Verdict::Pass; 2]);
        assert_eq!(
            verdicts(memory(OCTAVES * 4 + 1, 2 << 20)),
            [Verdict::Fail; 2]
        );
    }

    #[test]
    fn a_slow_report_fails_and_a_short_run_is_not_judged_by_time() {
        let report = |ms, dropped_calls| ReportTime {
            functions: 1,
            threads: 1,
            snapshot_ms: ms,
            table_ms: 1.0,
            json_ms: 1.0,
            counter_bytes: COUNTERS,
            dropped_calls,
        };
        let verdicts =
            |report, short| report_promises(&report, short).map(|promise| promise.verdict);
        let [pass, fail, info] = [Verdict::Pass, Verdict::Fail, Verdict::Info];
        assert_eq!(verdicts(report(298.0, 0), false), [pass; 3]);
        assert_eq!(verdicts(report(299.0, 1), false), [fail, pass, fail]);
        assert_eq!(verdicts(report(299.0, 0), true), [info, pass, pass]);
    }

    #[test]
    fn the_simulated_device_is_never_judged() {
        let cost = |simulated_device| OverheadComparison {
            name: "span",
            calls: 1,
            simulated_device,
            measured_ns: vec![10.0],
            reported_ns: vec![14.0],
        };
        assert_eq!(overhead(&cost(false), false).verdict, Verdict::Fail);
        assert_eq!(overhead(&cost(true), false).verdict, Verdict::Info);
        assert_eq!(overhead(&cost(false), true).verdict, Verdict::Info);
    }
}
