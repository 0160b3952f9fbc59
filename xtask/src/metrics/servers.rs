//! Prometheus and its Pushgateway, on ports of their own and with all files in one folder.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use super::http;

/// A multiple of what a server takes to start.
const START_LIMIT: Duration = Duration::from_secs(60);

/// A server, which is killed on drop.
pub(super) struct Running {
    child: Child,
    pub(super) port: u16,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Longer than the interval of scrapes.
pub(super) fn pause() {
    thread::sleep(Duration::from_millis(1_200));
}

/// # Errors
/// A text for the user.
pub(super) fn start_gateway(folder: &Path) -> Result<Running, String> {
    let port = http::free_port()?;
    let mut command = Command::new("prometheus-pushgateway");
    command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
    start(&mut command, port, folder)
}

/// Prometheus scrapes the ranks and the Pushgateway, and evaluates the alerts in the file `rules`,
/// each second.
///
/// # Errors
/// A text for the user.
pub(super) fn start_prometheus(
    rules: &Path,
    folder: &Path,
    ranks: &[u16],
    gateway: u16,
) -> Result<Running, String> {
    let targets: Vec<_> = ranks
        .iter()
        .map(|port| format!("\"127.0.0.1:{port}\""))
        .collect();
    let configuration = format!(
        "global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\n\
         rule_files: [\"{}\"]\n\
         scrape_configs:\n\
         - job_name: gpuprof\n  static_configs:\n  - targets: [{}]\n\
         - job_name: pushgateway\n  honor_labels: true\n  static_configs:\n  \
         - targets: [\"127.0.0.1:{gateway}\"]\n",
        rules.display(),
        targets.join(", ")
    );
    let path = folder.join("prometheus.yml");
    fs::write(&path, configuration).map_err(|error| format!("{}: {error}", path.display()))?;
    let port = http::free_port()?;
    let mut command = Command::new("prometheus");
    command
        .arg(format!("--config.file={}", path.display()))
        .arg(format!(
            "--storage.tsdb.path={}",
            folder.join("data").display()
        ))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"));
    start(&mut command, port, folder)
}

/// Starts a server and waits until it says that it is ready.
fn start(command: &mut Command, port: u16, folder: &Path) -> Result<Running, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let log = folder.join(format!("{name}.log"));
    let failed = |error: std::io::Error| format!("{}: {error}", log.display());
    let file = File::create(&log).map_err(failed)?;
    let copy = file.try_clone().map_err(failed)?;
    let child = command.stdout(file).stderr(copy).spawn();
    let child = child.map_err(|error| format!("cannot run {name}: {error}"))?;
    let running = Running { child, port };
    let began = Instant::now();
    loop {
        let ready = http::request(port, "GET", "/-/ready", b"");
        if ready.is_ok_and(|ready| ready.status == 200) {
            return Ok(running);
        }
        if began.elapsed() > START_LIMIT {
            return Err(format!("{name} does not start: see {}", log.display()));
        }
        thread::sleep(Duration::from_millis(50));
    }
}
