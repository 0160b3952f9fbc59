//! Promise: whichever of gpuprof's own driver calls fails, with whatever error, the program's results, its errors, what cudarc
//! keeps for it and its exit status are bit for bit what they are without gpuprof, the report says what failed, and every time and
//! every sum of times in it is exact or marked.
//!
//! `cargo test -p gpuprof --test faults -- --matrix` runs every case and prints them as a table; the tests run a part.

#[path = "faults/case.rs"]
mod case;
#[path = "faults/matrix.rs"]
mod matrix;
#[path = "../../support/foreign_context.rs"]
mod other_context;
#[path = "../../support/program/mod.rs"]
mod process;
#[path = "faults/program.rs"]
mod program;
#[path = "faults/replayed.rs"]
mod replayed;
#[allow(unreachable_pub)]
#[path = "../../support/sound.rs"]
mod sound;
#[path = "faults/stand_ins.rs"]
mod stand_ins;
#[path = "faults/times.rs"]
mod times;

use std::process::ExitCode;

const FAIL: &str = "GPUPROF_TEST_FAIL";

fn main() -> ExitCode {
    if process::scenario().is_some() {
        return program();
    }
    if std::env::args().any(|argument| argument == "--matrix") {
        return matrix::print();
    }
    process::run_tests(matrix::TESTS)
}

fn program() -> ExitCode {
    // Registered first, so it runs last: after gpuprof's report.
    // SAFETY: the handler is a plain function of this program.
    assert_eq!(unsafe { libc::atexit(tell) }, 0);
    let options = simcuda::Options {
        virtual_clock: true,
        devices: 2,
        ..Default::default()
    };
    let sim = simcuda::install_with(&options).expect("the simulated driver is built");
    assert!(gpuprof::__private::drive_clock(sim.clock()));
    let orders = std::env::var(FAIL).unwrap_or_default();
    let orders = orders.split_terminator(',').map(stand_ins::Order::parse);
    stand_ins::install(orders.collect());
    match program::run(sim) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error:?}");
            ExitCode::FAILURE
        }
    }
}

extern "C" fn tell() {
    stand_ins::tell();
}
