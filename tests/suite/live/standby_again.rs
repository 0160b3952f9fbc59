//! Promise: a program is looked at again as if it were the first time, whatever its threads do
//! while CUPTI is left.

use std::thread;
use std::time::Duration;

use support::suite::Module;
use support::tests;

use crate::standby::{Standby, assert_whole, finish, kernels, program};

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    each_look_has_its_own_calls_and_kernels,
    cupti_is_left_while_no_thread_is_inside_a_call,
    a_call_that_does_not_return_keeps_cupti_subscribed,
];

/// CUPTI numbers the calls anew each time that it is subscribed to.
fn each_look_has_its_own_calls_and_kernels() {
    let mut program = Standby::start();
    for steps in [5, 9, 5] {
        let mut viewer = program.look("look cupti");
        for _ in 0..steps {
            program.tell("step 1000");
        }
        let profile = finish(&mut viewer);
        assert_whole(&profile);
        assert_eq!(kernels(&profile), Some((steps, steps * 1_000)));
        let launches = profile.api.iter().filter(|of| of.name == "cuLaunchKernel");
        let launches: u64 = launches.map(|of| of.times.calls).sum();
        let latencies = profile.kernels.iter().map(|of| of.launch_latency.calls);
        assert_eq!((launches, latencies.sum::<u64>()), (steps, steps));
    }
    program.end();
}

/// A thread that waits for the GPU while CUPTI is left has one id for all calls after that.
fn cupti_is_left_while_no_thread_is_inside_a_call() {
    let mut program = Standby::start();
    program.tell("wait us 500");
    program.tell("launch on");
    for look in 1..=3 {
        let mut viewer = program.look("look cupti");
        thread::sleep(Duration::from_millis(100));
        let profile = finish(&mut viewer);
        let launches = profile.api.iter().find(|of| of.name == "cuLaunchKernel");
        let launches = launches.map_or(0, |of| of.times.calls);
        let (kernels, _) = kernels(&profile).expect("they were recorded");
        assert!(launches > 20, "{launches}");
        // A thread may be inside a launch when a look begins or ends.
        assert!(kernels.abs_diff(launches) <= 2, "{kernels} {launches}");
        assert_eq!(program.subscriptions(), format!("{look} {look}"));
    }
    program.tell("launch no more");
    program.end();
}

fn a_call_that_does_not_return_keeps_cupti_subscribed() {
    let mut program = Standby::start();
    program.tell("wait us 4000000");
    program.tell("launch on");
    let mut viewer = program.look("look cupti,memory");
    thread::sleep(Duration::from_millis(200));
    finish(&mut viewer);
    assert_eq!(program.subscriptions(), "1 0");
    program.tell("wait us 0");
    program.tell("launch no more");
    // The next look has what it asks for, and leaves CUPTI.
    let mut viewer = program.look("look cupti,memory");
    program.tell("allocate 1000");
    program.tell("step 1000");
    let profile = finish(&mut viewer);
    assert_whole(&profile);
    assert_eq!(kernels(&profile), Some((1, 1_000)));
    assert_eq!(profile.memory.map(|of| of.uses.len()), Some(1));
    assert_eq!(program.subscriptions(), "1 1");
    program.end();
}
