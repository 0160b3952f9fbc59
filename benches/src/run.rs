//! A run: all rows in turn, memory, overhead, verdicts, table and JSON.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::machine::Machine;
use crate::outcome::{KernelReport, Memory, Outcome, Quartiles, ReportTime, Time, ratio, time};
use crate::overhead;
use crate::promises::judge;
use crate::table_rows::{
    CASES, Case, GPU, GPU_CUPTI, MEMORY, MemoryCase, PLAIN, Setting, THREADS, case,
};
use crate::verdict::Verdict;
use crate::worker_client::{Programs, Worker, numbers};

mod print_table;

/// From this number of threads on, only every third round is measured.
const MANY_THREADS: u64 = 8;
/// Calls of each thread before memory is measured.
const WARM_UP: u64 = 10_000;

/// The command-line options.
#[derive(Debug, Default)]
pub(crate) struct Options {
    short: bool,
    json: Option<PathBuf>,
    pub(crate) off: Option<PathBuf>,
    width: Option<usize>,
}

impl Options {
    /// # Errors
    /// An argument is not accepted.
    pub(crate) fn read(words: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
            match word {
                "--short" => options.short = true,
                "--json" => options.json = Some(value()?.into()),
                "--off" => options.off = Some(value()?.into()),
                "--width" => {
                    let width = value()?;
                    let columns = width
                        .parse()
                        .map_err(|_| format!("{width} is not a width in columns"))?;
                    options.width = Some(columns);
                }
                _ => return Err(format!("unknown argument {word}; see --help")),
            }
        }
        Ok(options)
    }

    /// The width in columns; `None` for a pipe.
    pub(crate) fn width(&self) -> Option<usize> {
        let terminal = || {
            let (width, _) = terminal_size::terminal_size_of(std::io::stdout())?;
            Some(usize::from(width.0))
        };
        self.width.or_else(terminal)
    }

    /// Rounds of all rows.
    fn rounds(&self) -> usize {
        if self.short { 1 } else { 31 }
    }

    /// Calls per thread and round.
    fn calls(&self, case: &Case, threads: u64) -> u64 {
        match (self.short, case.gpu) {
            (true, false) => 1_000,
            (true, true) => 1_000 / threads,
            (false, true) => (20_000 / threads).min(10_000),
            // At most a few milliseconds, so that a thread is rarely preempted.
            (false, false) => 50_000,
        }
    }

    /// Calls during which memory is measured.
    fn memory_calls(&self, memory: &MemoryCase) -> u64 {
        if self.short {
            memory.calls / 100
        } else {
            memory.calls
        }
    }
}

/// Measures everything. Returns whether every strict promise holds.
///
/// # Errors
/// Nothing can be measured at all, or the JSON cannot be written.
pub(crate) fn run(options: &Options) -> Result<bool, String> {
    let programs = Programs::find(options.off.as_deref())?;
    let mut run = Run::new(options, &programs);
    run.measure_times();
    run.measure_memory();
    run.measure_overhead();
    run.measure_report();
    run.measure_kernel_report();
    let outcome = run.finish();
    print_table::show(&outcome, options.width());
    if let Some(path) = &options.json {
        let failed = |error: String| format!("{}: {error}", path.display());
        let text =
            serde_json::to_string_pretty(&outcome).map_err(|error| failed(error.to_string()))?;
        std::fs::write(path, text).map_err(|error| failed(error.to_string()))?;
    }
    let broken = |verdict| verdict == Verdict::Fail;
    Ok(!outcome
        .promises
        .iter()
        .any(|promise| promise.strict && broken(promise.verdict)))
}

/// The state of a run.
struct Run<'a> {
    options: &'a Options,
    programs: &'a Programs,
    /// By setting; a worker that failed is not queried again.
    workers: HashMap<&'static str, Result<Worker, String>>,
    outcome: Outcome,
    simulated: bool,
}

impl<'a> Run<'a> {
    fn new(options: &'a Options, programs: &'a Programs) -> Self {
        let mut run = Self {
            options,
            programs,
            workers: HashMap::new(),
            outcome: Outcome {
                machine: Machine::this(String::new()),
                short: options.short,
                rounds: options.rounds(),
                times: Vec::new(),
                memory: Vec::new(),
                overhead: Vec::new(),
                report: None,
                kernel_report: None,
                promises: Vec::new(),
                remarks: Vec::new(),
            },
            simulated: false,
        };
        let device = match run.ask(&GPU, "device") {
            Ok(device) => device,
            Err(error) => error,
        };
        run.simulated = device == "simulated";
        run.outcome.machine.device = device;
        run
    }

    fn ask(&mut self, setting: &Setting, request: &str) -> Result<String, String> {
        let start = || Worker::start(self.programs, setting);
        let worker = self.workers.entry(setting.name).or_insert_with(start);
        let answer = worker
            .as_mut()
            .map_err(|error| error.clone())
            .and_then(|worker| worker.ask(request));
        if let Err(error) = &answer {
            let error = format!("{}: {error}", setting.name);
            if !self.outcome.remarks.contains(&error) {
                self.outcome.remarks.push(error);
            }
        }
        answer
    }

