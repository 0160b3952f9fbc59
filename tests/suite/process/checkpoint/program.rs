//! The program that the tests of `checkpoint.rs` run, by scenario.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::Gpu;

/// The report's path, for a program that waits for its checkpoint.
pub(super) const REPORT: &str = "GPUPROF_TEST_REPORT";
/// The file in which the program writes how long it has run, in nanoseconds since its first span.
pub(super) const AGE: &str = "GPUPROF_TEST_AGE";

#[gpu_profile(cpu)]
fn tick() {}

#[gpu_profile(cpu)]
fn serving() {
    tick();
    await_checkpoint();
    await_checkpoint();
    std::process::abort();
}

#[gpu_profile]
fn step(gpu: &Gpu, stream: &Arc<CudaStream>, ns: u64) {
    gpu.kernel_on(stream, ns);
}

pub(super) fn run(scenario: &str) -> ExitCode {
    match scenario {
        "no span" => {
            assert_eq!(gpuprof::snapshot().diagnostics.calls, 0);
            // Longer than several checkpoint intervals.
            thread::sleep(Duration::from_millis(300));
        }
        "ticking" => tick_for_ever(),
        "returning" => {
            tick();
            await_checkpoint();
            (0..10).for_each(|_| tick());
        }
        "waiting" => {
            tick();
            thread::sleep(Duration::from_millis(300));
        }
        "reset" => {
            (0..5).for_each(|_| tick());
            await_checkpoint();
            gpuprof::reset();
        }
        "serving" => serving(),
        "in a session" => {
            (0..3).for_each(|_| tick());
            let session = gpuprof::Session::builder().start().expect("the only one");
            (0..7).for_each(|_| tick());
            await_checkpoint();
            await_checkpoint();
            assert_eq!(session.snapshot().diagnostics.calls, 7);
            std::process::abort();
        }
        "queued" => {
            let gpu = Gpu::new(
                simcuda::install().expect("the simulated driver is built"),
                0,
            );
            step(&gpu, &gpu.stream, 60_000_000_000);
            await_checkpoint();
            std::process::abort();
        }
        "elsewhere" => {
            tick();
            env::set_current_dir("/").expect("a folder");
            await_checkpoint();
            std::process::abort();
        }
        _ => panic!("no scenario {scenario}"),
    }
    ExitCode::SUCCESS
}

/// Calls a function without end and writes its running time after each call.
fn tick_for_ever() -> ! {
    let note = File::create(env::var_os(AGE).expect("the test gives it")).expect("a file");
    // The first call opens the window, which takes time; the report's wall time starts there.
    tick();
    let began = Instant::now();
    support::program::ready();
    loop {
        tick();
        let ns = u64::try_from(began.elapsed().as_nanos()).expect("not for centuries");
        note.write_all_at(&ns.to_le_bytes(), 0).expect("written");
        thread::sleep(Duration::from_micros(500));
    }
}

/// Waits until another checkpoint has been written.
fn await_checkpoint() {
    let path = env::var_os(REPORT).expect("the test gives it");
    let file = || {
        fs::metadata(&path)
            .map(|file| (file.ino(), file.mtime_nsec()))
            .ok()
    };
    let before = file();
    support::until(|| file() != before);
}
