//! Promise: if CUPTI is unavailable, one line says why and what to do, and everything else is the
//! same as without CUPTI.

mod checks;

use std::process::ExitCode;

use gpuprof::{Session, gpu_profile};
use support::suite::Module;
use support::{World, world};

pub(crate) const MODULE: Module =
    Module::new(module_path!(), &[checks::TESTS]).with_program(program);

#[gpu_profile(stream = w.gpu.stream)]
fn outer(w: &World) {
    inner(w);
    w.cpu(2_000);
}

#[gpu_profile(stream = w.gpu.stream)]
fn inner(w: &World) {
    w.gpu.kernel(10_000);
}

fn program(scenario: &str) -> ExitCode {
    let w = world();
    // Without the simulated libcupti none is found, except on a machine with a CUDA toolkit.
    let cupti = (scenario != "without libcupti").then(support::cupti_from_environment::install);
    match scenario {
        "session" => {
            let session = Session::builder().cupti(true).start();
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
