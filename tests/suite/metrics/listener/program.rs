//! The program that the tests of `listener.rs` run, by scenario.

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use gpuprof::gpu_profile;

use crate::many_functions;

#[gpu_profile(cpu)]
fn tick() {}

pub(super) fn run(scenario: &str) -> ExitCode {
    (0..3).for_each(|_| tick());
    match scenario {
        "serving" | "many" => {
            if scenario == "many" {
                many_functions::all().iter().for_each(|call| call());
            }
            support::program::ready();
            // Until the test kills it.
            thread::sleep(Duration::from_secs(600));
        }
        "ending" => {
            support::program::ready();
            thread::sleep(Duration::from_millis(300));
        }
        "forking" => fork(),
        _ => panic!("no scenario {scenario}"),
    }
    ExitCode::SUCCESS
}

/// Ends, and leaves a child that says it is ready once its parent has ended.
fn fork() {
    let parent = std::process::id();
    // SAFETY: the child calls nothing that another thread may have locked.
    if unsafe { libc::fork() } == 0 {
        // SAFETY: the call takes nothing and cannot fail.
        while unsafe { libc::getppid() }.unsigned_abs() == parent {
            thread::sleep(Duration::from_millis(1));
        }
        support::program::ready();
        thread::sleep(Duration::from_secs(5));
        std::process::exit(0);
    }
}
