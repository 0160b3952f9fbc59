//! Two implementations of the same, measured in turn, with their outputs checked against each
//! other.

use std::fmt;

use crate::bench::{Bench, device_of};
use crate::error::{BenchError, WithPurpose};
use crate::measure::CannotRun;
use crate::measurement::{CallMode, Results, Stopped};
use crate::memory_meter::MemoryMeter;
use crate::output_agreement::{Agreement, OutputValues, Tolerance};
use crate::statistics::Statistics;
use crate::table;
use crate::variant::Variant;

/// A comparison that has not run yet; see [`Bench::compare`].
#[derive(Debug)]
#[must_use]
pub struct Comparing<'a> {
    bench: Bench,
    baseline: Variant<'a>,
    candidate: Variant<'a>,
    tolerance: Tolerance,
    speedup: Option<f64>,
    memory: Option<f64>,
}

impl Bench {
    /// A comparison of two implementations of the same, which [`run`](Comparing::run) measures in
    /// turn. Bytes and operations are those of both.
    pub fn compare<'a>(self, baseline: Variant<'a>, candidate: Variant<'a>) -> Comparing<'a> {
        Comparing {
            bench: self,
            baseline,
            candidate,
            tolerance: Tolerance::default(),
            speedup: None,
            memory: None,
        }
    }
}

impl Comparing<'_> {
    /// How far the outputs may be apart: `absolute + relative · |baseline|` for each value;
    /// default: not at all.
    pub const fn tolerance(mut self, absolute: f64, relative: f64) -> Self {
        self.tolerance = Tolerance::new(absolute, relative);
        self
    }

    /// Requires that the baseline's time over the candidate's is above this number in every mode.
    /// It is shown if the 95 % confidence interval is above it.
    pub const fn require_speedup(mut self, above: f64) -> Self {
        self.speedup = Some(above);
        self
    }

    /// Requires that the candidate takes at most this many times the baseline's device memory.
    pub const fn require_memory(mut self, at_most: f64) -> Self {
        self.memory = Some(at_most);
        self
    }

    /// Sets both up, compares the outputs of their first calls, and measures them in turn: a sample
    /// of each a round, until the ratio of their times is known as well as the benchmark's rule
    /// wants a median. If the outputs differ, nothing is measured.
    ///
    /// # Errors
    /// There is no stream, a call of CUDA fails, or a closure returns an error. What is required
    /// and not shown is no error here: see [`Comparison::check`].
    pub fn run(self) -> Result<Comparison, BenchError> {
        let Self {
            bench,
            mut baseline,
            mut candidate,
            tolerance,
            speedup,
            memory,
        } = self;
        let device = device_of(bench.usable_stream()?.context());
        let (first, baseline_bytes) = prepare(&bench, &mut baseline)?;
        let (second, candidate_bytes) = prepare(&bench, &mut candidate)?;
        let agreement = Agreement::of(&*first, &*second, tolerance);
        drop((first, second));
        let results = |variant: &Variant<'_>| {
            let named = bench.clone().parameter("implementation", &variant.name);
            named.results(device.clone())
        };
        let mut compared = Comparison {
            name: bench.name().to_owned(),
            names: (baseline.name.clone(), candidate.name.clone()),
            baseline: results(&baseline),
            candidate: results(&candidate),
            speedups: Vec::new(),
            agreement,
            memory_bytes: (baseline_bytes, candidate_bytes),
            requirements: Vec::new(),
        };
        if bench.tries() {
            return Ok(compared);
        }
        if compared.agreement.is_within() {
            compared.measure(&bench, &mut baseline, &mut candidate)?;
        }
        compared.judge(bench.modes.len(), speedup, memory);
        Ok(compared)
    }
}

/// Sets an implementation up and calls it once. Returns its output, and the memory that it took.
fn prepare(
    bench: &Bench,
    variant: &mut Variant<'_>,
) -> Result<(Box<dyn OutputValues>, u64), BenchError> {
    let stream = bench.usable_stream()?;
    let memory = MemoryMeter::begin(stream)?;
    variant.implementation.set_up()?;
    variant.implementation.call()?;
    stream.synchronize().to("wait for the stream")?;
    let bytes = memory.taken_bytes()?;
    Ok((variant.implementation.output()?, bytes))
}

/// How much faster a candidate is in one mode.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Speedup {
    /// How calls were made.
    pub mode: CallMode,
    /// Median over the rounds of the baseline's time over the candidate's: above 1, the candidate
    /// is faster.
    pub median: f64,
    /// Its 95 % confidence interval; `None` with fewer than 6 rounds.
    pub ci95: Option<(f64, f64)>,
    /// Rounds, with a sample of each.
    pub rounds: usize,
    /// Why there were no more.
    pub stopped: Stopped,
}

/// Something that was required of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Requirement {
    /// What, and what was found.
    pub text: String,
    /// Whether the measurement shows it.
    pub is_shown: bool,
}

/// What a comparison has found. Its text is a table, and what was found in words.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// Name of the benchmark, with its arguments.
    pub name: String,
    /// Names of the baseline and the candidate.
    pub names: (String, String),
    /// The baseline's times.
    pub baseline: Results,
    /// The candidate's times.
    pub candidate: Results,
    /// In the order of the modes.
    pub speedups: Vec<Speedup>,
    /// How the outputs compare.
    pub agreement: Agreement,
    /// Device memory that the baseline and the candidate take at most, bytes.
    pub memory_bytes: (u64, u64),
    /// What was required.
    pub requirements: Vec<Requirement>,
}

