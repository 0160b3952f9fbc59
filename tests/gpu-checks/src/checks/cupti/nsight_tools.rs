//! Runs a program under Nsight Compute and Nsight Systems, if they are installed, and reads their
//! results.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;

/// Where the CUDA toolkit installs its tools.
const USUAL: &str = "/usr/local/cuda/bin";

/// A kernel's name as `ncu_stalls.py` has it: without template arguments and parameters.
pub(super) fn short_name(demangled: &str) -> &str {
    let name = demangled.split(['(', '<']).next().unwrap_or_default();
    name.rsplit(' ').next().unwrap_or_default()
}

/// Launches and the mean of a metric, by kernel symbol.
pub(super) type Seen = BTreeMap<String, (u64, f64)>;

/// A tool's path: from the variable that names it, from PATH, or the usual place.
pub(super) fn find(tool: &str) -> Option<PathBuf> {
    let named = std::env::var_os(tool.to_uppercase()).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([USUAL.into()]);
    let mut places = named
        .into_iter()
        .chain(folders.map(|folder| folder.join(tool)));
    places.find(|place| place.is_file())
}

/// The metric of kernels' durations, ns.
pub(super) const DURATION: &str = "gpu__time_duration.sum";

/// Each launch's value of each metric, by kernel symbol and metric.
pub(super) type Metrics = BTreeMap<String, BTreeMap<String, Vec<f64>>>;

/// What Nsight Compute prints of a metric that the device or its version does not have.
const NO_VALUE: &str = "n/a";

/// `command` under Nsight Compute, which measures each kernel separately. Several metrics are
/// separated by commas.
pub(super) fn under_ncu(ncu: &Path, command: &Command, metrics: &str) -> Command {
    let mut tool = Command::new(ncu);
    process::clear_settings(&mut tool);
    tool.args([
        "--csv",
        "--print-units",
        "base",
        "--print-kernel-base",
        "mangled",
    ])
    .args(["--metrics", metrics])
    .args(["--clock-control", "none", "--cache-control", "none"]);
    with(tool, command)
}

/// `command` under Nsight Compute, which samples program counters and writes `report`.
pub(super) fn sampled_by_ncu(
    ncu: &Path,
    command: &Command,
    report: &Path,
    options: &[&str],
) -> Command {
    let mut tool = Command::new(ncu);
    process::clear_settings(&mut tool);
    tool.args(["--clock-control", "none", "--section", "SourceCounters"])
        .args(options)
        .args(["-f", "-o"])
        .arg(report);
    with(tool, command)
}

/// `command` under Nsight Systems with only its CUDA trace, and with `options`.
pub(super) fn under_nsys(
    nsys: &Path,
    command: &Command,
    report: &Path,
    options: &[&str],
) -> Command {
    let mut tool = Command::new(nsys);
    process::clear_settings(&mut tool);
    tool.args(["profile", "-t", "cuda", "--sample=none", "--cpuctxsw=none"])
        .args(options)
        .args(["-f", "true", "-o"])
        .arg(report);
    with(tool, command)
}

fn with(mut tool: Command, command: &Command) -> Command {
    tool.arg(command.get_program())
        .args(command.get_args().map(OsStr::to_owned));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => tool.env(name, value),
            None => tool.env_remove(name),
        };
    }
    tool
}

/// The launches in Nsight Compute's CSV, and the means of their values.
pub(super) fn launches(csv: &str) -> Result<Seen, String> {
    let values = values(csv)?.into_iter();
    let means = values.map(|(kernel, of)| {
        let mean = of.iter().sum::<f64>() / of.len() as f64;
        (kernel, (of.len() as u64, mean))
    });
    Ok(means.collect())
}

/// The one metric's values in Nsight Compute's CSV, one for each launch, by kernel symbol.
pub(super) fn values(csv: &str) -> Result<BTreeMap<String, Vec<f64>>, String> {
    let kernels = metrics(csv)?.into_iter().map(|(kernel, of)| {
        let values: Vec<_> = of.into_values().flatten().collect();
        let none = || format!("ncu has no value of {kernel}");
        values.first().ok_or_else(none)?;
        Ok((kernel, values))
    });
    kernels.collect()
}

/// All values in Nsight Compute's CSV, in which every field is quoted. A metric that the device
/// does not have is omitted.
pub(super) fn metrics(csv: &str) -> Result<Metrics, String> {
    let mut lines = csv
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix('"'))
        .map(|line| line.split("\",\"").collect::<Vec<_>>());
    let head = lines.next().ok_or("ncu printed no table")?;
    let column = |name: &str| {
        let index = head.iter().position(|field| *field == name);
        index.ok_or_else(|| format!("ncu's table has no column {name}: {head:?}"))
    };
    let (kernel, metric) = (column("Kernel Name")?, column("Metric Name")?);
    let value = column("Metric Value")?;
    let mut metrics = Metrics::new();
    for line in lines {
        let field = |index: usize| line.get(index).copied().unwrap_or_default();
        let of_kernel = metrics.entry(field(kernel).to_owned()).or_default();
        if field(value).contains(NO_VALUE) {
            continue;
        }
        let number: f64 = field(value)
            .replace(',', "")
            .parse()
            .map_err(|_| format!("no number: {}", field(value)))?;
        let of = of_kernel.entry(field(metric).to_owned()).or_default();
        of.push(number);
    }
    Ok(metrics)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_counted_by_kernel() {
        let csv = "==PROF== x\n\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Value\"\n\
                   \"0\",\"spin\",\"t\",\"1,000\"\n\"1\",\"spin\",\"t\",\"3000.5\"\n\
                   \"2\",\"saxpy\",\"t\",\"7\"\n";
        let seen = launches(csv).expect("a table");
        assert_eq!(seen.get("spin"), Some(&(2, 2000.25)));
        assert_eq!(seen.get("saxpy"), Some(&(1, 7.0)));
        assert!(launches("").is_err());
    }

    #[test]
    fn metrics_are_told_apart_and_one_without_a_value_is_omitted() {
        let csv = "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Value\"\n\
                   \"0\",\"spin\",\"alu\",\"1.5\"\n\"0\",\"spin\",\"xu\",\"(!) n/a\"\n\
                   \"1\",\"spin\",\"alu\",\"2\"\n\"1\",\"spin\",\"xu\",\"n/a\"\n";
        let read = metrics(csv).expect("a table");
        let of_spin = BTreeMap::from([("alu".to_owned(), vec![1.5, 2.0])]);
        assert_eq!(read, BTreeMap::from([("spin".to_owned(), of_spin)]));
        assert!(metrics(&csv.replace("1.5", "many")).is_err());
        let none = csv
            .replace("\"1.5\"", "\"n/a\"")
            .replace("\"2\"", "\"n/a\"");
        assert!(values(&none).is_err());
    }
}
