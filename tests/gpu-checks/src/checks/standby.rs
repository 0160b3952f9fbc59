//! What a program in standby costs: before a viewer looks, while one does, and after the last one.
//!
//! Two loops: launches of a kernel that is shorter than its launch, so that the host's time
//! decides, and kernels that are longer.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile};
use gpuprof_report::live::{
    Head, MAX_FRAME_BYTES, from_json, read_document, read_frame, socket_name, write_frame,
};
use serde::{Deserialize, Serialize};

use super::TestProgram;
use crate::check::{Check, Row, RunMode};
use crate::hand_timed::{self, Answer, Kernel};
use crate::statistics::{Spread, figure, performance};
use crate::{device, process, runner};

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "standby",
    promise: "Standby costs nothing until a viewer looks, and a look is counted exactly.",
    limit: Duration::from_secs(480),
    run: standby,
}];

pub(crate) const PROGRAMS: &[TestProgram] = &[(BARE, run_bare), (IN_STANDBY, run_in_standby)];

const BARE: &str = "standby-bare";
const IN_STANDBY: &str = "standby-looked-at";
/// The accepted duration of a loop of long kernels in standby, relative to one without gpuprof.
/// Launches back to back vary by a fifth (H100, CUDA 13.0).
const WANTED: f64 = 1.01;
const LONG_KERNEL_NS: u64 = 100_000;
const LIMIT: Duration = Duration::from_secs(60);
/// How long an answer may take: CUPTI starts, and what samples by it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A loop of one kernel.
#[derive(Clone, Copy)]
struct Loop {
    name: &'static str,
    kernel_ns: u64,
    launches: u64,
    short_launches: u64,
}

const LOOPS: [Loop; 2] = [
    Loop {
        name: "launches of 1 µs",
        kernel_ns: 1_000,
        launches: 200_000,
        short_launches: 2_000,
    },
    Loop {
        name: "kernels of 100 µs",
        kernel_ns: 100_000,
        launches: 5_000,
        short_launches: 50,
    },
];

impl Loop {
    fn launches(self, run_mode: &RunMode) -> u64 {
        if run_mode.short {
            self.short_launches
        } else {
            self.launches
        }
    }
}

/// When a loop runs; each is compared with the same without gpuprof.
const PHASES: [&str; 5] = [
    "in standby, before",
    "during a look at calls",
    "after that look",
    "during a look with --cupti",
    "after the last viewer",
];

/// What the programs print: for each phase the times of the loops, ns.
#[derive(Serialize, Deserialize)]
struct Looped {
    phases: Vec<[f64; 2]>,
    /// Time until the look with CUPTI has begun, ns.
    begin_ns: f64,
    /// Time until CUPTI is left and the profile is there, ns.
    end_ns: f64,
    /// What was wrong with the profiles of the looks.
    problems: Vec<String>,
}

#[gpu_profile]
fn launch(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    kernel.launch(stream)
}

/// The time of each loop, with `launch`.
fn loops(
    run_mode: &RunMode,
    stream: &Arc<CudaStream>,
    launch: impl Fn(&Arc<CudaStream>, &Kernel) -> Answer,
) -> Answer<[f64; 2]> {
    let mut times = [0.0; 2];
    for (which, time) in LOOPS.into_iter().zip(&mut times) {
        let kernel = Kernel::spin(which.kernel_ns)?;
        launch(stream, &kernel)?;
        stream.synchronize()?;
        let began = Instant::now();
        (0..which.launches(run_mode)).try_for_each(|_| launch(stream, &kernel))?;
        stream.synchronize()?;
        *time = began.elapsed().as_nanos() as f64;
    }
    Ok(times)
}

/// Launches of all loops in one phase.
fn launches(run_mode: &RunMode) -> u64 {
    LOOPS.iter().map(|of| of.launches(run_mode) + 1).sum()
}

fn opened(run_mode: &RunMode) -> Result<Arc<CudaStream>, String> {
    device::open(run_mode)?;
    hand_timed::stream().map_err(device::failed_in("a stream"))
}

fn run_bare(run_mode: &RunMode) -> Result<ExitCode, String> {
    let stream = opened(run_mode)?;
    let run = || loops(run_mode, &stream, |stream, kernel| kernel.launch(stream));
    let phases: Answer<Vec<_>> = PHASES.iter().map(|_| run()).collect();
    process::print(&Looped {
        phases: phases.map_err(device::failed_in("launching"))?,
        begin_ns: 0.0,
        end_ns: 0.0,
        problems: Vec::new(),
    })
}

fn run_in_standby(run_mode: &RunMode) -> Result<ExitCode, String> {
    let stream = opened(run_mode)?;
    let run = || loops(run_mode, &stream, launch).map_err(device::failed_in("launching"));
    let mut problems = Vec::new();
    let before = run()?;
    let mut viewer = Viewer::connect().map_err(device::failed_in("connecting"))?;
    viewer.ask("look")?;
    let calls = run()?;
    problems.extend(problem(&viewer.finish()?, run_mode, false));
    let between = run()?;
    let asked = Instant::now();
    viewer.ask("look cupti")?;
    let begin_ns = asked.elapsed().as_nanos() as f64;
    let cupti = run()?;
    let asked = Instant::now();
    let profile = viewer.finish()?;
    let end_ns = asked.elapsed().as_nanos() as f64;
    problems.extend(problem(&profile, run_mode, true));
    drop(viewer);
    let after = run()?;
    process::print(&Looped {
        phases: vec![before, calls, between, cupti, after],
        begin_ns,
        end_ns,
        problems,
    })
}

