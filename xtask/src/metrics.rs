//! `cargo xtask metrics`: Prometheus's own tool reads the metrics file of a program on the
//! simulated device, and the alerts in docs/prometheus.

use std::fs::{self, File};
use std::process::Command;

use crate::needs::{self, Need};
use crate::workspace::{self, Workspace};

const EXAMPLE: &str = "01_quickstart";
const ALERTS: &str = "docs/prometheus/alerts.yml";

/// Runs an example that leaves its metrics in a file, and both checks.
///
/// # Errors
/// A text for the user: an argument, promtool is missing and cannot be installed, or promtool's
/// complaint.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err("usage: cargo xtask metrics".into());
    }
    needs::ensure(&[Need::Prometheus])?;
    let mut build = workspace::cargo(["build", "--quiet", "--features", "gpuprof/metrics"]);
    build.args(["--package", "gpuprof-examples", "--example", EXAMPLE]);
    workspace::succeed(&mut build)?;
    let target = Workspace::load()?.target;
    let path = target.join("metrics.prom");
    // Of a run before; the example might leave none.
    let _ = fs::remove_file(&path);
    let mut example = Command::new(target.join("debug/examples").join(EXAMPLE));
    workspace::neutral(&mut example);
    example
        .env("GPUPROF_SIM", "1")
        .env("GPUPROF_CUPTI", "on")
        .env("GPUPROF_MEMORY", "on")
        .env("GPUPROF_REPORT", "none")
        .env("GPUPROF_METRICS", format!("prometheus={}", path.display()));
    workspace::succeed(&mut example)?;
    let shown = |error| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(shown)?;
    for family in ["function_gpu_seconds", "gpu_busy_seconds_total"] {
        if !text.contains(&format!("gpuprof_{family}")) {
            return Err(format!("{} has no gpuprof_{family}", path.display()));
        }
    }
    let mut metrics = Command::new("promtool");
    metrics.args(["check", "metrics"]);
    workspace::succeed(metrics.stdin(File::open(&path).map_err(shown)?))?;
    let mut rules = Command::new("promtool");
    rules.args(["check", "rules", ALERTS]);
    workspace::succeed(rules.current_dir(workspace::root()))?;
    println!("2 passed, 0 failed");
    Ok(())
}
