//! Promise: whichever driver call of gpuprof fails, with whatever error, the program's results,
//! errors, cudarc state and exit status are the same as without gpuprof. The report names the
//! failure, and every time and sum in it is exact or marked.

mod case;
mod matrix;
mod program;
mod program_graphs;
mod reported_times;
mod stand_ins;

use std::process::ExitCode;

use support::suite::Module;

const FAIL: &str = "GPUPROF_TEST_FAIL";

pub(crate) const MODULE: Module =
    Module::new(module_path!(), &[matrix::TESTS]).with_program(program);

fn program(_scenario: &str) -> ExitCode {
    // Registered before gpuprof's handler, so it runs after gpuprof's report. SAFETY: the handler
    // is a plain function of this program.
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