impl Comparison {
    /// Whether the outputs agree and everything that is required is shown.
    ///
    /// # Errors
    /// [`BenchError::Unmet`], which says what is not.
    pub fn check(&self) -> Result<(), BenchError> {
        if !self.agreement.is_within() {
            return Err(BenchError::Unmet(self.agreement.to_string()));
        }
        let not_shown = self.requirements.iter().filter(|one| !one.is_shown);
        let unmet: Vec<&str> = not_shown.map(|one| one.text.as_str()).collect();
        if unmet.is_empty() {
            Ok(())
        } else {
            Err(BenchError::Unmet(format!(
                "not shown: {}",
                unmet.join("; ")
            )))
        }
    }

    fn measure(
        &mut self,
        bench: &Bench,
        baseline: &mut Variant<'_>,
        candidate: &mut Variant<'_>,
    ) -> Result<(), BenchError> {
        let mut first = || baseline.implementation.call();
        let mut second = || candidate.implementation.call();
        for (mode, measured) in bench.measure(&mut [&mut first, &mut second])? {
            let mut rounds = match measured {
                Ok(rounds) => rounds,
                Err(CannotRun { at, why }) => {
                    let (own, other) = match at {
                        0 => (&mut self.baseline, &mut self.candidate),
                        _ => (&mut self.candidate, &mut self.baseline),
                    };
                    own.not_measured.push((mode, why));
                    let why = "the other implementation cannot run so".to_owned();
                    other.not_measured.push((mode, why));
                    continue;
                }
            };
            self.candidate
                .measurements
                .extend(rounds.measurements.pop());
            self.baseline.measurements.extend(rounds.measurements.pop());
            let ratio = Statistics::of(&rounds.ratios);
            // Without work on the stream both times are 0.
            if let Some(ratio) = ratio.filter(|ratio| ratio.median.is_finite()) {
                self.speedups.push(Speedup {
                    mode,
                    median: ratio.median,
                    ci95: ratio.median_ci95,
                    rounds: rounds.ratios.len(),
                    stopped: rounds.stopped,
                });
            }
        }
        Ok(())
    }

    fn judge(&mut self, modes: usize, speedup: Option<f64>, memory: Option<f64>) {
        if let Some(above) = speedup {
            let least = |one: &Speedup| one.ci95.map_or(f64::NAN, |(least, _)| least);
            let all = self.speedups.iter().filter(|one| one.ci95.is_some());
            let found = all
                .map(|one| format!("{:.3} {}", least(one), one.mode))
                .collect::<Vec<_>>()
                .join(", ");
            let is_measured = self.speedups.len() == modes && modes > 0;
            self.requirements.push(Requirement {
                text: if found.is_empty() {
                    format!("speed-up above {above}: not measured")
                } else {
                    format!("speed-up above {above}: at least {found}")
                },
                is_shown: is_measured && self.speedups.iter().all(|one| least(one) > above),
            });
        }
        if let Some(at_most) = memory {
            let (baseline, candidate) = self.memory_bytes;
            self.requirements.push(Requirement {
                text: format!(
                    "at most {at_most} × the baseline's memory: {} and {}",
                    table::bytes(baseline),
                    table::bytes(candidate)
                ),
                is_shown: candidate as f64 <= at_most * baseline as f64,
            });
        }
    }

    /// What was found, in lines of words.
    pub(crate) fn findings(&self) -> String {
        use std::fmt::Write as _;
        let (baseline, candidate) = &self.names;
        // Writing to a String cannot fail.
        let mut text = format!("{}: {candidate} against {baseline}\n", self.name);
        for one in &self.speedups {
            let _ = write!(text, "  {:<5} speed-up {:.3}", one.mode, one.median);
            if let Some((low, high)) = one.ci95 {
                let _ = write!(text, " (95 %: {low:.3} to {high:.3})");
            }
            let _ = write!(text, ", {} rounds in turn", one.rounds);
            if let Some(limit) = one.stopped.limit() {
                let _ = write!(text, ", ended by {limit}");
            }
            text.push('\n');
        }
        for results in [&self.baseline, &self.candidate] {
            for (mode, why) in &results.not_measured {
                let _ = writeln!(text, "  {mode:<5} not measured: {}: {why}", results.name);
            }
        }
        let _ = writeln!(text, "  {}", self.agreement);
        let (ours, theirs) = self.memory_bytes;
        let (ours, theirs) = (table::bytes(ours), table::bytes(theirs));
        let _ = writeln!(text, "  device memory: {ours} and {theirs}");
        for one in &self.requirements {
            let shown = if one.is_shown { "shown" } else { "NOT SHOWN" };
            let _ = writeln!(text, "  required, {shown}: {}", one.text);
        }
        text
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: [(&Results, &[String]); 2] = [(&self.baseline, &[]), (&self.candidate, &[])];
        if !self.speedups.is_empty() {
            f.write_str(&table::text(&rows))?;
            f.write_str("\n")?;
        }
        f.write_str(&self.findings())
    }
}
