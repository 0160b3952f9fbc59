//! Reads the settings from environment variables.
//!
//! A wrong value is reported in one line and leaves the default; it never stops the program.

use std::borrow::Cow;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use regex_lite::Regex;

use super::placeholders::unknown_placeholders;
use super::{CuptiMode, Metrics, Mode, Output, Sampling, Settings};
use gpuprof_report::profile::parse_meta;
use gpuprof_report::sanitize;
use gpuprof_report::setting_values::WrongCounters;
use gpuprof_report::variables::{Setting, VARIABLES, Variable};

/// Prefixes of variables that belong to the simulated device and the tests.
const FOREIGN: [&str; 2] = ["GPUPROF_SIM", "GPUPROF_TEST_"];

const PREFIX: &str = "GPUPROF_";

/// The value of `GPUPROF_REPORT` for no output.
const NONE: &str = "none";

const CONTRADICTION: &str = "GPUPROF_DELAY and GPUPROF_FOR have no effect beside \
    GPUPROF_FROM_START=off, by which the program's calls of cudaProfilerStart and cudaProfilerStop \
    bound what is measured";

const STANDBY_IS_LIVE: &str =
    "GPUPROF_LIVE=off has no effect beside GPUPROF=standby, which waits for viewers";

/// The settings, and one line for each value that is not understood.
pub(crate) fn from_env(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> (Settings, Vec<String>) {
    let mut settings = Settings::default();
    let (mut problems, mut stated) = (Vec::new(), Vec::new());
    for (name, value) in variables {
        let name = name.to_string_lossy();
        if !(name == "GPUPROF" || name.starts_with(PREFIX))
            || FOREIGN.iter().any(|prefix| name.starts_with(prefix))
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
        let Some(variable) = VARIABLES.iter().find(|variable| variable.name == name) else {
            if !value.trim().is_empty() {
                problems.push(unknown(&name));
            }
            continue;
        };
        match settings.set(variable.setting, value.trim()) {
            Ok(()) if value.trim().is_empty() => {}
            Ok(()) => stated.push(variable),
            Err(detail) => problems.push(wrong(variable, value.trim(), &detail)),
        }
    }
    if !settings.from_start && settings.is_timed() {
        // The program's marks are more exact than times.
        (settings.delay, settings.length) = (None, None);
        problems.push(CONTRADICTION.into());
    }
    if settings.standby {
        let states_live = stated.iter().any(|of| matches!(of.setting, Setting::Live));
        if states_live && !settings.live {
            problems.push(STANDBY_IS_LIVE.into());
        }
        problems.extend(settings.stand_by(&stated));
    }
    let paths = settings.outputs.iter().filter_map(Output::path);
    let paths = paths.chain(settings.metrics.files.iter().map(PathBuf::as_path));
    problems.extend(paths.flat_map(unknown_placeholders));
    if settings.mode == Mode::Nvtx && cfg!(not(feature = "nvtx")) {
        problems
            .push("GPUPROF=nvtx has no effect: gpuprof is built without its feature nvtx".into());
    }
    if !settings.metrics.is_empty() && cfg!(not(feature = "metrics")) {
        problems.push(
            "GPUPROF_METRICS has no effect: gpuprof is built without its feature metrics".into(),
        );
    }
    if settings.has_tracing_targets && cfg!(not(feature = "tracing")) {
        problems.push(
            "GPUPROF_TRACING has no effect: gpuprof is built without its feature tracing".into(),
        );
    }
    (settings, problems)
}

/// Whether the layer for `tracing` reads this value.
#[cfg(feature = "tracing")]
fn is_list_of_targets(value: &str) -> bool {
    value.parse::<tracing_subscriber::filter::Targets>().is_ok()
}

#[cfg(not(feature = "tracing"))]
fn is_list_of_targets(_: &str) -> bool {
    true
}

/// How similar the ends of two names must be for the one to be suggested instead of the other; 1 is
/// equal.
const SIMILAR: f64 = 0.6;

fn unknown(name: &str) -> String {
    let end = name.strip_prefix(PREFIX).unwrap_or(name);
    let ends = VARIABLES
        .iter()
        .filter_map(|variable| variable.name.strip_prefix(PREFIX));
    let by_similarity = ends
        .clone()
        .map(|known| (strsim::normalized_damerau_levenshtein(end, known), known));
    let name = shown_name(name);
    match by_similarity.max_by(|(a, _), (b, _)| a.total_cmp(b)) {
        Some((similarity, known)) if similarity >= SIMILAR => {
            format!("unknown setting {name}; did you mean {PREFIX}{known}?")
        }
        _ => {
            let ends = ends.collect::<Vec<_>>().join(", ");
            format!("unknown setting {name}; the settings are GPUPROF, and {PREFIX} with {ends}")
        }
    }
}

fn wrong(variable: &Variable, value: &str, why: &NotUnderstood) -> String {
    let Variable { name, accepts, .. } = variable;
    let (value, detail, instead) = match why {
        NotUnderstood::Value(detail) => (value, detail.as_str(), "using the default"),
        NotUnderstood::Items(items) => (items.as_str(), "", "using the others"),
        NotUnderstood::NoneBesideOthers => {
            let value = sanitize::quoted(value, MAX_SHOWN);
            return format!(
                "{name}={value}: {NONE} stands alone, and has no effect beside other outputs"
            );
        }
    };
    let value = sanitize::quoted(value, MAX_SHOWN);
    format!("{name}={value} is not understood: it takes {accepts}{detail}; {instead}")
}

/// What a setting does not take.
enum NotUnderstood {
    /// The value; with what to add to the message.
    Value(String),
    /// These items of a list, of which the others are taken.
    Items(String),
    /// [`NONE`] in a list of outputs.
    NoneBesideOthers,
}

impl Settings {
    fn set(&mut self, setting: Setting, value: &str) -> Result<(), NotUnderstood> {
        if value.is_empty() {
            return Ok(());
        }
        let wrong = || NotUnderstood::Value(String::new());
        match setting {
            Setting::Mode => {
                self.standby = value == "standby";
                self.mode = mode(value).ok_or_else(wrong)?;
            }
            Setting::Report => self.set_outputs(value)?,
            Setting::Sort => self.sort = value.parse().map_err(|_| wrong())?,
            Setting::Limit => {
                let rows = value.parse().map_err(|_| wrong())?;
                self.limit = NonZeroUsize::new(rows);
            }
            Setting::Filter => {
                let filter = Regex::new(value)
                    .map_err(|error| NotUnderstood::Value(format!(" ({error})")))?;
                self.filter = Some(filter);
            }
            Setting::Sample => self.sampling = Some(Sampling::parse(value).ok_or_else(wrong)?),
            Setting::TraceLimit => {
                let events = value.parse::<NonZeroUsize>().map_err(|_| wrong())?;
                self.trace_limit = events.get();
            }
            Setting::FromStart => self.from_start = switch(value).ok_or_else(wrong)?,
            Setting::Delay => self.delay = Some(duration(value).ok_or_else(wrong)?),
            Setting::For => self.length = Some(duration(value).ok_or_else(wrong)?),
            Setting::ExitWait => {
                self.exit_wait = humantime::parse_duration(value).map_err(|_| wrong())?;
            }
            Setting::Signals => self.signals = switch(value).ok_or_else(wrong)?,
            Setting::Checkpoint => {
                self.checkpoint = match value {
                    "off" => None,
                    _ => Some(interval(value).ok_or_else(wrong)?),
                };
            }
            Setting::Cupti => self.cupti = Some(cupti(value).ok_or_else(wrong)?),
            Setting::Counters => {
                let counters: Result<_, WrongCounters> = value.parse();
                self.counters =
                    counters.map_err(|error| NotUnderstood::Value(format!(" ({error})")))?;
            }
            Setting::Stacks => self.stacks = switch(value).ok_or_else(wrong)?,
            Setting::Stalls => self.stalls = switch(value).ok_or_else(wrong)?,
            Setting::Memory => self.memory = switch(value).ok_or_else(wrong)?,
            Setting::Live => self.live = switch(value).ok_or_else(wrong)?,
            Setting::Metrics => self.metrics = Metrics::parse(value).ok_or_else(wrong)?,
            Setting::Tracing => {
                if !is_list_of_targets(value) {
                    return Err(wrong());
                }
                self.has_tracing_targets = true;
            }
            // Read when CUPTI starts, for sessions of the program as well.
            Setting::CuptiLibrary => {}
            // Read when a profile is taken, for sessions of the program as well.
            Setting::Meta => {
                parse_meta(value).ok_or_else(wrong)?;
            }
        }
        Ok(())
    }

    /// Leaves what viewers decide, or what is of a whole run. Returns a line for what was stated of
    /// that.
    fn stand_by(&mut self, stated: &[&Variable]) -> Option<String> {
        let has_effect = |variable: &&&Variable| {
            matches!(
                variable.setting,
                Setting::Mode
                    | Setting::Filter
                    | Setting::Sample
                    | Setting::TraceLimit
                    | Setting::ExitWait
                    | Setting::CuptiLibrary
                    | Setting::Meta
                    | Setting::Live
                    | Setting::Tracing
            )
        };
        let others = stated.iter().filter(|variable| !has_effect(variable));
        let names: Vec<&str> = others.map(|variable| variable.name).collect();
        *self = Self {
            mode: self.mode,
            outputs: Vec::new(),
            filter: self.filter.take(),
            sampling: self.sampling,
            exit_wait: self.exit_wait,
            trace_limit: self.trace_limit,
            has_tracing_targets: self.has_tracing_targets,
            live: true,
            standby: true,
            ..Self::default()
        };
        (!names.is_empty()).then(|| {
            let (names, have) = (
                names.join(", "),
                if names.len() == 1 { "has" } else { "have" },
            );
            format!("{names} {have} no effect beside GPUPROF=standby: viewers say what is recorded")
        })
    }

    /// Takes the outputs that it understands.
    fn set_outputs(&mut self, value: &str) -> Result<(), NotUnderstood> {
        if value == NONE {
            self.outputs.clear();
            return Ok(());
        }
        let items = || value.split(',').map(str::trim);
        let outputs: Vec<Output> = items().filter_map(Output::parse).collect();
        if outputs.is_empty() {
            return Err(NotUnderstood::Value(String::new()));
        }
        self.outputs = outputs;
        let unknown = items().filter(|item| Output::parse(item).is_none());
        let (none, unknown): (Vec<&str>, Vec<&str>) = unknown.partition(|item| *item == NONE);
        match (unknown.as_slice(), none.as_slice()) {
            ([], []) => Ok(()),
            ([], _) => Err(NotUnderstood::NoneBesideOthers),
            _ => Err(NotUnderstood::Items(unknown.join(","))),
        }
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
        "off" | "0" | "standby" => Some(Mode::Off),
        _ => None,
    }
}

fn cupti(value: &str) -> Option<CuptiMode> {
    match value {
        "full" => Some(CuptiMode::Full),
        "on" | "1" => Some(CuptiMode::On),
        "off" | "0" => Some(CuptiMode::Off),
        _ => None,
    }
}

/// A duration other than zero.
fn duration(value: &str) -> Option<Duration> {
    let duration = humantime::parse_duration(value).ok();
    duration.filter(|duration| !duration.is_zero())
}

/// Seconds as a number, or a duration such as `500ms`.
fn interval(value: &str) -> Option<Duration> {
    const MIN: Duration = Duration::from_millis(10);
    let seconds = value.parse::<f64>().ok();
    let interval = match seconds {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => humantime::parse_duration(value).ok(),
    };
    interval.filter(|interval| *interval >= MIN)
}

/// Characters of a name or value that a message shows.
const MAX_SHOWN: usize = 60;

fn shown_name(name: &str) -> Cow<'_, str> {
    sanitize::short(name, MAX_SHOWN)
}
