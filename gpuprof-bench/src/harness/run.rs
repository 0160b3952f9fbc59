//! Runs the chosen benchmarks.

use std::panic::{self, AssertUnwindSafe};

use cudarc::driver::CudaContext;
use gpuprof_report::{html, json};
use gpuprof_runtime::Session;
use gpuprof_runtime::{Mode as ProfilerMode, Output};

use super::baseline::{self, Baseline};
use super::folder::{folder, write};
use super::options::{Format, Options};
use super::plots;
use crate::bench::bench;
use crate::measure_peaks::peaks;
use crate::measurement::Results;
use crate::profile::to_profile;
use crate::registry::{Case, Found};
use crate::table;

/// Returns whether every benchmark succeeded.
///
/// # Errors
/// An argument that cannot be used, or a file that cannot be read or written.
pub(super) fn run(options: &Options) -> Result<bool, String> {
    let rule = options.rule()?;
    let cases = chosen(options)?;
    if options.list {
        cases
            .iter()
            .for_each(|case| println!("{}: benchmark", case.name));
        return Ok(true);
    }
    let baseline = options
        .baseline
        .as_deref()
        .map(Baseline::load)
        .transpose()?;
    // Spans of annotated functions would be a part of the samples.
    let is_asked = std::env::var_os("GPUPROF").is_some();
    let off = Session::builder()
        .mode(ProfilerMode::Off)
        .outputs([] as [Output; 0]);
    let _off = (!is_asked).then(|| off.start());
    let context = CudaContext::new(options.device)
        .map_err(|error| format!("cannot use device {}: {error}", options.device))?;
    let peaks = match options.peaks && !options.tries() {
        true => Some(peaks(&context.per_thread_stream()).map_err(|error| error.to_string())?),
        false => None,
    };
    let (mut all, mut comparisons, mut failed) = (Vec::new(), Vec::new(), 0);
    for case in &cases {
        if !options.tries() {
            eprintln!("{} …", case.name);
        }
        let mut one = bench(&case.name).modes(&options.modes).rule(rule);
        if let Some(peaks) = &peaks {
            one = one.peaks(peaks);
        }
        one.set_case(case.entry.name, &case.parameters);
        one.set_context(&context, options.tries());
        let called = || (case.entry.run)(one, case.at_type, &case.at);
        let results = panic::catch_unwind(AssertUnwindSafe(called));
        let found = results.unwrap_or_else(|_| Err("it panicked".to_owned()));
        let checked = found.and_then(|found| match &found {
            Found::Comparison(comparison) if options.tries() => {
                comparison.check().map_err(|error| error.to_string())?;
                Ok(found)
            }
            _ => Ok(found),
        });
        match checked {
            Ok(_) if options.tries() => println!("{} ... ok", case.name),
            Ok(Found::Results(results)) => all.push(results),
            Ok(Found::Comparison(comparison)) => {
                all.extend([&comparison.baseline, &comparison.candidate].map(Results::clone));
                comparisons.push(comparison);
            }
            Err(error) => {
                failed += 1;
                eprintln!("{}: FAILED: {error}", case.name);
            }
        }
    }
    if options.tries() {
        println!("{} benchmarks ran once, {failed} failed", cases.len());
        return Ok(failed == 0);
    }
    print(options, &all, baseline.as_ref());
    for comparison in &comparisons {
        if options.format != Format::Csv {
            print!("\n{}", comparison.findings());
        }
        if let Err(error) = comparison.check() {
            failed += 1;
            eprintln!("{}: FAILED: {error}", comparison.name);
        }
    }
    keep(options, &all)?;
    Ok(failed == 0)
}

/// The benchmarks that the arguments choose.
fn chosen(options: &Options) -> Result<Vec<Case>, String> {
    let every = Case::all(&[]);
    for (name, values) in &options.axis {
        let parts = every.iter().flat_map(|case| case.name.split(' '));
        let of_axis = parts.filter_map(|part| part.strip_prefix(&format!("{name}=")));
        let mut known: Vec<&str> = of_axis.collect();
        known.sort_unstable();
        known.dedup();
        if known.is_empty() {
            return Err(format!("--axis: no benchmark has a parameter `{name}`"));
        }
        if let Some(unknown) = values.iter().find(|value| !known.contains(&value.as_str())) {
            let known = known.join(", ");
            return Err(format!(
                "--axis: `{name}` is never {unknown}; there are {known}"
            ));
        }
    }
    let mut cases = Case::all(&options.axis);
    cases.retain(|case| {
        let is_wanted = |filter: &String| match options.exact {
            true => case.name == *filter,
            false => case.name.contains(filter.as_str()),
        };
        options.filters.is_empty() || options.filters.iter().any(is_wanted)
    });
    if cases.is_empty() && !options.filters.is_empty() {
        return Err("no benchmark has such a name; --list shows all".to_owned());
    }
    Ok(cases)
}

fn print(options: &Options, all: &[Results], baseline: Option<&Baseline>) {
    let compare = |results: &Results| -> Vec<String> {
        let measurements = results.measurements.iter();
        let compared = measurements.map(|one| baseline?.compare(&results.name, one));
        compared.map(Option::unwrap_or_default).collect()
    };
    let compared: Vec<Vec<String>> = all.iter().map(compare).collect();
    let rows: Vec<(&Results, &[String])> =
        all.iter().zip(compared.iter().map(Vec::as_slice)).collect();
    let text = match options.format {
        Format::Table => table::text(&rows),
        Format::Markdown => table::markdown(&rows),
        Format::Csv => table::csv(all),
    };
    print!("{text}");
    if baseline.is_some() && options.format != Format::Csv {
        println!(
            "Against the baseline: SLOWER and FASTER if the 95 % intervals of both medians are \
             apart and the medians by at least 1 %. Runs differ by more than their intervals: \
             `gpuprof diff` compares several."
        );
    }
}

fn keep(options: &Options, all: &[Results]) -> Result<(), String> {
    let profile = to_profile(all);
    if let Some(path) = &options.json {
        write(path, json::to_string(&profile).as_bytes())?;
    }
    if let Some(path) = &options.html {
        let mut page = Vec::new();
        // Writing to a Vec cannot fail.
        let _ = html::write(&profile, &mut page);
        write(path, &page)?;
    }
    if let Some(name) = &options.save_baseline {
        let file = baseline::save(name, &profile)?;
        eprintln!("baseline {name}: {}", file.display());
    }
    let into = options.plots.clone().map_or_else(folder, Ok)?;
    for file in plots::save(&profile, &into)? {
        eprintln!("plot: {}", file.display());
    }
    Ok(())
}
