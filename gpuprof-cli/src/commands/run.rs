//! `gpuprof run`: runs a program with the settings that its arguments stand for, and says if what
//! was asked for did not happen.

mod values;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

use clap::Args;
use gpuprof_report::profile::Profile;
use gpuprof_report::setting_values::Output;
use gpuprof_report::variables::{CHECKPOINT, COUNTERS, DELAY, FOR, FROM_START, STACKS, STALLS};
use gpuprof_report::{sanitize, table};
use tempfile::TempDir;

use self::values::{CuptiFlag, NONE, Switch};
use crate::child::Child;
use crate::machine::injected_library;
use crate::machine::libraries::{self, FoundDriver};
use crate::output::{self, Exit, complain};
use crate::written_profiles::{Expected, WrittenProfiles};

/// Runs a program and shows where its GPU time went
///
/// Any program that uses CUDA: if it is not built with gpuprof, all its kernels, copies and CUDA
/// calls are recorded. The command sets the GPUPROF variables for the program, passes SIGHUP,
/// SIGINT, SIGQUIT and SIGTERM to it, and exits as it does: with its status, or with 128 and the
/// number of the signal that ended it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArguments {
    /// Record kernels, copies and CUDA calls through CUPTI (GPUPROF_CUPTI)
    #[arg(
        long,
        value_enum,
        value_name = "MODE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "on"
    )]
    cupti: Option<CuptiFlag>,

    /// Sample the hardware counters of the GPU, with --cupti (GPUPROF_COUNTERS): before its own
    /// choice up to 8 metrics of CUPTI, separated by commas
    #[arg(
        long,
        value_name = "METRICS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "on",
        value_parser = values::counters
    )]
    counters: Option<String>,

    /// Report from which source lines kernels are launched, of Python too, with --cupti
    /// (GPUPROF_STACKS)
    #[arg(long)]
    stacks: bool,

    /// Sample for what the warps of kernels wait and where, with --cupti (GPUPROF_STALLS)
    #[arg(long)]
    stalls: bool,

    /// Record which function allocates and frees memory, with --cupti (GPUPROF_MEMORY)
    #[arg(long)]
    memory: bool,

    /// Write the time line into this file; a program that contains gpuprof needs its feature trace
    #[arg(long, value_name = "PATH", value_parser = values::trace_path)]
    trace: Option<String>,

    /// What is written at exit, as in GPUPROF_REPORT: table, table:full, json=PATH, csv=PATH,
    /// folded=PATH, folded:cpu=PATH, pprof=PATH, html=PATH, trace=PATH or none; may be repeated
    /// [default: table]
    #[arg(long, value_name = "SPEC", value_parser = values::report_items)]
    report: Vec<String>,

    /// Which calls are timed on the GPU, as in GPUPROF_SAMPLE: auto:P%, or N for 1 call in N
    #[arg(
        long,
        value_name = "SPEC",
        value_parser = values::sampling,
        allow_negative_numbers = true
    )]
    sample: Option<String>,

    /// Off: measure from each cudaProfilerStart to the next cudaProfilerStop of the program
    /// (GPUPROF_FROM_START)
    #[arg(long, value_enum, value_name = "SWITCH")]
    profile_from_start: Option<Switch>,

    /// How long after CUDA is initialized measuring begins, or after the first profiled call, such
    /// as 500ms or 2s (GPUPROF_DELAY)
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = values::duration,
        allow_hyphen_values = true
    )]
    delay: Option<String>,

    /// How long the program is measured; it goes on afterwards (GPUPROF_FOR)
    #[arg(
        long = "for",
        value_name = "DURATION",
        value_parser = values::duration,
        allow_hyphen_values = true
    )]
    length: Option<String>,

    /// Measure nothing until a viewer looks: gpuprof snapshot, trace or top (GPUPROF=standby)
    #[arg(long)]
    standby: bool,

    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    program: Vec<OsString>,
}

impl RunArguments {
    /// Whether it asks for what is of no use without CUPTI's records.
    fn needs_records(&self) -> bool {
        self.counters.is_some() || self.stacks || self.stalls || self.memory
    }

    /// The first argument that says what is recorded, and when.
    fn recorded(&self) -> Option<&'static str> {
        let given = [
            ("--cupti", self.cupti.is_some()),
            ("--counters", self.counters.is_some()),
            ("--stacks", self.stacks),
            ("--stalls", self.stalls),
            ("--memory", self.memory),
            ("--trace", self.trace.is_some()),
            ("--report", !self.report.is_empty()),
            ("--profile-from-start", self.profile_from_start.is_some()),
            ("--delay", self.delay.is_some()),
            ("--for", self.length.is_some()),
        ];
        let given = given.into_iter().find(|(_, is_given)| *is_given);
        given.map(|(argument, _)| argument)
    }
}

