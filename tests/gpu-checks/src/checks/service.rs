//! How many requests a service in standby answers per second: before somebody looks, meanwhile, and
//! afterwards.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use gpuprof::Profile;

use super::installed::{self, Installed};
use crate::check::{Check, Row, RunMode};
use crate::device::failed_in;
use crate::statistics::{Spread, figure};

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "service",
    promise: "A look at a service has all of its requests, and the service goes on.",
    limit: Duration::from_secs(180),
    run: service,
}];

/// The example that prints how many requests it has answered in each second.
const SERVICE: &str = "08_service_log";
/// More than it answers meanwhile.
const REQUESTS: &str = "1000000000";
/// How long the command may take beside the look itself.
const LIMIT: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

/// What is looked at, by the command's options. CUPTI forgets kernels after looks without stalls.
const LOOKS: [&[&str]; 4] = [
    &[],
    &["--cupti", "--stalls"],
    &["--cupti"],
    &["--cupti", "--counters"],
];

/// Copies and kernels of a request.
const COPIES: u64 = 3;

/// The seconds that the service has told of: when each was over, and its requests.
type Seconds = Arc<Mutex<Vec<(Instant, f64)>>>;

struct Service {
    child: Child,
    seconds: Seconds,
}

impl Service {
    fn start(installed: &Installed, program: &Path, run_mode: &RunMode) -> Result<Self, String> {
        let mut command = installed.command(program, run_mode);
        // As it is by default.
        command
            .env_remove("GPUPROF_SAMPLE")
            .env("GPUPROF", "standby");
        command.arg(REQUESTS).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(failed_in(SERVICE))?;
        let stdout = child.stdout.take();
        let service = Self {
            child,
            seconds: Seconds::default(),
        };
        let seconds = Arc::clone(&service.seconds);
        thread::spawn(move || {
            let lines = stdout
                .into_iter()
                .flat_map(|out| BufReader::new(out).lines());
            for line in lines.map_while(Result::ok) {
                let requests = line.split(' ').next().and_then(|text| text.parse().ok());
                if let Some(requests) = requests {
                    let mut seconds = seconds.lock().unwrap_or_else(PoisonError::into_inner);
                    seconds.push((Instant::now(), requests));
                }
            }
        });
        Ok(service)
    }

    /// The requests of each second that lies between two moments.
    fn between(&self, from: Instant, to: Instant) -> Vec<f64> {
        let seconds = self.seconds.lock().unwrap_or_else(PoisonError::into_inner);
        let inside = seconds
            .iter()
            .filter(|(end, _)| *end >= from + SECOND && *end <= to);
        inside.map(|(_, requests)| *requests).collect()
    }

    /// Those of the next seconds.
    fn next(&self, time: Duration) -> Vec<f64> {
        let from = Instant::now();
        thread::sleep(time);
        self.between(from, Instant::now())
    }

    fn goes_on(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn service(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let Some((installed, program)) = Installed::with_file(SERVICE, run_mode)? else {
        return Ok(vec![Row::unavailable(SERVICE, installed::NOT_IN_A_PACK)]);
    };
    let (look_time, pause) = if run_mode.short { (3, 3) } else { (10, 5) };
    let pause = Duration::from_secs(pause);
    let mut service = Service::start(&installed, &program, run_mode)?;
    // The first second loads the driver.
    thread::sleep(2 * SECOND);
    let before = Spread::of(&service.next(pause));
    let shown = |rates: &[f64]| {
        let rates = Spread::of(rates);
        let (of_before, median) = (rates.median / before.median, rates.median);
        format!(
            "{median:.0} ({:.0} to {:.0}), {of_before:.3} of before",
            rates.p25, rates.p75
        )
    };
    let requests = format!(
        "{:.0} ({:.0} to {:.0})",
        before.median, before.p25, before.p75
    );
    let mut rows = vec![figure(
        run_mode,
        "requests per second in standby, before",
        requests,
    )];
    for options in LOOKS {
        let name = format!("a look {}", options.join(" "));
        let began = Instant::now();
        let profile = look(&service, &installed, options, look_time, run_mode)?;
        let ended = Instant::now();
        let after = service.next(pause);
        let is_cupti = !options.is_empty();
        rows.push(whole(&name, &profile, is_cupti));
        let least = Spread::of(&service.between(began - SECOND, ended + SECOND)).least;
        for (when, requests) in [
            ("during", shown(&service.between(began, ended))),
            ("after", shown(&after)),
            ("the slowest second of", format!("{least:.0}")),
        ] {
            rows.push(figure(
                run_mode,
                format!("requests per second, {when} {name}"),
                requests,
            ));
        }
    }
    let goes_on = service.goes_on();
    rows.push(Row::judged(
        "the service afterwards",
        format!("goes on: {goes_on}"),
        "goes on: true",
        goes_on,
    ));
    Ok(rows)
}

/// Has the command look at the service for some seconds.
fn look(
    service: &Service,
    installed: &Installed,
    options: &[&str],
    seconds: u64,
    run_mode: &RunMode,
) -> Result<Profile, String> {
    let file = installed.folder().join("now.json");
    let (pid, time) = (service.child.id().to_string(), format!("{seconds}s"));
    let mut arguments: Vec<_> = ["snapshot", &pid, "--for", &time].map(OsStr::new).into();
    arguments.extend(options.iter().map(OsStr::new));
    arguments.extend([OsStr::new("-o"), file.as_os_str()]);
    let command = installed.folder().join("bin/gpuprof");
    let limit = LIMIT + Duration::from_secs(seconds);
    let ended = installed.run(&command, &arguments, limit, run_mode)?;
    if let Some(failure) = ended.failure() {
        return Err(format!("gpuprof snapshot: {failure}\n{}", ended.tail()));
    }
    let text = fs::read_to_string(&file).map_err(failed_in("the profile"))?;
    serde_json::from_str(&text).map_err(failed_in("the profile"))
}

/// Whether a profile has the kernel and the copies of each request, and knows the kernels of its
/// samples. One that is answered while the look begins or ends may have some of them outside.
fn whole(look: &str, profile: &Profile, is_cupti: bool) -> Row {
    let requests: u64 = profile.functions.iter().map(|of| of.calls).sum();
    let kernels: u64 = profile.kernels.iter().map(|of| of.times.calls).sum();
    let copies: u64 = profile.copies.iter().map(|of| of.times.calls).sum();
    let lost = profile.cupti.as_ref().map_or(0, |of| {
        of.dropped_records + of.invalid_records + of.unfinished + of.dropped_calls
    });
    let recorded = if is_cupti { requests } else { 0 };
    let is_whole = requests > 0
        && kernels.abs_diff(recorded) <= 1
        && copies.abs_diff(COPIES * recorded) <= COPIES
        && lost == 0
        && profile
            .stalls
            .as_ref()
            .is_none_or(|of| of.other_samples <= of.samples);
    let notes = profile.diagnostics.notes.join("; ");
    Row::judged(
        look,
        format!("{requests} requests, {kernels} kernels, {copies} copies, {lost} lost; {notes}"),
        "the kernel and the copies of each request, none lost",
        is_whole,
    )
}
