//! The program that the tests of `record_collection.rs` run, by scenario.

use std::process::ExitCode;
use std::sync::OnceLock;

use gpuprof::{CuptiMode, Session, gpu_profile};
use support::{World, world};

pub(super) const COUNT: &str = "GPUPROF_TEST_COUNT";

#[gpu_profile(stream = w.gpu.stream)]
fn launch(w: &World) {
    w.gpu.kernel(10_000);
}

#[gpu_profile(cpu)]
fn on_the_cpu() {}

pub(super) fn run(scenario: &str) -> ExitCode {
    let w = world();
    let cupti = support::cupti_from_environment::install();
    let count = std::env::var(COUNT).map_or(4, |count| count.parse().expect("a number"));
    match scenario {
        "launches" => {
            (0..count).for_each(|_| launch(&w));
            w.gpu.stream.synchronize().expect("synchronize");
        }
        // The virtual clock stands still, so no kernel ends.
        "queued" => (0..count).for_each(|_| launch(&w)),
        "reset" => {
            (0..10).for_each(|_| launch(&w));
            w.gpu.stream.synchronize().expect("synchronize");
            drop(gpuprof::collect());
            gpuprof::reset();
            (0..count).for_each(|_| launch(&w));
            w.gpu.stream.synchronize().expect("synchronize");
        }
        // These calls and kernels are the only source of records.
        "outside" => {
            on_the_cpu();
            let event = w.gpu.context.new_event(None).expect("event");
            for _ in 0..count {
                event.record(&w.gpu.stream).expect("record");
                w.gpu.kernel(10_000);
                let _ = event.is_complete();
            }
            w.gpu.stream.synchronize().expect("synchronize");
        }
        "after the end" => {
            let _ = CUPTI.set(cupti);
            // Registered before gpuprof's handler, so it runs after that one. SAFETY: the handler
            // takes nothing and does not unwind.
            unsafe { libc::atexit(after_the_end) };
            launch(&w);
            w.gpu.stream.synchronize().expect("synchronize");
        }
        "finished" => finished(&w),
        "fork" => fork(&w),
        _ => panic!("no scenario {scenario}"),
    }
    println!("{}", w.sim.now());
    // gpuprof adds no such call.
    for symbol in [
        "cuCtxSynchronize",
        "cuStreamSynchronize",
        "cuEventSynchronize",
    ] {
        println!("{symbol} {}", w.sim.calls(symbol));
    }
    ExitCode::SUCCESS
}

static CUPTI: OnceLock<simcupti::Cupti> = OnceLock::new();

/// The program launches work while libraries shut down.
extern "C" fn after_the_end() {
    let cupti = CUPTI.get().expect("it is set");
    cupti.reset_calls();
    (0..10).for_each(|_| on_the_cpu());
    gpuprof::reset();
    println!("{:?}", cupti.calls_by_symbol());
}

/// No window is open when the process ends.
fn finished(w: &World) {
    let session = Session::builder().cupti(CuptiMode::On).start();
    let session = session.expect("no other session is open");
    launch(w);
    let profile = w.finish(session);
    println!("{}", profile.cupti.expect("it runs").records > 0);
}

/// Forks; in the child only the forking thread exists.
fn fork(w: &World) {
    launch(w);
    w.gpu.stream.synchronize().expect("synchronize");
    // SAFETY: the child calls gpuprof and ends.
    match unsafe { libc::fork() } {
        0 => {
            let told = gpuprof::collect().cupti.is_some();
            // SAFETY: it ends here.
            unsafe { libc::_exit(i32::from(told)) };
        }
        child => {
            let mut status = -1;
            // SAFETY: the place is for the status.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            println!("child {status}");
        }
    }
}
