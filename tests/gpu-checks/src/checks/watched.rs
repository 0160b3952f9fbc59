//! How much longer a loop of launches takes while a viewer of `GPUPROF_LIVE` or a scraper of
//! `GPUPROF_METRICS` looks at it each second.
//!
//! The kernel is shorter than its launch, so that the host's time decides.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use gpuprof::profile::Diagnostics;
use gpuprof_report::live::{MAX_FRAME_BYTES, read_frame, socket_name, write_frame};
use serde::{Deserialize, Serialize};

use super::TestProgram;
use crate::check::{Check, Row, RunMode};
use crate::hand_timed::{self, Answer, Kernel};
use crate::statistics::{Spread, figure, in_turn, performance, ratios};
use crate::{device, process, runner};

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "watched-cost",
    promise: "Whoever looks at a running program costs it at most 1 %.",
    limit: Duration::from_secs(420),
    run: watched_cost,
}];

pub(crate) const PROGRAMS: &[TestProgram] = &[(PROGRAM, launch_for_a_while)];

const PROGRAM: &str = "watched-launches";
const KERNEL_NS: u64 = 1_000;
/// Accepted duration of the loop, relative to one that nobody can look at.
const WANTED: f64 = 1.01;
/// Time between two looks.
const REFRESH: Duration = Duration::from_secs(1);
/// How long a look may take.
const PATIENCE: Duration = Duration::from_secs(5);
const LIMIT: Duration = Duration::from_secs(60);

fn launches(run_mode: &RunMode) -> u64 {
    if run_mode.short { 20_000 } else { 800_000 }
}

/// What the program prints.
#[derive(Serialize, Deserialize)]
struct Looped {
    /// Time from the first launch until the GPU was idle, ns.
    wall_ns: f64,
    diagnostics: Diagnostics,
}

#[gpu_profile]
fn launch(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    kernel.launch(stream)
}

fn launch_for_a_while(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let text = |error| format!("launching: {error}");
    let stream = hand_timed::stream().map_err(text)?;
    let kernel = Kernel::spin(KERNEL_NS).map_err(text)?;
    launch(&stream, &kernel).map_err(text)?;
    stream.synchronize().map_err(text)?;
    // Whoever looks connects now.
    std::thread::sleep(Duration::from_millis(200));
    let began = Instant::now();
    (0..launches(run_mode))
        .try_for_each(|_| launch(&stream, &kernel))
        .map_err(text)?;
    stream.synchronize().map_err(text)?;
    let looped = Looped {
        wall_ns: began.elapsed().as_nanos() as f64,
        diagnostics: gpuprof::collect().diagnostics,
    };
    process::print(&looped)
}

#[derive(Clone, Copy)]
enum Method {
    Alone,
    LiveAlone,
    Viewer,
    MetricsAlone,
    Scraper,
}

/// The others are compared with the first.
const METHODS: [(Method, &str); 5] = [
    (Method::Alone, "nobody can look"),
    (Method::LiveAlone, "GPUPROF_LIVE=on, nobody looks"),
    (Method::Viewer, "GPUPROF_LIVE=on, a viewer each second"),
    (Method::MetricsAlone, "GPUPROF_METRICS=listen, nobody looks"),
    (
        Method::Scraper,
        "GPUPROF_METRICS=listen, a scrape each second",
    ),
];

fn watched_cost(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let repeats = if run_mode.short { 1 } else { 7 };
    let mut rows = Vec::new();
    let walls = in_turn(METHODS.len(), repeats, |index| {
        let (method, name) = METHODS[index];
        let (looped, looks) = run(run_mode, method).map_err(|why| format!("{name}: {why}"))?;
        let counted = looped.diagnostics.calls == launches(run_mode) + 1;
        if !counted || (matches!(method, Method::Viewer | Method::Scraper) && looks == 0) {
            rows.push(Row::judged(
                name,
                format!("{} calls, {looks} looks", looped.diagnostics.calls),
                format!("{} calls, and a look", launches(run_mode) + 1),
                false,
            ));
        }
        Ok(looped.wall_ns)
    })?;
    rows.push(figure(
        run_mode,
        format!("{} launches of 1 µs, {}", launches(run_mode), METHODS[0].1),
        Spread::of(&walls[0]).time(),
    ));
    for (index, (_, name)) in METHODS.iter().enumerate().skip(1) {
        let ratio = Spread::of(&ratios(&walls[index], &walls[0]));
        rows.push(performance(
            run_mode,
            format!("the same, {name}"),
            format!("{} times", ratio.ratio()),
            format!("at most {WANTED}"),
            ratio.median <= WANTED,
        ));
    }
    Ok(rows)
}

/// Runs the program, and says how often it was looked at.
fn run(run_mode: &RunMode, method: Method) -> Result<(Looped, u64), String> {
    let trouble = |error: io::Error| error.to_string();
    let folder = std::env::temp_dir().join(format!("gpu-checks-live-{}", std::process::id()));
    let port = free_port().map_err(trouble)?;
    let mut command = runner::own_command(&["program", PROGRAM], run_mode)?;
    command.env("GPUPROF_REPORT", "none");
    match method {
        Method::Alone => {}
        Method::LiveAlone | Method::Viewer => {
            std::fs::create_dir_all(&folder).map_err(trouble)?;
            command.env("GPUPROF_LIVE", "on");
            command.env("XDG_RUNTIME_DIR", &folder);
        }
        Method::MetricsAlone | Method::Scraper => {
            command.env("GPUPROF_METRICS", format!("listen={port}"));
        }
    }
    let (mut looks, mut last, mut viewer) = (0, None::<Instant>, None);
    let ended = process::watch(command, LIMIT, |pid, _| {
        if last.is_some_and(|last| last.elapsed() < REFRESH) {
            return;
        }
        let looked = match method {
            Method::Viewer => look(&mut viewer, &folder, pid),
            Method::Scraper => scrape(port),
            Method::Alone | Method::LiveAlone | Method::MetricsAlone => return,
        };
        // It fails until the program has begun.
        if looked.is_ok() {
            looks += 1;
            last = Some(Instant::now());
        }
    });
    let _ = std::fs::remove_dir_all(&folder);
    Ok((ended.map_err(trouble)?.success()?.answer()?, looks))
}

fn free_port() -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

/// Asks for the changed rows, as `gpuprof top` does.
fn look(viewer: &mut Option<UnixStream>, folder: &Path, pid: u32) -> io::Result<()> {
    let stream = match viewer {
        Some(stream) => stream,
        None => {
            let path: PathBuf = folder.join("gpuprof").join(socket_name(pid));
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            viewer.insert(stream)
        }
    };
    write_frame(stream, b"changes")?;
    // The head, and the rows.
    for _ in 0..2 {
        read_frame(stream, MAX_FRAME_BYTES)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    }
    Ok(())
}

fn scrape(port: u16) -> io::Result<()> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    if text.contains("gpuprof_function_calls_total") {
        Ok(())
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}
