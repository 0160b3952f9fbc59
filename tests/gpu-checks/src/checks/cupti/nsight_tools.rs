//! Nsight Compute and Nsight Systems, where they are: what they say of the same program.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;

/// Where CUDA's toolkit puts its tools.
const USUAL: &str = "/usr/local/cuda/bin";

/// Launches and their mean time in ns, by the kernel's name in its module.
pub(super) type Seen = BTreeMap<String, (u64, f64)>;

/// A tool's path: in the variable that names it, in PATH, or where it usually is.
pub(super) fn find(tool: &str) -> Option<PathBuf> {
    let named = std::env::var_os(tool.to_uppercase()).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([USUAL.into()]);
    let mut places = named
        .into_iter()
        .chain(folders.map(|folder| folder.join(tool)));
    places.find(|place| place.is_file())
}

/// `command` under Nsight Compute, which measures each kernel by itself.
pub(super) fn under_ncu(ncu: &Path, command: &Command) -> Command {
    let mut tool = Command::new(ncu);
    process::neutral(&mut tool);
    tool.args([
        "--csv",
        "--print-units",
        "base",
        "--print-kernel-base",
        "mangled",
    ])
    .args(["--metrics", "gpu__time_duration.sum"])
    .args(["--clock-control", "none", "--cache-control", "none"]);
    with(tool, command)
}

/// `command` under Nsight Systems, with its CUDA trace alone.
pub(super) fn under_nsys(nsys: &Path, command: &Command, report: &Path) -> Command {
    let mut tool = Command::new(nsys);
    process::neutral(&mut tool);
    tool.args([
        "profile",
        "-t",
        "cuda",
        "--sample=none",
        "--cpuctxsw=none",
        "-f",
        "true",
        "-o",
    ])
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

/// The launches in Nsight Compute's CSV. Every field there is quoted.
pub(super) fn launches(csv: &str) -> Result<Seen, String> {
    let mut lines = csv
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix('"'))
        .map(|line| line.split("\",\"").collect::<Vec<_>>());
    let head = lines.next().ok_or("ncu printed no table")?;
    let column = |name: &str| {
        let at = head.iter().position(|field| *field == name);
        at.ok_or_else(|| format!("ncu's table has no column {name}: {head:?}"))
    };
    let (kernel, value) = (column("Kernel Name")?, column("Metric Value")?);
    let mut seen = Seen::new();
    for line in lines {
        let field = |at: usize| line.get(at).copied().unwrap_or_default();
        let ns: f64 = field(value)
            .replace(',', "")
            .parse()
            .map_err(|_| format!("no duration: {}", field(value)))?;
        let (count, total) = seen.entry(field(kernel).to_owned()).or_default();
        *count += 1;
        *total += ns;
    }
    for (count, mean) in seen.values_mut() {
        *mean /= *count as f64;
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_counted_by_kernel() {
        let csv = "==PROF== x\n\"ID\",\"Kernel Name\",\"Metric \
            Value\"\n\"0\",\"spin\",\"1,000\"\n\"1\",\"spin\",\"3000.5\"\n\"2\",\"saxpy\",\"7\"\n";
        let seen = launches(csv).expect("a table");
        assert_eq!(seen.get("spin"), Some(&(2, 2000.25)));
        assert_eq!(seen.get("saxpy"), Some(&(1, 7.0)));
        assert!(launches("").is_err());
    }
}
