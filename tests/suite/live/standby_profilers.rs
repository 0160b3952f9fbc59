//! Promise: where libcupti serves several subscribers, a look and its end disturb no other
//! profiler, and leaving CUPTI costs no buffer.

use std::time::{Duration, Instant};

use support::cupti_from_environment::{CUPTI_CONFIGURATION, SUBSCRIBER_CALLS};
use support::suite::Module;
use support::tests;

use crate::standby::{Standby, assert_whole, finish, kernels, program};

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    looks_disturb_no_other_profiler,
    looks_that_end_before_their_kernels_lose_no_buffer,
];

/// More than the buffers that gpuprof has.
const LOOKS: usize = 66;

fn start() -> Standby {
    Standby::start_with(|program| program.env(CUPTI_CONFIGURATION, SUBSCRIBER_CALLS))
}

fn looks_disturb_no_other_profiler() {
    let mut program = start();
    program.tell("profile");
    for look in 1..=3 {
        program.tell("step 1000");
        let mut viewer = program.look("look cupti");
        program.tell("step 2000");
        let profile = finish(&mut viewer);
        assert_eq!(kernels(&profile), Some((1, 2_000)));
        assert_whole(&profile);
        program.tell("step 3000");
        assert_eq!(program.tell("profiled"), (3 * look).to_string());
        // The other profiler's subscription is one of them.
        assert_eq!(program.subscriptions(), format!("{} {look}", look + 1));
    }
    program.end();
}

fn looks_that_end_before_their_kernels_lose_no_buffer() {
    let mut program = start();
    for look in 1..=LOOKS {
        let viewer = program.look("look cupti");
        // Its record is in a buffer of libcupti's when gpuprof leaves.
        program.tell("queue 1000000000");
        drop(viewer);
        let began = Instant::now();
        while program.subscriptions() != format!("{look} {look}") {
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "CUPTI is not left"
            );
        }
    }
    program.tell("wait");
    let mut viewer = program.look("look cupti");
    program.tell("step 1000");
    let profile = finish(&mut viewer);
    assert_eq!(kernels(&profile), Some((1, 1_000)));
    assert_whole(&profile);
    program.end();
}