const EXAMPLES: &str = "\
Examples:
  gpuprof run -- ./a.out
  gpuprof run -- python3 train.py
  gpuprof run -- target/release/train --epochs 3
  gpuprof run --cupti --report table:full -- cargo run --release
  gpuprof run --counters -- target/release/train
  gpuprof run --counters=lts__t_sectors.sum -- target/release/train
  gpuprof run --stacks -- target/release/train
  gpuprof run --stalls -- target/release/train
  gpuprof run --standby -- python3 serve.py
  gpuprof run --report json=run-{pid}.json --report csv=run.csv -- ./server";

/// Runs the command.
pub(crate) fn run(arguments: &RunArguments) -> Exit {
    let [program, rest @ ..] = arguments.program.as_slice() else {
        return Exit::BadInput;
    };
    let is_timed = arguments.delay.is_some() || arguments.length.is_some();
    if arguments.profile_from_start == Some(Switch::Off) && is_timed {
        complain(
            "--profile-from-start off leaves it to the program when it is measured: --delay and \
             --for cannot be given too",
        );
        return Exit::BadInput;
    }
    let is_standby = arguments.standby || env::var("GPUPROF").is_ok_and(|mode| mode == STANDBY);
    if let Some(argument) = arguments.recorded().filter(|_| is_standby) {
        let source = if arguments.standby {
            "with --standby"
        } else {
            "beside GPUPROF=standby"
        };
        complain(format_args!(
            "{argument} has no effect {source}: viewers say what is recorded, such as gpuprof \
             snapshot --cupti --for 10s; leave out one of the two"
        ));
        return Exit::BadInput;
    }
    let folder = if is_standby {
        None
    } else {
        folder_for_profiles()
    };
    let outputs = outputs(arguments);
    let mut command = Command::new(program);
    command.args(rest);
    if is_standby {
        command.env("GPUPROF", STANDBY);
        command.envs(arguments.sample.iter().map(|sample| (SAMPLE, sample)));
    } else {
        command.envs(variables(arguments, &outputs, folder.as_ref()));
    }
    // The injected library is silent in a program that contains gpuprof.
    let injection = injected_library::find(program);
    if let Ok(library) = &injection {
        command.env(injected_library::VARIABLE, library);
        // Another tool's is left alone: then the program has no rows for its ranges.
        let taken = env::var_os(injected_library::NVTX_VARIABLE);
        if taken.is_none_or(|library| library.is_empty()) {
            command.env(injected_library::NVTX_VARIABLE, library);
        }
    }
    let shown = sanitize::short(&program.to_string_lossy(), MAX_PATH).into_owned();
    let status = match Child::start(command).and_then(Child::wait) {
        Ok(status) => status,
        Err(error) => {
            complain(format_args!("{shown}: {error}"));
            return Exit::Program(error.code());
        }
    };
    if let Some(folder) = folder {
        let profiles = WrittenProfiles::read(folder.path());
        let mut still_runs = false;
        for profile in profiles.cut_off() {
            if is_running(profile.pid) {
                still_runs = true;
                complain(format_args!(
                    "{}, process {}, still runs: its report comes when it ends",
                    sanitize::short(&profile.program, MAX_PATH),
                    profile.pid
                ));
            } else {
                report_cut_off(profile, &outputs);
            }
        }
        let expected = Expected {
            records: arguments.cupti.is_some() || arguments.needs_records(),
            table: tables(&outputs).next().is_some(),
            no_injection: injection.err(),
        };
        for line in profiles.remarks(&shown, status, &expected, missing_driver) {
            complain(line);
        }
        if still_runs {
            // It writes there when it ends.
            let _ = folder.keep();
        }
    }
    Exit::Program(code(status))
}

/// Reports a process that could not: children of Python's multiprocessing end by `_exit`, and
/// others by a signal.
fn report_cut_off(profile: &Profile, outputs: &[String]) {
    let tables: Vec<Output> = tables(outputs).collect();
    if !tables.is_empty() {
        let mut options = output::table_options_for_stderr();
        options.full = tables.contains(&Output::FullTable);
        let mut text = Vec::new();
        // Writing into memory does not fail; standard error may, and nothing is left to do then.
        let _ = table::write(profile, &options, &mut text);
        let _ = io::stderr().write_all(&text);
    }
    complain(format_args!(
        "{}, process {}, ended without its exit handlers (_exit, abort, a signal, exec): its table \
         and its JSON files are those of its last checkpoint, at most {CHECKPOINT_SECONDS} s older \
         unless GPUPROF_CHECKPOINT says otherwise; other files are not written",
        sanitize::short(&profile.program, MAX_PATH),
        profile.pid,
    ));
}

