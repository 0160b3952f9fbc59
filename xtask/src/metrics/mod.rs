//! `cargo xtask metrics`: real servers read what gpuprof exports. Two ranks of a job on the
//! simulated device are scraped by Prometheus, and their text files go to a Pushgateway; what
//! Prometheus has then is compared with the merged reports of both ranks.

mod cost;
mod http;
mod job;
mod queries;
mod servers;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use self::job::{FUNCTIONS, Job};
use self::queries::{Merged, Server};
use crate::needs::{self, Need};
use crate::workspace::{self, Workspace};

/// What ships for Prometheus's users.
const CONFIGURATION: &str = "docs/prometheus";

/// Requests that each rank serves, in rounds, so that several scrapes see each other's progress.
const ROUNDS: [u64; 4] = [60, 40, 60, 40];

/// Runs every check and ends with "N passed, N failed".
///
/// # Errors
/// A text for the user: a wrong argument, a server that is missing and cannot be installed, or
/// failed checks.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let is_cost = match arguments {
        [] => false,
        [word] if word == "cost" => true,
        _ => return Err("usage: cargo xtask metrics [cost]".into()),
    };
    let target = Workspace::load()?.target;
    let folder = target.join("metrics");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut build = workspace::cargo(["build", "--quiet", "--package", "prometheus-ranks"]);
    build.args(["--package", "gpuprof-cli", "--package", "simcuda"]);
    if is_cost {
        workspace::succeed(build.arg("--release"))?;
        return cost::measure(&target.join("release/prometheus-ranks"), &folder);
    }
    needs::ensure(&[Need::Prometheus])?;
    workspace::succeed(&mut build)?;
    let mut checks = Checks::default();
    rules(&mut checks);
    scraped_job(&target, &folder, &mut checks)?;
    println!("{} passed, {} failed", checks.passed, checks.failed);
    match checks.failed {
        0 => Ok(()),
        failed => Err(format!("{failed} checks of metrics failed")),
    }
}

/// What the checks said.
#[derive(Debug, Default)]
struct Checks {
    passed: usize,
    failed: usize,
}

impl Checks {
    fn add(&mut self, what: &str, outcome: Result<String, String>) {
        match outcome {
            Ok(found) => {
                self.passed += 1;
                println!("ok {what}: {found}");
            }
            Err(problem) => {
                self.failed += 1;
                println!("FAILED {what}: {problem}");
            }
        }
    }

    /// Counts `found` as passed if it is `expected`.
    fn equal(&mut self, what: &str, found: f64, expected: f64) {
        let text = format!("{found}, expected {expected}");
        self.add(
            what,
            if found == expected {
                Ok(text)
            } else {
                Err(text)
            },
        );
    }
}

/// The shipped rules, by Prometheus's own tests.
fn rules(checks: &mut Checks) {
    let folder = workspace::root().join(CONFIGURATION);
    for (what, arguments) in [
        ("the configuration", ["check", "config", "prometheus.yml"]),
        ("the alerts", ["check", "rules", "alerts.yml"]),
        ("the alerts' tests", ["test", "rules", "alerts-test.yml"]),
    ] {
        let mut command = Command::new("promtool");
        checks.add(what, output(command.args(arguments).current_dir(&folder)));
    }
}

/// The last line of a command's output.
fn output(command: &mut Command) -> Result<String, String> {
    let shown = workspace::shown(command);
    let output = command.output();
    let output = output.map_err(|error| format!("cannot run `{shown}`: {error}"))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    if output.status.success() {
        Ok(text
            .lines()
            .last()
            .unwrap_or("no complaint")
            .trim()
            .to_owned())
    } else {
        Err(text)
    }
}

