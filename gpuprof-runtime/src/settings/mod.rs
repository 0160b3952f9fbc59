//! Settings: from the environment, or from a program's own [`SessionBuilder`](crate::SessionBuilder).
//!
//! A wrong value costs one clear line and the default, never the program. Must not import anything that measures.

use std::borrow::Cow;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use regex_lite::Regex;

use gpuprof_report::sanitize;
pub(crate) use gpuprof_report::schedule::Schedule;
pub(crate) use gpuprof_report::settings::{Mode, Output, Sampling, Sort};

/// Every setting of one measuring window.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    pub(crate) outputs: Vec<Output>,
    pub(crate) sort: Sort,
    /// Rows of the table; `None` for all.
    pub(crate) limit: Option<NonZeroUsize>,
    pub(crate) filter: Option<Regex>,
    /// Which calls are timed on the GPU; `None`: all, and with CUPTI as [`Sampling::Auto`].
    pub(crate) sampling: Option<Sampling>,
    pub(crate) exit_wait: Duration,
    pub(crate) schedule: Option<Schedule>,
    /// Whether SIGINT and SIGTERM print the report first.
    pub(crate) signals: bool,
    /// Time between rewrites of the JSON files.
    pub(crate) checkpoint: Option<Duration>,
    /// Whether CUPTI is to record kernels.
    pub(crate) cupti: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::On,
            outputs: vec![Output::Table],
            sort: Sort::default(),
            limit: NonZeroUsize::new(30),
            filter: None,
            sampling: None,
            exit_wait: Duration::from_secs(2),
            schedule: None,
            signals: false,
            checkpoint: None,
            cupti: false,
        }
    }
}

impl Settings {
    /// Which calls are timed on the GPU. With CUPTI, whose records are no burden to the GPU, events are not to be one either.
    pub(crate) fn sampling(&self, runs_cupti: bool) -> Sampling {
        let default = match self.cupti && runs_cupti {
            true => Sampling::Auto,
            false => Sampling::EveryCall,
        };
        self.sampling.unwrap_or(default)
    }

    /// Whether a function of this shown name is to be measured.
    pub(crate) fn measures(&self, name: &str) -> bool {
        self.mode != Mode::Off
            && self
                .filter
                .as_ref()
                .is_none_or(|filter| filter.is_match(name))
    }
}

const VARIABLES: [&str; 12] = [
    "GPUPROF",
    "GPUPROF_REPORT",
    "GPUPROF_SORT",
    "GPUPROF_LIMIT",
    "GPUPROF_FILTER",
    "GPUPROF_SAMPLE",
    "GPUPROF_EXIT_WAIT",
    "GPUPROF_SCHEDULE",
    "GPUPROF_SIGNALS",
    "GPUPROF_CHECKPOINT",
    "GPUPROF_CUPTI",
    "GPUPROF_CUPTI_LIBRARY",
];
/// Variables of gpuprof's own simulated device and tests, which are no settings.
const OTHERS: [&str; 2] = ["GPUPROF_SIM", "GPUPROF_TEST_"];

