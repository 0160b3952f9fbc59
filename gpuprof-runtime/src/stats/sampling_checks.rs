//! Whether sampled figures are right: programs of calls with made-up durations go through the
//! decisions, rates, totals and estimates that a real program's calls do, many times with other
//! random numbers, and the estimates are compared with the truth (docs/sampling.md).

mod loads;
mod program;

use std::collections::BTreeMap;

use self::loads::{LOADS, Load};
pub(super) use self::program::SITES;
use self::program::{EstimatedFigure, run};

/// Runs of each load.
const RUNS: u64 = 200;
/// A figure of fewer runs is not judged alone.
const FEWEST_TO_JUDGE: u64 = 30;
/// Of these, the runs whose interval has to hold the truth, or that have none.
const COVERED: f64 = 0.9;
/// The same over all loads and figures.
const COVERED_OVERALL: f64 = 0.94;
/// How far the mean of all runs may be from the truth, beside three standard errors.
const BIAS: f64 = 0.02;
/// Drawn calls from which a figure has an interval, but for this share.
const ENOUGH: f64 = 100.0;
const WITHOUT_INTERVAL: f64 = 0.05;

/// What came of one figure of a load.
#[derive(Default)]
struct Coverage {
    runs: u64,
    covered: u64,
    without: u64,
    drawn: u64,
    /// Relative errors.
    sum: f64,
    squares: f64,
}

impl Coverage {
    fn add(&mut self, figure: &EstimatedFigure) {
        self.runs += 1;
        self.drawn += figure.drawn;
        let error = figure.estimate_ns as f64 - figure.truth_ns as f64;
        // Of rounding.
        let slack = 2.0 + 1e-6 * figure.truth_ns as f64;
        match figure.half_width_ns {
            Some(half) => self.covered += u64::from(error.abs() <= half as f64 + slack),
            None => self.without += 1,
        }
        let relative = error / figure.truth_ns as f64;
        self.sum += relative;
        self.squares += relative * relative;
    }

    fn covered(&self) -> f64 {
        (self.covered + self.without) as f64 / self.runs as f64
    }

    fn mean(&self) -> f64 {
        self.sum / self.runs as f64
    }

    fn deviation(&self) -> f64 {
        (self.squares / self.runs as f64).sqrt()
    }

    fn standard_error(&self) -> f64 {
        let variance = (self.squares / self.runs as f64 - self.mean().powi(2)).max(0.0);
        (variance / self.runs as f64).sqrt()
    }

    fn drawn(&self) -> f64 {
        self.drawn as f64 / self.runs as f64
    }

    fn without(&self) -> f64 {
        self.without as f64 / self.runs as f64
    }
}

/// `calls` of each function of each load, of `us` on average, `runs` times.
fn check(us: &[u64], calls: u64, runs: u64) {
    let (mut failures, mut covered, mut all) = (Vec::new(), 0, 0);
    for load in LOADS {
        for &us in us {
            let mut figures = BTreeMap::<String, Coverage>::new();
            for seed in 0..runs {
                for figure in run(load, us * 1_000, calls, seed) {
                    figures.entry(figure.name.clone()).or_default().add(&figure);
                }
            }
            print(load, us, calls, &figures);
            for (name, found) in figures {
                covered += found.covered + found.without;
                all += found.runs;
                let what = format!("{} {us} µs × {calls}, {name}", load.name);
                judge(&what, load, &found, runs, &mut failures);
            }
        }
    }
    let overall = covered as f64 / all as f64;
    println!("all {:.1} %", 100.0 * overall);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    // The figures of one run hang together.
    let independent = (LOADS.len() * us.len()) as f64 * runs as f64;
    let least = COVERED_OVERALL.min(0.95 - 4.0 * (0.05 * 0.95 / independent).sqrt());
    assert!(overall >= least, "{overall}");
}

fn judge(what: &str, load: &Load, found: &Coverage, runs: u64, failures: &mut Vec<String>) {
    // Few runs are off by more.
    if runs < FEWEST_TO_JUDGE {
        return;
    }
    let chance = 3.0 * (0.05 * 0.95 / runs as f64).sqrt();
    let least = COVERED.min(0.95 - chance);
    if found.covered() < least {
        failures.push(format!("{what}: covered {:.3}", found.covered()));
    }
    if found.mean().abs() > BIAS + 3.0 * found.standard_error() {
        failures.push(format!("{what}: off by {:.3}", found.mean()));
    }
    let is_enough = found.drawn() >= ENOUGH && load.has_intervals;
    if is_enough && found.without() > WITHOUT_INTERVAL + chance {
        failures.push(format!(
            "{what}: {:.3} without an interval",
            found.without()
        ));
    }
}

/// One row of the table in docs/sampling.md: the figure that is covered least.
fn print(load: &Load, us: u64, calls: u64, figures: &BTreeMap<String, Coverage>) {
    let least = figures
        .iter()
        .min_by(|(_, a), (_, b)| a.covered().total_cmp(&b.covered()));
    let Some((name, found)) = least else {
        return;
    };
    let drawn = figures
        .values()
        .map(Coverage::drawn)
        .fold(f64::INFINITY, f64::min);
    let without = figures.values().map(Coverage::without).fold(0.0, f64::max);
    let worst = figures
        .values()
        .map(Coverage::deviation)
        .fold(0.0, f64::max);
    let bias = figures
        .values()
        .map(|found| found.mean().abs())
        .fold(0.0, f64::max);
    println!(
        "| {} | {us} | {calls} | {drawn:.0} | {:.1} ({name}) | {:.1} | {:.2} | {:.2} |",
        load.name,
        100.0 * found.covered(),
        100.0 * without,
        100.0 * bias,
        100.0 * worst,
    );
}

/// All runs of the table, or the ones that take seconds.
fn is_whole() -> bool {
    std::env::var_os("GPUPROF_TEST_SAMPLING").is_some()
}

#[test]
fn intervals_of_300_calls_hold_the_truth() {
    check(&[2, 20, 200], 300, if is_whole() { RUNS } else { 100 });
}

#[test]
fn intervals_of_3000_calls_hold_the_truth() {
    check(&[2, 20, 200], 3_000, if is_whole() { RUNS } else { 30 });
}

#[test]
fn intervals_of_50000_calls_hold_the_truth() {
    if is_whole() {
        check(&[2, 20, 200], 50_000, RUNS)
    } else {
        check(&[20], 50_000, 4)
    }
}
