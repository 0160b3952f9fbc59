//! `cargo xtask build-cost`: what gpuprof adds to a user's cold build and to the program's size.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::{Profile, Program, program_size};
use crate::workspace::{self, Workspace};

const USAGE: &str = "usage: cargo xtask build-cost [--release] [FEATURE]...";
/// Names the file to which xtask, as cargo's `RUSTC_WRAPPER`, adds a line for each call.
const LOG: &str = "XTASK_RUSTC_LOG";
/// Builds of each program, in turn.
const ROUNDS: u32 = 3;
/// Packages that take longer are listed.
const LISTED_SECONDS: f64 = 1.0;
/// Linux counts processor time in hundredths of a second (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

/// Builds a cudarc program cold, without gpuprof and with these features of it (`enable` alone
/// unless given), and prints the processor seconds and packages of both builds; of release
/// builds also how large the stripped programs are, and the code by crate.
///
/// # Errors
/// A text for the user: a wrong argument, or a build that fails.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (options, features): (Vec<&str>, Vec<&str>) = arguments
        .iter()
        .map(String::as_str)
        .partition(|word| word.starts_with('-'));
    let profile = match options[..] {
        [] => Profile::Debug,
        ["--release"] => Profile::Release,
        _ => return Err(USAGE.into()),
    };
    let features: Vec<_> = std::iter::once("enable").chain(features).collect();
    let folder = Workspace::load()?.target.join("build-cost");
    let (bare_folder, with_folder) = (folder.join("bare"), folder.join("with"));
    let (mut bare, mut with) = (None, None);
    for _ in 0..ROUNDS {
        let built = build_and_measure(&bare_folder, None, profile)?;
        bare = Some(cheaper(bare, built));
        let built = build_and_measure(&with_folder, Some(&features), profile)?;
        with = Some(cheaper(with, built));
    }
    let (Some(bare), Some(with)) = (bare, with) else {
        return Err("nothing was built".into());
    };
    print_seconds(&bare, &with, profile, &features.join(" "));
    if profile == Profile::Release {
        program_size::print(&bare.program, &with.program)?;
    }
    Ok(())
}

fn print_seconds(bare: &Build, with: &Build, profile: Profile, features: &str) {
    println!(
        "cold {} build of a cudarc program, the least of {ROUNDS} builds: processor seconds and \
         packages",
        profile.name()
    );
    println!(
        "  {:8.1} s {:4}  cudarc alone",
        bare.seconds,
        bare.packages.len()
    );
    println!(
        "  {:8.1} s {:4}  with gpuprof [{features}]: {:.2} times, +{} packages",
        with.seconds,
        with.packages.len(),
        with.seconds / bare.seconds,
        with.packages.len() - bare.packages.len(),
    );
    let mut packages: Vec<_> = with.packages.iter().collect();
    packages.sort_by(|one, other| other.1.total_cmp(one.1));
    for (package, seconds) in packages {
        if *seconds > LISTED_SECONDS {
            println!("  {seconds:8.1} s       {package}");
        }
    }
}

/// One build.
struct Build {
    /// Processor time of cargo and everything that it ran.
    seconds: f64,
    /// Processor seconds by package, its build script included.
    packages: BTreeMap<String, f64>,
    program: PathBuf,
}

/// Other programs on the machine only add to a build.
fn cheaper(known: Option<Build>, new: Build) -> Build {
    known
        .filter(|known| known.seconds <= new.seconds)
        .unwrap_or(new)
}

fn build_and_measure(
    folder: &Path,
    features: Option<&[&str]>,
    profile: Profile,
) -> Result<Build, String> {
    let failed = |error| format!("{}: {error}", folder.display());
    workspace::empty_folder(folder)?;
    let program = Program::write(folder, features)?;
    let log = folder.join("rustc.log");
    let target = folder.join("target");
    let mut build = program.build(&target, profile);
    build
        .env("RUSTC_WRAPPER", env::current_exe().map_err(failed)?)
        .env(LOG, &log);
    let before = seconds_of_children()?;
    workspace::succeed(&mut build)?;
    let seconds = seconds_of_children()? - before;
    let mut packages = BTreeMap::new();
    for line in fs::read_to_string(&log).map_err(failed)?.lines() {
        if let Some((package, seconds)) = line.rsplit_once(' ') {
            *packages.entry(package.into()).or_default() += seconds.parse().unwrap_or(0.0);
        }
    }
    Ok(Build {
        seconds,
        packages,
        program: target.join(profile.name()).join("outside"),
    })
}

/// Whether cargo runs this process in place of rustc; see [`rustc`].
pub(crate) fn is_rustc_wrapper() -> bool {
    env::var_os(LOG).is_some()
}

/// Runs rustc and adds its package and processor seconds to the log.
pub(crate) fn rustc() -> ExitCode {
    let mut words = env::args_os().skip(1);
    let rustc: OsString = words.next().unwrap_or_else(|| "rustc".into());
    let status = Command::new(rustc).args(words).status();
    // Not set when cargo only asks for the version.
    if let Ok(package) = env::var("CARGO_PKG_NAME") {
        let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
        let seconds = seconds_of_children().unwrap_or(0.0);
        let log = env::var_os(LOG).unwrap_or_default();
        let log = OpenOptions::new().create(true).append(true).open(log);
        let line = format!("{package} {version} {seconds}\n");
        // A line that is lacking fails the count, not the build.
        let _ = log.and_then(|mut log| log.write_all(line.as_bytes()));
    }
    let code = status.ok().and_then(|status| status.code()).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Processor time of all processes that this one has waited for: cutime and cstime (proc(5)).
fn seconds_of_children() -> Result<f64, String> {
    let stat = fs::read_to_string("/proc/self/stat").map_err(|error| format!("/proc: {error}"))?;
    // The second field is the program's name in parentheses and may hold anything.
    let fields = stat.rsplit_once(") ").map(|(_, rest)| rest.split(' '));
    let ticks = fields.into_iter().flatten().skip(13).take(2);
    let ticks: Vec<f64> = ticks.filter_map(|field| field.parse().ok()).collect();
    match ticks[..] {
        [user, system] => Ok((user + system) / TICKS_PER_SECOND),
        _ => Err("/proc/self/stat lacks the processor time".into()),
    }
}