/// Settings from environment variables, and one line for each value that was not understood.
pub(crate) fn from_env(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> (Settings, Vec<String>) {
    let mut settings = Settings::default();
    let mut problems = Vec::new();
    for (name, value) in variables {
        let name = name.to_string_lossy();
        if !(name == "GPUPROF" || name.starts_with("GPUPROF_"))
            || OTHERS.iter().any(|other| name.starts_with(other))
        {
            continue;
        }
        let Some(value) = value.to_str() else {
            problems.push(format!(
                "{} is not valid UTF-8; using the default",
                shown_name(&name)
            ));
            continue;
        };
        if let Err(problem) = settings.set(&name, value.trim()) {
            problems.push(problem);
        }
    }
    if settings.mode == Mode::Nvtx && cfg!(not(feature = "nvtx")) {
        problems
            .push("GPUPROF=nvtx has no effect: gpuprof is built without its feature nvtx".into());
    }
    (settings, problems)
}

impl Settings {
    fn set(&mut self, variable: &str, value: &str) -> Result<(), String> {
        let wrong = |accepted: &str| {
            format!(
                "{variable}={} is not understood: {accepted}; using the default",
                shown(value)
            )
        };
        if value.is_empty() {
            return Ok(());
        }
        match variable {
            "GPUPROF" => {
                self.mode = mode(value).ok_or_else(|| wrong("it takes on, nvtx or off"))?
            }
            "GPUPROF_REPORT" => {
                self.outputs = outputs(value).ok_or_else(|| {
                    wrong("it takes none, or a comma list of table, tree and json=PATH")
                })?;
            }
            "GPUPROF_SORT" => {
                self.sort = value
                    .parse()
                    .map_err(|_| wrong("it takes gpu, cpu, calls, max or name"))?;
            }
            "GPUPROF_LIMIT" => {
                self.limit = value
                    .parse()
                    .map(NonZeroUsize::new)
                    .map_err(|_| wrong("it takes a number of rows, 0 for all"))?;
            }
            "GPUPROF_FILTER" => {
                let filter = Regex::new(value);
                self.filter =
                    Some(filter.map_err(|error| {
                        wrong(&format!("it takes a regular expression ({error})"))
                    })?);
            }
            "GPUPROF_SAMPLE" => {
                self.sampling = Some(Sampling::parse(value).ok_or_else(|| {
                    wrong("it takes a whole number N from 1, for 1 call in N, or auto")
                })?);
            }
            "GPUPROF_EXIT_WAIT" => {
                let wait = humantime::parse_duration(value);
                self.exit_wait =
                    wait.map_err(|_| wrong("it takes a duration such as 500ms or 2s"))?;
            }
            "GPUPROF_SCHEDULE" => {
                let schedule = Schedule::parse(value);
                self.schedule = Some(schedule.ok_or_else(|| {
                    wrong("it takes wait,warmup,active or wait,warmup,active,repeat in steps of gpuprof::step(), at least one of them active")
                })?);
            }
            "GPUPROF_SIGNALS" => {
                self.signals = switch(value).ok_or_else(|| wrong("it takes off or on"))?;
            }
            "GPUPROF_CHECKPOINT" => {
                self.checkpoint = match value {
                    "off" => None,
                    _ => Some(interval(value).ok_or_else(|| {
                        wrong("it takes a number of seconds from 0.01, such as 10, or off")
                    })?),
                };
            }
            "GPUPROF_CUPTI" => {
                self.cupti = switch(value).ok_or_else(|| wrong("it takes off or on"))?;
            }
            // Where a library lies, for whoever opens it: sessions with settings of their own look there as well.
            "GPUPROF_CUPTI_LIBRARY" => {}
            _ => {
                return Err(format!(
                    "{} is no setting of gpuprof; these are: {}",
                    shown_name(variable),
                    VARIABLES.join(", ")
                ));
            }
        }
        Ok(())
    }
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "on" | "1" => Some(true),
        "off" | "0" => Some(false),
        _ => None,
    }
}

fn mode(value: &str) -> Option<Mode> {
    match value {
        "on" | "1" => Some(Mode::On),
        "nvtx" => Some(Mode::Nvtx),
        "off" | "0" => Some(Mode::Off),
        _ => None,
    }
}

fn outputs(value: &str) -> Option<Vec<Output>> {
    if value == "none" {
        return Some(Vec::new());
    }
    let one = |item: &str| match item.trim() {
        "table" => Some(Output::Table),
        "tree" => Some(Output::Tree),
        item => match item.split_once('=') {
            Some(("json", path)) if !path.is_empty() => Some(Output::Json(from_here(path))),
            _ => None,
        },
    };
    value.split(',').map(one).collect()
}

/// The path from the root: a program that changes its folder later finds the same file.
fn from_here(path: &str) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path))
}

/// Seconds as a number, or a duration such as `500ms`.
fn interval(value: &str) -> Option<Duration> {
    const SHORTEST: Duration = Duration::from_millis(10);
    let seconds = value.parse::<f64>().ok();
    let interval = match seconds {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => humantime::parse_duration(value).ok(),
    };
    interval.filter(|interval| *interval >= SHORTEST)
}

/// How much of a name or value is repeated to the user.
const LONGEST: usize = 60;

/// A variable's name as part of a message.
fn shown_name(name: &str) -> Cow<'_, str> {
    sanitize::short(name, LONGEST)
}

/// A value as part of a message: one line, and not a screenful.
fn shown(value: &str) -> String {
    sanitize::quoted(value, LONGEST)
}

#[cfg(test)]
mod tests;