/// What is wrong with the profile of a look.
fn problem(profile: &Profile, run_mode: &RunMode, with_cupti: bool) -> Option<String> {
    let wanted = launches(run_mode);
    let calls: u64 = profile.functions.iter().map(|of| of.calls).sum();
    let kernels: u64 = profile.kernels.iter().map(|of| of.times.calls).sum();
    let lost = profile.cupti.as_ref().map_or(0, |cupti| {
        cupti.dropped_records + cupti.invalid_records + cupti.unfinished
    });
    let is_right = calls == wanted && kernels == if with_cupti { wanted } else { 0 } && lost == 0;
    let notes = profile.diagnostics.notes.join("; ");
    (!is_right).then(|| {
        format!("{calls} calls, {kernels} kernels, {lost} lost, of {wanted} launches ({notes})")
    })
}

/// A viewer of this process.
struct Viewer(UnixStream);

impl Viewer {
    fn connect() -> io::Result<Self> {
        let folder = std::env::var_os("XDG_RUNTIME_DIR").ok_or(ErrorKind::NotFound)?;
        let name = socket_name(std::process::id());
        let stream = UnixStream::connect(PathBuf::from(folder).join("gpuprof").join(name))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(stream))
    }

    /// # Errors
    /// The program's reason, or the connection's.
    fn ask(&mut self, request: &str) -> Result<(), String> {
        let head = write_frame(&mut self.0, request.as_bytes())
            .and_then(|()| read_frame(&mut self.0, MAX_FRAME_BYTES))
            .map_err(device::failed_in(request))?
            .ok_or("the connection ended")?;
        let head: Head = from_json(&head).map_err(device::failed_in(request))?;
        head.error.map_or(Ok(()), Err)
    }

    /// Ends the look.
    fn finish(&mut self) -> Result<Profile, String> {
        self.ask("snapshot 1")?;
        let mut text = Vec::new();
        read_document(&mut self.0, &mut text).map_err(device::failed_in("the profile"))?;
        serde_json::from_slice(&text).map_err(device::failed_in("the profile"))
    }
}

fn standby(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let repeats = if run_mode.short { 1 } else { 7 };
    let mut rounds = Vec::new();
    for repeat in 0..repeats {
        // In turn, and each first in half of the rounds.
        let mut programs = [BARE, IN_STANDBY];
        programs.rotate_left(repeat % 2);
        let [first, second] = programs.map(|program| run(run_mode, program));
        let (first, second) = (first?, second?);
        rounds.push(match programs[0] {
            BARE => (first, second),
            _ => (second, first),
        });
    }
    let problems = rounds.iter().flat_map(|(_, looked_at)| &looked_at.problems);
    let problems: Vec<&str> = problems.map(String::as_str).collect();
    let mut rows = vec![Row::judged(
        "the profiles of both looks",
        if problems.is_empty() {
            "every call and kernel".to_owned()
        } else {
            problems.join("; ")
        },
        "every call and kernel",
        problems.is_empty(),
    )];
    for (at, which) in LOOPS.iter().enumerate() {
        let bare = rounds
            .iter()
            .flat_map(|(bare, _)| bare.phases.iter().map(|of| of[at]));
        rows.push(figure(
            run_mode,
            format!(
                "{} {}, without gpuprof",
                which.launches(run_mode),
                which.name
            ),
            Spread::of(&bare.collect::<Vec<_>>()).time(),
        ));
        for (phase, name) in PHASES.iter().enumerate() {
            let ratio = |(bare, looked_at): &(Looped, Looped)| {
                looked_at.phases[phase][at] / bare.phases[phase][at]
            };
            let ratio = Spread::of(&rounds.iter().map(ratio).collect::<Vec<_>>());
            let (what, measured) = (
                format!("{}, {name}", which.name),
                format!("{} times", ratio.ratio()),
            );
            rows.push(if phase == 0 && which.kernel_ns >= LONG_KERNEL_NS {
                let is_kept = ratio.median <= WANTED;
                performance(
                    run_mode,
                    what,
                    measured,
                    format!("at most {WANTED}"),
                    is_kept,
                )
            } else {
                figure(run_mode, what, measured)
            });
        }
    }
    for (what, time) in [
        (
            "until a look with --cupti has begun",
            (|of| of.begin_ns) as fn(&Looped) -> f64,
        ),
        ("until its profile is there and CUPTI is left", |of| {
            of.end_ns
        }),
    ] {
        let times: Vec<f64> = rounds
            .iter()
            .map(|(_, looked_at)| time(looked_at))
            .collect();
        rows.push(figure(run_mode, what, Spread::of(&times).time()));
    }
    Ok(rows)
}

fn run(run_mode: &RunMode, program: &str) -> Result<Looped, String> {
    let trouble = |error: io::Error| format!("{program}: {error}");
    let folder = std::env::temp_dir().join(format!("gpu-checks-standby-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(trouble)?;
    let mut command = runner::own_command(&["program", program], run_mode)?;
    let mode = if program == BARE { "off" } else { "standby" };
    command.env("GPUPROF", mode).env("XDG_RUNTIME_DIR", &folder);
    let ended = process::finished(command, LIMIT);
    let _ = std::fs::remove_dir_all(&folder);
    let looped = ended.and_then(|ended| ended.answer());
    looped.map_err(device::failed_in(program))
}
