//! Results that are kept under a name, to be compared with later ones.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use gpuprof_report::json;
use gpuprof_report::profile::{Benchmark, Profile};

use super::folder::{folder, write};
use crate::measurement::Measurement;
use crate::profile;

/// A difference of the medians that is called one: smaller ones come and go with each build.
const LEAST_CHANGE: f64 = 0.01;

/// The file of a baseline of this program.
fn file(name: &str) -> Result<PathBuf, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_name) {
        return Err(format!(
            "a baseline's name has letters, digits, `-`, `_` and `.`, not `{name}`"
        ));
    }
    Ok(folder()?.join(format!("{name}.json")))
}

/// Keeps a profile under a name. Returns the file.
pub(super) fn save(name: &str, profile: &Profile) -> Result<PathBuf, String> {
    let file = file(name)?;
    write(&file, json::to_string(profile).as_bytes())?;
    Ok(file)
}

/// Medians by the name of the benchmark in one mode.
#[derive(Debug)]
pub(super) struct Baseline(HashMap<String, Benchmark>);

impl Baseline {
    pub(super) fn load(name: &str) -> Result<Self, String> {
        let file = file(name)?;
        let hint = format!("`--save-baseline {name}` makes one");
        let open = fs::File::open(&file)
            .map_err(|error| format!("there is no baseline {}: {error}; {hint}", file.display()))?;
        let profile = json::read(open).map_err(|error| {
            format!("the baseline {} is broken: {error}; {hint}", file.display())
        })?;
        let named = |benchmark: Benchmark| {
            let function = profile.functions.get(benchmark.function as usize)?;
            Some((function.name.clone(), benchmark))
        };
        Ok(Self(
            profile.benchmarks.into_iter().filter_map(named).collect(),
        ))
    }

    /// How a measurement compares, in words; `None` if the baseline does not have it.
    pub(super) fn compare(&self, name: &str, measured: &Measurement) -> Option<String> {
        let old = self.0.get(&profile::name(name, measured))?;
        Some(verdict(old, measured))
    }
}

/// FASTER or SLOWER if the intervals of both medians are apart, and the medians by 1 % at least.
fn verdict(old: &Benchmark, new: &Measurement) -> String {
    let change = new.median_ns / old.median_ns.max(f64::MIN_POSITIVE) - 1.0;
    let (low, high) = new.median_ci95_ns;
    let word = match change.abs() >= LEAST_CHANGE {
        true if low > old.median_high_ns => "SLOWER",
        true if high < old.median_low_ns => "FASTER",
        _ => "SAME",
    };
    format!("{:+.1} % {word}", change * 100.0)
}

#[cfg(test)]
mod tests {
    use gpuprof_report::profile::Benchmark;

    use super::{file, verdict};
    use crate::measurement::{Measurement, Mode};

    #[test]
    fn a_difference_needs_intervals_that_are_apart() {
        let mut old = Benchmark::default();
        (old.median_low_ns, old.median_ns, old.median_high_ns) = (99.0, 100.0, 101.0);
        let new = |low: f64, median: f64, high: f64| {
            let mut new = Measurement::of(Mode::Cold, Vec::new(), 1);
            (new.median_ns, new.median_ci95_ns) = (median, (low, high));
            verdict(&old, &new)
        };
        assert_eq!(new(104.0, 105.0, 106.0), "+5.0 % SLOWER");
        assert_eq!(new(90.0, 95.0, 98.0), "-5.0 % FASTER");
        assert_eq!(new(100.5, 105.0, 109.0), "+5.0 % SAME");
        // Apart, but too small to be called one.
        assert_eq!(new(101.2, 100.9, 101.3), "+0.9 % SAME");
    }

    #[test]
    fn names_stay_in_their_folder() {
        for wrong in ["", "../x", "a/b", ".x"] {
            assert!(file(wrong).is_err(), "{wrong}");
        }
        assert!(file("main-2").is_ok_and(|file| file.ends_with("main-2.json")));
    }
}
