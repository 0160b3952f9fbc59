//! What a scrape costs the program: the CPU time of its process while nothing else runs in it.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::http;
use super::job::Job;

/// Scrapes whose mean is printed.
const SCRAPES: u32 = 50;

/// Between two scrapes: longer than a page is sent again for.
const PAUSE: Duration = Duration::from_millis(300);

/// How long the process is watched without a scrape.
const IDLE: Duration = Duration::from_secs(10);

/// A tick of `/proc/PID/stat`, which is 1/100 s on Linux.
const TICK: Duration = Duration::from_millis(10);

/// Measures a process with few functions and one with 500.
///
/// # Errors
/// A text for the user.
pub(super) fn measure(program: &Path, folder: &Path) -> Result<(), String> {
    println!("simulated device, this machine:");
    let mut job = Job::start(program, folder)?;
    let (id, port) = (job.process(0), job.ports[0]);
    for (what, line) in [("2 functions", "100"), ("502 functions", "many")] {
        job.tell(line)?;
        let before = cpu_time(id)?;
        thread::sleep(IDLE);
        let idle = cpu_time(id)? - before;
        println!("  {what}: {idle:?} of CPU time in {IDLE:?} without a scrape");
        let before = cpu_time(id)?;
        let (mut longest, mut bytes) = (Duration::ZERO, 0);
        for _ in 0..SCRAPES {
            thread::sleep(PAUSE);
            let began = Instant::now();
            let answer = http::request(port, "GET", "/metrics", b"")?;
            longest = longest.max(began.elapsed());
            bytes = answer.body.len();
        }
        let each = (cpu_time(id)? - before) / SCRAPES;
        println!(
            "  {what}: {each:?} of CPU time for a scrape of {bytes} bytes, mean of {SCRAPES}; the \
             slowest answer took {longest:?}"
        );
    }
    job.end()
}

/// User and system time of a process.
fn cpu_time(id: u32) -> Result<Duration, String> {
    let path = format!("/proc/{id}/stat");
    let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    // The name of the program, which may have spaces, is in parentheses.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    match (ticks(), ticks()) {
        (Some(user), Some(system)) => Ok(TICK * (user + system)),
        _ => Err(format!("{path} is not understood: {text}")),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_cpu_time_of_a_process_that_worked_is_found() {
        let began = std::time::Instant::now();
        while began.elapsed() < std::time::Duration::from_millis(50) {}
        assert!(super::cpu_time(std::process::id()).unwrap() > super::TICK);
    }
}
