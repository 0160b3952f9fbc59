//! Promise: gpuprof's own threads run where the process may run and as ordinary threads, whatever
//! thread of the program starts them.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::Gpu;
use support::program::{Folder, Program};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_pinned_real_time_caller_does_not_pin_gpuprofs_threads
    ]],
)
.with_program(program);

#[gpu_profile]
fn step(gpu: &Gpu, stream: &Arc<CudaStream>) {
    gpu.kernel_on(stream, 1_000);
}

fn a_pinned_real_time_caller_does_not_pin_gpuprofs_threads() {
    let folder = Folder::create();
    let report = format!("json={}", folder.path("report.json").display());
    let ended = Program::new("pinned")
        .env("GPUPROF_CUPTI", "on")
        .env("GPUPROF_SIGNALS", "on")
        .env("GPUPROF_CHECKPOINT", "3600")
        .env("GPUPROF_REPORT", report)
        .run();
    assert!(ended.status.success(), "{ended:#?}");
}

fn program(_: &str) -> ExitCode {
    let before = allowed("self");
    let sim = simcuda::install().expect("the simulated driver is built");
    support::cupti_from_environment::install();
    let gpu = Gpu::new(sim, 0);
    pin_to_one_processor();
    become_real_time();
    step(&gpu, &gpu.stream);
    // Resolver, CUPTI reader, signals and checkpoint. A thread names itself when it runs.
    let threads = loop {
        match gpuprofs_threads() {
            threads if threads.len() >= 4 => break threads,
            _ => thread::sleep(Duration::from_millis(1)),
        }
    };
    for (name, id) in threads {
        let path = format!("self/task/{id}");
        assert_eq!(allowed(&path), before, "{name}");
        assert_eq!(policy(&path), libc::SCHED_OTHER, "{name}");
    }
    ExitCode::SUCCESS
}

/// Names and ids.
fn gpuprofs_threads() -> Vec<(String, String)> {
    let all = fs::read_dir("/proc/self/task").expect("Linux has it");
    all.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|id| {
            let name = fs::read_to_string(format!("/proc/self/task/{id}/comm")).ok()?;
            name.starts_with("gpuprof-").then_some((name, id))
        })
        .collect()
}

/// The processors that a thread may run on.
fn allowed(thread: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).expect("it runs");
    let line = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list:"));
    line.expect("Linux has it").to_owned()
}

/// The scheduling policy: the 41st field of its `stat`, the second being a name in parentheses.
fn policy(thread: &str) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{thread}/stat")).expect("it runs");
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let field = fields.split_whitespace().nth(38).expect("a policy");
    field.parse().expect("a number")
}

fn pin_to_one_processor() {
    // SAFETY: a set of bits, all of which may be zero.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the call takes nothing.
    let here = usize::try_from(unsafe { libc::sched_getcpu() }).expect("a processor");
    // SAFETY: the set has room for 1,024 processors, and this one exists.
    unsafe { libc::CPU_SET(here, &mut set) };
    // SAFETY: the pointer and the size are of one live set.
    let status = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
}

/// Needs a privilege. Without it the affinity alone is tested.
fn become_real_time() {
    let urgent = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameter is live.
    let status = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &urgent) };
    eprintln!(
        "SCHED_FIFO: {}",
        if status == 0 { "set" } else { "refused" }
    );
}