/// Whether a process of this number exists, which may be another one by now.
fn is_running(pid: u32) -> bool {
    pid != 0 && Path::new(&format!("/proc/{pid}")).exists()
}

/// What is wrong with the machine's CUDA driver, if anything is.
fn missing_driver() -> Option<String> {
    match libraries::driver() {
        FoundDriver::Works { .. } => None,
        FoundDriver::Missing => Some("no CUDA driver is found (libcuda.so.1)".to_owned()),
        FoundDriver::Broken(code) => Some(format!(
            "the CUDA driver does not start (cuInit returned {code})"
        )),
    }
}

/// Characters of a path that a message shows.
const MAX_PATH: usize = 200;

/// The exit code that a shell would have: that of the program, or 128 and its signal.
fn code(status: ExitStatus) -> u8 {
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 1,
    };
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// A folder for the profiles that are looked at; without one the program runs all the same. A comma
/// in its path would end the item of `GPUPROF_REPORT`.
fn folder_for_profiles() -> Option<TempDir> {
    let folder = tempfile::Builder::new().prefix("gpuprof-").tempdir().ok()?;
    let path = folder.path().to_str()?;
    (!path.contains(',')).then_some(folder)
}

/// The variables that the arguments stand for.
fn variables(
    arguments: &RunArguments,
    outputs: &[String],
    folder: Option<&TempDir>,
) -> Vec<(&'static str, OsString)> {
    let mut variables = Vec::new();
    variables.push(("GPUPROF_REPORT", report(outputs, folder)));
    // For processes that end without their exit handlers.
    if folder.is_some() && env::var_os(CHECKPOINT).is_none() {
        variables.push((CHECKPOINT, CHECKPOINT_SECONDS.to_string().into()));
    }
    variables.extend((arguments.sample.iter()).map(|sample| (SAMPLE, sample.into())));
    if let Some(switch) = arguments.profile_from_start {
        let switch = match switch {
            Switch::On => "on",
            Switch::Off => "off",
        };
        variables.push((FROM_START, switch.into()));
    }
    for (name, duration) in [(DELAY, &arguments.delay), (FOR, &arguments.length)] {
        variables.extend(duration.iter().map(|duration| (name, duration.into())));
    }
    variables.extend((arguments.counters.iter()).map(|counters| (COUNTERS, counters.into())));
    // They switch it on, in the program's own mode, unless it is switched off.
    let is_off = || env::var("GPUPROF_CUPTI").is_ok_and(|mode| ["off", "0"].contains(&mode.trim()));
    let is_marked = arguments.profile_from_start == Some(Switch::Off);
    let is_needed = (arguments.needs_records() || is_marked) && is_off();
    if let Some(mode) = arguments.cupti.or(is_needed.then_some(CuptiFlag::On)) {
        let mode = match mode {
            CuptiFlag::On => "on",
            CuptiFlag::Full => "full",
        };
        variables.push(("GPUPROF_CUPTI", mode.into()));
    }
    for (name, is_on) in [
        (STACKS, arguments.stacks),
        (STALLS, arguments.stalls),
        ("GPUPROF_MEMORY", arguments.memory),
    ] {
        variables.extend(is_on.then(|| (name, "on".into())));
    }
    variables
}

/// The outputs: those of the arguments, or of the variable, or the table.
fn outputs(arguments: &RunArguments) -> Vec<String> {
    let mut items = arguments.report.clone();
    if items.is_empty() {
        let stated = env::var("GPUPROF_REPORT").ok();
        let stated = stated.filter(|stated| !stated.trim().is_empty());
        items.push(stated.unwrap_or_else(|| "table".to_owned()));
    }
    items.retain(|item| item.trim() != NONE);
    items.extend(arguments.trace.iter().map(|path| format!("trace={path}")));
    items
}

/// The tables, which show the profile's notes, among outputs that are separated by commas.
fn tables(outputs: &[String]) -> impl Iterator<Item = Output> {
    let items = outputs.iter().flat_map(|items| items.split(','));
    let parsed = items.filter_map(|item| Output::parse(item.trim()));
    parsed.filter(|output| matches!(output, Output::Table | Output::FullTable))
}

/// The outputs, and the profile that is looked at.
fn report(outputs: &[String], folder: Option<&TempDir>) -> OsString {
    let mut items = outputs.to_vec();
    if let Some(folder) = folder {
        items.push(format!("json={}/{{pid}}.json", folder.path().display()));
    }
    if items.is_empty() {
        NONE.into()
    } else {
        items.join(",").into()
    }
}

/// The value of `GPUPROF` by which a program waits for viewers.
const STANDBY: &str = "standby";

const SAMPLE: &str = "GPUPROF_SAMPLE";

/// What programs wait between checkpoints of their profiles.
const CHECKPOINT_SECONDS: u32 = 1;
