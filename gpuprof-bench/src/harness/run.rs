//! Runs the chosen benchmarks.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use cudarc::driver::CudaContext;
use gpuprof_runtime::Session;
use gpuprof_runtime::{Mode as ProfilerMode, Output};

use super::baseline::Baseline;
use super::choose::choose;
use super::options::{HarnessOptions, ResultFormat};
use super::report;
use crate::bench::{Bench, bench};
use crate::compare::Comparison;
use crate::measurement::Results;
use crate::registry::{BenchmarkOutcome, Case};
use crate::stopping::StoppingRule;

/// Returns whether every benchmark succeeded.
///
/// # Errors
/// An argument that cannot be used, or a file that cannot be read or written.
pub(super) fn run(options: &HarnessOptions) -> Result<bool, String> {
    let rule = options.rule()?;
    let cases = choose(options)?;
    if options.list {
        let names = cases.iter().map(|case| &case.name);
        names.for_each(|name| println!("{name}: benchmark"));
        return Ok(true);
    }
    let baseline = options.baseline.as_deref().map(Baseline::load);
    let baseline = baseline.transpose()?;
    // Without a benchmark no device is needed either.
    let mut found = Outcomes::default();
    if !cases.is_empty() {
        found.measure(options, rule, &cases)?;
    }
    if options.tries() {
        println!(
            "{} benchmarks ran once, {} failed",
            cases.len(),
            found.failed
        );
        return Ok(found.failed == 0);
    }
    found.failed += report::print(options, &found.results, baseline.as_ref());
    for comparison in &found.comparisons {
        match options.format {
            ResultFormat::Csv => eprint!("\n{}", comparison.findings()),
            _ => print!("\n{}", comparison.findings()),
        }
        if let Err(error) = comparison.check() {
            found.failed += 1;
            eprintln!("{}: FAILED: {error}", comparison.name);
        }
    }
    report::save_results(options, &found.results)?;
    Ok(found.failed == 0)
}

#[derive(Default)]
struct Outcomes {
    /// Those of both implementations of a comparison too.
    results: Vec<Results>,
    comparisons: Vec<Comparison>,
    failed: usize,
}

impl Outcomes {
    fn measure(
        &mut self,
        options: &HarnessOptions,
        rule: StoppingRule,
        cases: &[Case],
    ) -> Result<(), String> {
        // Spans of annotated functions would be a part of the samples.
        let is_asked = std::env::var_os("GPUPROF").is_some();
        let off = Session::builder()
            .mode(ProfilerMode::Off)
            .outputs([] as [Output; 0]);
        let _off = (!is_asked).then(|| off.start());
        let context = context(options.device)?;
        let mut begun = bench("").modes(&options.modes).rule(rule);
        begun.set_context(&context, options.tries());
        for case in cases {
            if !options.tries() {
                eprintln!("{} …", case.name);
            }
            let mut one = begun.clone();
            one.set_case(&case.name, case.entry.name, &case.parameters);
            match call(case, one, options.tries()) {
                Ok(_) if options.tries() => println!("{} ... ok", case.name),
                Ok(BenchmarkOutcome::Results(results)) => self.results.push(results),
                Ok(BenchmarkOutcome::Comparison(comparison)) => {
                    let both = [&comparison.baseline, &comparison.candidate];
                    self.results.extend(both.map(Results::clone));
                    self.comparisons.push(comparison);
                }
                Err(error) => {
                    self.failed += 1;
                    eprintln!("{}: FAILED: {error}", case.name);
                }
            }
        }
        Ok(())
    }
}

/// Calls a benchmark. One that is only tried must have outputs that agree.
fn call(case: &Case, bench: Bench, tries: bool) -> Result<BenchmarkOutcome, String> {
    let called = || (case.entry.run)(bench, case.at_type, &case.at);
    let found = panic::catch_unwind(AssertUnwindSafe(called))
        .unwrap_or_else(|_| Err("it panicked".to_owned()))?;
    if let BenchmarkOutcome::Comparison(comparison) = &found
        && tries
    {
        comparison.check().map_err(|error| error.to_string())?;
    }
    Ok(found)
}

/// The device's context. cudarc panics, with the names of all libraries that it tried, if there is
/// no driver.
fn context(device: usize) -> Result<Arc<CudaContext>, String> {
    let shown = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let context = panic::catch_unwind(|| CudaContext::new(device));
    panic::set_hook(shown);
    match context {
        Ok(context) => context.map_err(|error| format!("cannot use device {device}: {error}")),
        Err(_) => Err(format!(
            "cannot use device {device}: no CUDA driver (libcuda.so) was found here"
        )),
    }
}
