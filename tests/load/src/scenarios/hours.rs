//! Hours of a service that others look at: a process of its own takes steps of 10 ms of virtual
//! time with CUPTI, while this one scrapes its metrics and connects viewers that come and go.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use cudarc::driver::{CudaGraph, CudaStream};
use gpuprof::{Profile, gpu_profile};
use gpuprof_report::live::{
    Changes, MAX_FRAME_BYTES, from_json, read_frame, socket_name, write_frame,
};
use support::cupti_world::{cupti, kernels, tier};
use support::{Gpu, World, assert_consistent, function, graph_capture};

use crate::memory::ResidentMemory;
use crate::scenario::{Memory, Outcome, SHORT, Size, check_equal, with_separators};

/// Set in the process that takes the steps.
const IS_SERVICE: &str = "LOAD_HOURS_SERVICE";
/// Virtual time of a step, in which the device is busy throughout.
const STEP_NS: u64 = 10_000_000;
/// Steps after which memory has grown up to the limits of what may wait for records.
const WARM_UP: u64 = 80_000;
/// Kernels between two profiles. Virtual hours pass in seconds, and while a profile waits for the
/// records so far, the program cannot outrun gpuprof's threads.
const KERNELS_PER_PROFILE: u64 = 6_500;
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Kernels of a step.
#[derive(Clone, Copy)]
struct Kernels {
    /// Those that are launched one by one.
    launches: u64,
    /// The nodes of one graph launch.
    nodes: u64,
}

impl Kernels {
    /// 500 a second in a test, otherwise 10,000.
    fn of(size: Size) -> Self {
        let (launches, nodes) = size.pick((1, 4), (50, 50));
        Self { launches, nodes }
    }

    fn all(self) -> u64 {
        self.launches + self.nodes
    }
}

#[gpu_profile]
fn launch(stream: &Arc<CudaStream>, gpu: &Gpu, kernels: Kernels) {
    let ns = STEP_NS / kernels.all();
    (0..kernels.launches).for_each(|_| gpu.kernel_on(stream, ns));
}

#[gpu_profile]
fn captured(stream: &Arc<CudaStream>, gpu: &Gpu, kernels: Kernels) {
    (0..kernels.nodes).for_each(|_| gpu.kernel_on(stream, 1));
}

#[gpu_profile]
fn replay(stream: &Arc<CudaStream>, graph: &CudaGraph) {
    let _ = stream;
    graph.launch().expect("launch");
}

/// Steps in two hours, or in the 20 minutes that a test has time for.
fn steps(size: Size) -> u64 {
    size.pick(120_000, 720_000)
}

/// One process takes the steps, the other looks at it.
pub(super) fn run(size: Size) -> Result<Outcome, String> {
    if env::var_os(IS_SERVICE).is_some() {
        let failed = serve(size).err();
        failed.iter().for_each(|why| eprintln!("{why}"));
        std::process::exit(i32::from(failed.is_some()));
    }
    watch(size).map_err(|error| error.to_string())?
}

/// Takes the steps, prints its count of calls and the growth of memory, and ends when standard
/// input does.
fn serve(size: Size) -> Result<(), String> {
    let steps = steps(size);
    let t = tier();
    let stream = &t.gpu.stream;
    let per_step = Kernels::of(size);
    let graph = graph_capture::capture(stream, || captured(stream, &t.gpu, per_step));
    // Ids of CUDA calls begin anew during the run: a step makes at least three calls.
    t.cupti.set_correlation(u32::MAX - steps as u32);
    let mut since = ResidentMemory::now();
    let mut profile = Profile::default();
    for step in 0..steps {
        launch(stream, &t.gpu, per_step);
        replay(stream, &graph);
        t.synchronize();
        gpuprof::step();
        if step % (KERNELS_PER_PROFILE / per_step.all()) == 0 {
            profile = gpuprof::snapshot();
        }
        if step == WARM_UP {
            since = ResidentMemory::now();
        }
    }
    let growth = since.growth();
    assert_consistent(&profile);
    profile = gpuprof::collect();
    assert_consistent(&profile);
    let taken = profile.steps.clone().unwrap_or_default();
    check_equal("steps", taken.count, steps)?;
    check_equal("time of steps", taken.total_ns, steps * STEP_NS)?;
    for (name, per_step) in [("launch", per_step.launches), ("captured", per_step.nodes)] {
        let name = format!("scenarios::hours::{name}");
        let found = kernels(&profile, &name);
        let found: u64 = found.iter().map(|(_, launches, _)| launches).sum();
        check_equal(&name, found, steps * per_step)?;
    }
    let cupti = cupti(&profile);
    let missing = [
        cupti.dropped_records,
        cupti.invalid_records,
        cupti.unfinished,
        cupti.records_without_call,
        cupti.unattributed,
        cupti.unattributed_graph_nodes,
    ];
    check_equal("missing records", missing.iter().sum(), 0)?;
    let diagnostics = &profile.diagnostics;
    let known = diagnostics.timed_calls + diagnostics.captured_calls + diagnostics.untimed.sum();
    check_equal(
        "timed and untimed calls",
        known,
        diagnostics.calls_with_stream,
    )?;
    let calls = function(&profile, "scenarios::hours::launch").calls;
    println!("{calls} {growth}");
    wait_for_end(&t.w);
    Ok(())
}