    /// Measures all rows, round by round, so that a slow moment of the machine affects all of them.
    fn measure_times(&mut self) {
        for round in 0..self.options.rounds() {
            for place in 0..CASES.len() {
                // Each round starts at another row, so that no row always follows the same one.
                let case = &CASES[(place + 5 * round) % CASES.len()];
                let is_third = round % 3 == 0;
                for threads in THREADS
                    .iter()
                    .filter(|&&threads| is_third || threads < MANY_THREADS)
                {
                    self.measure_case(case, *threads);
                }
            }
        }
        let in_order = |time: &Time| {
            let place = CASES.iter().position(|case| case.name == time.name);
            (place, time.threads)
        };
        self.outcome.times.sort_by_key(in_order);
        self.compare_to_bare();
    }

    fn measure_case(&mut self, case: &Case, threads: u64) {
        let calls = self.options.calls(case, threads);
        let request = format!("measure {} {threads} {calls}", case.row);
        let answer = self.ask(&case.setting, &request);
        let Ok([ns]) = answer.and_then(|answer| numbers(&answer)) else {
            return;
        };
        let times = &mut self.outcome.times;
        let known = times
            .iter_mut()
            .find(|time| time.name == case.name && time.threads == threads);
        match known {
            Some(time) => time.ns.push(ns),
            None => times.push(Time {
                name: case.name,
                threads,
                calls,
                simulated_device: case.gpu && self.simulated,
                ns: vec![ns],
                quartiles: Quartiles::of(&[ns]),
                to_bare: None,
            }),
        }
    }

    fn compare_to_bare(&mut self) {
        let ratios = self.outcome.times.iter().map(|of| {
            let bare = case(of.name)?.bare;
            let bare = time(&self.outcome.times, bare, of.threads)?;
            Some(ratio(&of.ns, &bare.ns))
        });
        let ratios: Vec<_> = ratios.collect();
        for (time, ratio) in self.outcome.times.iter_mut().zip(ratios) {
            time.quartiles = Quartiles::of(&time.ns);
            time.to_bare = ratio;
        }
    }

    /// Measures each row in a new process, so that memory kept by an earlier row does not count.
    fn measure_memory(&mut self) {
        self.workers.clear();
        for memory in &MEMORY {
            let Some(case) = case(memory.name) else {
                continue;
            };
            let (threads, calls) = (memory.threads, self.options.memory_calls(memory));
            let warm_up = WARM_UP.min(calls / threads / 2);
            let request = format!("memory {} {threads} {warm_up} {calls}", case.row);
            let answer = self.ask(&case.setting, &request);
            self.workers.clear();
            if let Ok(found) = answer.and_then(|answer| numbers(&answer)) {
                let [allocations, bytes, warm, end] = found.map(|number: f64| number as u64);
                self.outcome.memory.push(Memory {
                    name: case.name,
                    threads,
                    calls,
                    warm_up,
                    gpu: case.gpu,
                    simulated_device: case.gpu && self.simulated,
                    promised: memory.promised,
                    allocations,
                    allocated_bytes: bytes,
                    resident_warm_bytes: warm,
                    resident_end_bytes: end,
                });
            }
        }
    }

    /// Runs are long, because they include a program's start and end.
    fn measure_overhead(&mut self) {
        let (rounds, few) = if self.options.short { (1, 100) } else { (5, 1) };
        for (name, row, calls) in [
            ("span", "span", 10_000_000),
            ("gpu-span", "gpu-span", 300_000),
        ] {
            match overhead::compare(self.programs, name, row, calls / few, rounds) {
                Ok(mut cost) => {
                    cost.simulated_device = name == "gpu-span" && self.simulated;
                    self.outcome.overhead.push(cost);
                }
                Err(error) => self
                    .outcome
                    .remarks
                    .push(format!("overhead of {name}: {error}")),
            }
        }
    }

    fn measure_report(&mut self) {
        self.workers.clear();
        let (functions, threads) = if self.options.short {
            (500, 8)
        } else {
            (10_000, 64)
        };
        let answer = self.ask(&PLAIN, &format!("report {functions} {threads}"));
        if let Ok([snapshot_ms, table_ms, json_ms, bytes, dropped]) =
            answer.and_then(|answer| numbers(&answer))
        {
            self.outcome.report = Some(ReportTime {
                functions,
                threads,
                snapshot_ms,
                table_ms,
                json_ms,
                counter_bytes: bytes as u64,
                dropped_calls: dropped as u64,
            });
        }
    }

    fn measure_kernel_report(&mut self) {
        self.workers.clear();
        let kernels = if self.options.short { 200 } else { 10_000 };
        let answer = self.ask(&GPU_CUPTI, &format!("kernels {kernels}"));
        if let Ok([functions, snapshot_ms, bytes]) = answer.and_then(|answer| numbers(&answer)) {
            self.outcome.kernel_report = Some(KernelReport {
                kernels,
                functions: functions as u64,
                snapshot_ms,
                peak_bytes: bytes as u64,
            });
        }
    }

    fn finish(mut self) -> Outcome {
        self.outcome.promises = judge(&self.outcome);
        self.outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let options = Options::read(&["--short", "--json", "a", "--width", "80"]).expect("options");
        assert!(options.short && options.json == Some("a".into()) && options.width() == Some(80));
        for wrong in [&["--json"][..], &["--width", "wide"], &["--fast"]] {
            assert!(Options::read(wrong).is_err(), "{wrong:?}");
        }
    }
}
