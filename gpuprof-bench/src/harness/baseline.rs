//! Results that are kept under a name, to be compared with later ones.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use gpuprof_report::json;
use gpuprof_report::profile::{Benchmark, Device, Profile};

use super::folder::{folder, write};
use crate::measurement::Measurement;
use crate::profile;

/// A difference of the medians that is called one: smaller ones come and go with each build.
const LEAST_CHANGE: f64 = 0.01;
/// The word for a difference that `--fail-on-slower` fails on.
pub(super) const SLOWER: &str = "SLOWER";

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

/// Keeps a profile under a name, with what a profile of that name has of other benchmarks. Returns
/// the file.
pub(super) fn save(name: &str, profile: &Profile) -> Result<PathBuf, String> {
    let file = file(name)?;
    let mut profile = profile.clone();
    if let Some(earlier) = fs::File::open(&file)
        .ok()
        .and_then(|file| json::read(file).ok())
    {
        add(&mut profile, earlier);
    }
    write(&file, json::to_string(&profile).as_bytes())?;
    Ok(file)
}

/// Adds the benchmarks of an earlier run that this one does not have.
fn add(profile: &mut Profile, earlier: Profile) {
    for mut benchmark in earlier.benchmarks {
        let Some(function) = earlier.functions.get(benchmark.function as usize) else {
            continue;
        };
        if profile
            .functions
            .iter()
            .all(|known| known.name != function.name)
        {
            benchmark.function = profile.functions.len() as u32;
            profile.functions.push(function.clone());
            profile.benchmarks.push(benchmark);
        }
    }
    for device in earlier.devices {
        if !profile.devices.contains(&device) {
            profile.devices.push(device);
        }
    }
}

/// Medians by the name of the benchmark in one mode.
#[derive(Debug)]
pub(super) struct Baseline {
    by_name: HashMap<String, Benchmark>,
    devices: Vec<Device>,
}

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
        Ok(Self {
            by_name: profile.benchmarks.into_iter().filter_map(named).collect(),
            devices: profile.devices,
        })
    }

    /// Whether it was measured on a device of another name, and on which.
    pub(super) fn other_device(&self, device: &Device) -> Option<&str> {
        let is_same = self.devices.iter().any(|known| known.name == device.name);
        let other = self.devices.first().filter(|_| !is_same)?;
        Some(&other.name)
    }

    /// How a measurement compares, in words; `None` if the baseline does not have it.
    pub(super) fn compare(&self, name: &str, measured: &Measurement) -> Option<String> {
        let old = self.by_name.get(&profile::name(name, measured))?;
        Some(verdict(old, measured))
    }
}

/// FASTER or SLOWER if the intervals of both medians are apart, and the medians by 1 % at least.
fn verdict(old: &Benchmark, new: &Measurement) -> String {
    let change = new.median_ns / old.median_ns.max(f64::MIN_POSITIVE) - 1.0;
    let is_above = |low: Option<f64>, high: Option<f64>| low.zip(high).is_some_and(|(l, h)| l > h);
    let (low, high) = new.median_ci95_ns.unzip();
    let word = if change.abs() < LEAST_CHANGE {
        "SAME"
    } else if is_above(low, old.median_high_ns) {
        SLOWER
    } else if is_above(old.median_low_ns, high) {
        "FASTER"
    } else {
        "SAME"
    };
    format!("{:+.1} % {word}", change * 100.0)
}

#[cfg(test)]
mod tests {
    use gpuprof_report::profile::{Benchmark, Function, Profile};

    use super::{add, file, verdict};
    use crate::measurement::{CallMode, Measurement};

    #[test]
    fn a_difference_needs_intervals_that_are_apart() {
        let mut old = Benchmark::default();
        (old.median_low_ns, old.median_ns) = (Some(99.0), 100.0);
        old.median_high_ns = Some(101.0);
        let new = |low: f64, median: f64, high: f64| {
            let mut new = Measurement::of(CallMode::Cold, Vec::new(), 1);
            (new.median_ns, new.median_ci95_ns) = (median, Some((low, high)));
            verdict(&old, &new)
        };
        assert_eq!(new(104.0, 105.0, 106.0), "+5.0 % SLOWER");
        assert_eq!(new(90.0, 95.0, 98.0), "-5.0 % FASTER");
        assert_eq!(new(100.5, 105.0, 109.0), "+5.0 % SAME");
        // Apart, but too small to be called one.
        assert_eq!(new(101.2, 100.9, 101.3), "+0.9 % SAME");
    }

    #[test]
    fn a_run_of_a_part_keeps_the_rest() {
        let profile = |names: &[&str], median_ns: f64| {
            let mut profile = Profile::default();
            for (at, name) in names.iter().enumerate() {
                let mut function = Function::default();
                (*name).clone_into(&mut function.name);
                profile.functions.push(function);
                let mut benchmark = Benchmark::default();
                (benchmark.function, benchmark.median_ns) = (at as u32, median_ns);
                profile.benchmarks.push(benchmark);
            }
            profile
        };
        let mut new = profile(&["b"], 2.0);
        add(&mut new, profile(&["a", "b", "c"], 1.0));
        let found = new.benchmarks.iter().map(|one| {
            let name = &new.functions[one.function as usize].name;
            (name.as_str(), one.median_ns)
        });
        assert_eq!(
            found.collect::<Vec<_>>(),
            [("b", 2.0), ("a", 1.0), ("c", 1.0)]
        );
    }

    #[test]
    fn names_stay_in_their_folder() {
        for wrong in ["", "../x", "a/b", ".x"] {
            assert!(file(wrong).is_err(), "{wrong}");
        }
        assert!(file("main-2").is_ok_and(|file| file.ends_with("main-2.json")));
    }
}