/// Waits until nobody looks any more. Time passes meanwhile, because answers are paced.
fn wait_for_end(w: &World) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            is_over.store(true, Relaxed);
        });
        while !is_over.load(Relaxed) {
            w.cpu(STEP_NS);
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// What was seen from outside.
#[derive(Default)]
struct Looks {
    scrapes: u64,
    viewers: u64,
}

/// Scrapes and views until the steps are taken, and compares the last answers with their count.
fn watch(size: Size) -> io::Result<Result<Outcome, String>> {
    let folder = Folder::create()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    drop(listener);
    let mut service = start(size, port, &folder.0)?;
    let socket = folder.0.join("gpuprof").join(socket_name(service.0.id()));
    let is_over = AtomicBool::new(false);
    let mut line = String::new();
    let looks = thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let mut looks = Looks::default();
            while !is_over.load(Relaxed) {
                // Neither answers before the first call.
                looks.scrapes += u64::from(scrape(port).is_ok());
                looks.viewers += u64::from(view(&socket, looks.viewers % 2 == 0).is_ok());
                thread::sleep(Duration::from_millis(20));
            }
            looks
        });
        let read = service.0.stdout.take().map(|stdout| {
            let read = BufReader::new(stdout).read_line(&mut line);
            is_over.store(true, Relaxed);
            read
        });
        is_over.store(true, Relaxed);
        read.transpose()?;
        looking
            .join()
            .map_err(|_| io::Error::other("a viewer panicked"))
    })?;
    let numbers: Vec<u64> = line.split_whitespace().flat_map(str::parse).collect();
    let &[calls, growth] = numbers.as_slice() else {
        return Ok(Err(service.end()?));
    };
    let scraped = scrape(port)?;
    let viewed = view(&socket, true)?;
    let end = service.end()?;
    if !end.is_empty() {
        return Ok(Err(end));
    }
    let outcome = check_equal("calls in the metrics", scraped, calls)
        .and_then(|()| check_equal("calls that a viewer sees", viewed, calls))
        .and_then(|()| check_equal("steps", calls, steps(size)))
        .and_then(|()| match (looks.scrapes, looks.viewers) {
            (1.., 1..) => Ok(()),
            _ => Err("nobody looked while it ran".to_owned()),
        })
        .map(|()| Outcome {
            calls: calls * 2,
            what: format!(
                "simulated device: {} minutes of virtual time, {} kernels, {} scrapes, {} viewers",
                calls * STEP_NS / 60_000_000_000,
                with_separators(calls * Kernels::of(size).all()),
                looks.scrapes,
                looks.viewers
            ),
            // Whoever looks copies tables, and now and then several do so at the same moment.
            memory: Memory {
                allowed: size.pick(16 << 20, 32 << 20),
                ..Memory::flat(growth)
            },
        });
    Ok(outcome)
}

/// The process that takes the steps. It ends with this value.
struct Service(Child);

fn start(size: Size, port: u16, folder: &Path) -> io::Result<Service> {
    let mut command = Command::new(env::current_exe()?);
    if size == Size::Short {
        command.arg(SHORT);
    }
    command
        .arg("hours")
        .env(IS_SERVICE, "1")
        .env("GPUPROF_CUPTI", "on")
        .env("GPUPROF_LIVE", "on")
        .env("GPUPROF_METRICS", format!("listen={port}"))
        .env("GPUPROF_REPORT", "none")
        .env("XDG_RUNTIME_DIR", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().map(Service)
}

impl Service {
    /// Waits for its end. Returns what it says went wrong, otherwise nothing.
    fn end(&mut self) -> io::Result<String> {
        drop(self.0.stdin.take());
        let mut said = String::new();
        if let Some(mut stderr) = self.0.stderr.take() {
            stderr.read_to_string(&mut said)?;
        }
        let status = self.0.wait()?;
        Ok(if status.success() {
            String::new()
        } else {
            format!("{status}: {said}")
        })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It has ended already, unless something failed here.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder for sockets, which its drop removes.
struct Folder(PathBuf);

impl Folder {
    fn create() -> io::Result<Self> {
        let folder = env::temp_dir().join(format!("load-hours-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The calls of `launch` in the metrics.
fn scrape(port: u16) -> io::Result<u64> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let line = text.lines().find(|line| {
        line.starts_with("gpuprof_function_calls_total{") && line.contains("hours::launch\"")
    });
    let value = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
    value.ok_or_else(|| io::Error::other("no calls in the metrics"))
}

/// The calls of `launch` that a new viewer sees, which then goes; or it goes without an answer.
fn view(socket: &Path, waits: bool) -> io::Result<u64> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write_frame(&mut stream, b"changes")?;
    if !waits {
        return Ok(0);
    }
    let mut frame = || {
        let frame = read_frame(&mut stream, MAX_FRAME_BYTES)?;
        frame.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
    };
    let _head = frame()?;
    let changes: Changes = from_json(&frame()?).map_err(io::Error::other)?;
    let row = changes
        .functions
        .iter()
        .find(|row| row.name.ends_with("hours::launch"));
    row.map(|row| row.calls)
        .ok_or_else(|| io::Error::other("no row"))
}
