//! Promise: where CUPTI cannot be had, one line says why and what to do, and everything else is as without it.

#[path = "unavailable/checks.rs"]
mod checks;
#[path = "../../support/world.rs"]
mod common;
#[path = "../../support/program/mod.rs"]
mod process;
#[path = "../../support/cupti_orders.rs"]
mod with_cupti;

use std::process::ExitCode;

use common::{World, world};
use gpuprof::{Session, gpu_profile};

fn main() -> ExitCode {
    match process::scenario() {
        Some(scenario) => program(&scenario),
        None => process::run_tests(checks::TESTS),
    }
}

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
    // Without it there is nothing to be found, but on a machine that has a toolkit.
    let cupti = (scenario != "without libcupti").then(with_cupti::install);
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