fn scraped_job(target: &Path, folder: &Path, checks: &mut Checks) -> Result<(), String> {
    let mut job = Job::start(&target.join("debug/prometheus-ranks"), folder)?;
    let gateway = servers::start_gateway(folder)?;
    let rules = workspace::root().join(CONFIGURATION).join("alerts.yml");
    let prometheus = servers::start_prometheus(&rules, folder, &job.ports, gateway.port)?;
    let server = Server::new(prometheus.port);
    for requests in ROUNDS {
        job.serve(requests)?;
        servers::pause();
    }
    let served = ROUNDS.iter().sum::<u64>();
    for function in FUNCTIONS {
        let calls = format!("sum(gpuprof_function_calls_total{{function=\"{function}\"}})");
        let expected = 2.0 * served as f64;
        let found = server.until(&calls, |value| value >= expected)?;
        checks.equal(
            &format!("calls of {function} on both ranks"),
            found,
            expected,
        );
    }
    let up = server.value("sum(up{job=\"gpuprof\"})")?;
    checks.equal("ranks that are scraped", up, 2.0);
    let quantiles = queries::quantiles(&server)?;
    let bounds = server.value("count(gpuprof_function_gpu_seconds_bucket)")?;
    checks.equal("buckets of one function on two ranks", bounds, 2.0 * 29.0);
    job.end()?;
    let merged = merge(target, folder)?;
    compare(checks, &quantiles, &merged, served);
    push(checks, &server, folder, gateway.port, served)
}

/// The reports of both ranks as one.
fn merge(target: &Path, folder: &Path) -> Result<Merged, String> {
    let path = folder.join("merged.json");
    let mut command = Command::new(target.join("debug/gpuprof"));
    command.arg("merge").arg("--output").arg(&path);
    command.args([folder.join("report-0.json"), folder.join("report-1.json")]);
    workspace::succeed(command.stdout(Stdio::null()))?;
    Merged::read(&path)
}

fn compare(checks: &mut Checks, quantiles: &[(f64, f64)], merged: &Merged, served: u64) {
    let calls = merged.calls as f64;
    checks.equal("calls in the merged report", calls, 2.0 * served as f64);
    for (quantile, seconds) in quantiles {
        let outcome = merged.agrees(*quantile, *seconds);
        checks.add(&format!("quantile {quantile} of the GPU time"), outcome);
    }
}

/// The text files that the ranks left, by promtool, and through a Pushgateway.
fn push(
    checks: &mut Checks,
    server: &Server,
    folder: &Path,
    gateway: u16,
    served: u64,
) -> Result<(), String> {
    for rank in 0..2 {
        let path = folder.join(format!("rank{rank}.prom"));
        let file = |_| fs::File::open(&path).map_err(|e| format!("{}: {e}", path.display()));
        let mut command = Command::new("promtool");
        let checked = command.args(["check", "metrics"]).stdin(file(())?);
        checks.add(&format!("the text file of rank {rank}"), output(checked));
        let text = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let target = format!("/metrics/job/batch/rank/{rank}");
        let pushed = http::request(gateway, "PUT", &target, &text)?;
        let is_stored = pushed.status == 200 || pushed.status == 202;
        let outcome = format!("status {} {}", pushed.status, pushed.body.trim());
        let outcome = if is_stored { Ok(outcome) } else { Err(outcome) };
        checks.add(&format!("the push of rank {rank}"), outcome);
    }
    let function = FUNCTIONS[0];
    for (what, part) in [("count", "gpu_seconds_count"), ("calls", "calls_total")] {
        let query =
            format!("sum(gpuprof_function_{part}{{job=\"batch\",function=\"{function}\"}})");
        let expected = 2.0 * served as f64;
        let found = server.until(&query, |value| value >= expected)?;
        checks.equal(&format!("the {what} of the pushed files"), found, expected);
    }
    let of_job = |job: &str| {
        format!(
            "sum by (rank, le) (max_over_time(\
             gpuprof_function_gpu_seconds_bucket{{job=\"{job}\",function=\"{function}\"}}[5m]))"
        )
    };
    // As many series on either side have the same labels and the same value.
    let equal = format!("count({} == {})", of_job("batch"), of_job("gpuprof"));
    let equal = server.until(&equal, |count| count >= 2.0 * 29.0)?;
    checks.equal(
        "buckets that were pushed and scraped alike",
        equal,
        2.0 * 29.0,
    );
    let sums =
        |job: &str| format!("max_over_time(gpuprof_function_gpu_seconds_sum{{job=\"{job}\"}}[5m])");
    let sums = format!(
        "count(sum by (rank) ({}) == sum by (rank) ({}))",
        sums("batch"),
        sums("gpuprof")
    );
    let equal = server.until(&sums, |count| count >= 2.0)?;
    checks.equal("sums that were pushed and scraped alike", equal, 2.0);
    Ok(())
}
