//! What is printed of the results, and the files that keep them.

use gpuprof_report::{html, json};

use super::baseline::{self, Baseline, SLOWER};
use super::folder::write;
use super::options::{HarnessOptions, ResultFormat};
use crate::measurement::Results;
use crate::profile::to_profile;
use crate::table;

/// Prints the results. Returns the number of them that fail: those that are slower than the
/// baseline, if that is to fail.
pub(super) fn print(
    options: &HarnessOptions,
    all: &[Results],
    baseline: Option<&Baseline>,
) -> usize {
    let compare = |results: &Results| -> Vec<String> {
        let measurements = results.measurements.iter();
        let compared = measurements.map(|one| baseline?.compare(&results.name, one));
        compared.map(Option::unwrap_or_default).collect()
    };
    let compared: Vec<Vec<String>> = all.iter().map(compare).collect();
    let rows: Vec<(&Results, &[String])> =
        all.iter().zip(compared.iter().map(Vec::as_slice)).collect();
    match options.format {
        ResultFormat::Table | ResultFormat::Terse => print!("{}", table::text(&rows)),
        ResultFormat::Markdown => print!("{}", table::markdown(&rows)),
        ResultFormat::Csv => {
            print!("{}", table::csv(&rows));
            table::notes(&rows)
                .iter()
                .for_each(|line| eprintln!("{line}"));
        }
    }
    if let Some(baseline) = baseline {
        explain(baseline, all);
    }
    let slower = compared
        .iter()
        .flatten()
        .filter(|verdict| verdict.ends_with(SLOWER));
    if options.fail_on_slower {
        slower.count()
    } else {
        0
    }
}

/// Says what the verdicts of a baseline mean.
fn explain(baseline: &Baseline, all: &[Results]) {
    eprintln!(
        "Against the baseline: {SLOWER} and FASTER if the 95 % intervals of both medians are apart \
         and the medians by at least 1 %. Runs differ by more than their intervals: `gpuprof diff` \
         compares several."
    );
    let device = all.iter().find(|results| !results.measurements.is_empty());
    if let Some(device) = device.map(|results| &results.device)
        && let Some(other) = baseline.other_device(device)
    {
        eprintln!(
            "The baseline was measured on {other}, this on {}.",
            device.name
        );
    }
}

/// Writes the files that are asked for.
///
/// # Errors
/// A file that cannot be written, and why.
pub(super) fn save_results(options: &HarnessOptions, all: &[Results]) -> Result<(), String> {
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
    Ok(())
}
