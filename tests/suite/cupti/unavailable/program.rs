//! The program that the tests of `unavailable.rs` run, by scenario.

use std::process::ExitCode;

use gpuprof::{CuptiMode, Session, gpu_profile};
use support::{World, world};

#[gpu_profile(stream = w.gpu.stream)]
fn outer(w: &World) {
    inner(w);
    w.cpu(2_000);
}

#[gpu_profile(stream = w.gpu.stream)]
fn inner(w: &World) {
    w.gpu.kernel(10_000);
}

pub(super) fn run(scenario: &str) -> ExitCode {
    let w = world();
    // Without the simulated libcupti none is found, except on a machine with a CUDA toolkit.
    let cupti = (scenario != "without libcupti").then(support::cupti_from_environment::install);
    match scenario {
        "session" => {
            let session = Session::builder().cupti(CuptiMode::On).start();
            let session = session.expect("no other session is open");
            outer(&w);
            let profile = w.finish(session);
            println!("{:?} {:?}", profile.cupti, profile.diagnostics.notes);
        }
        _ => {
            for _ in 0..3 {
                outer(&w);
                println!("{}", w.sim.now());
            }
            w.gpu.stream.synchronize().expect("synchronize");
        }
    }
    for (symbol, calls) in cupti.iter().flat_map(|cupti| cupti.calls_by_symbol()) {
        eprintln!("called {symbol} {calls}");
    }
    ExitCode::SUCCESS
}
