//! Promise: of several viewers of a program in standby each has its own time and content, and one
//! that dies is as one that leaves.

use std::time::{Duration, Instant};

use support::suite::Module;
use support::tests;

use crate::standby::{Standby, assert_whole, finish, kernels, program, times};

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    overlapping_looks_have_their_own_time,
    a_viewer_that_dies_ends_its_look,
];

fn overlapping_looks_have_their_own_time() {
    let mut program = Standby::start();
    let mut first = program.look("look");
    program.tell("step 10000");
    let mut second = program.look("look cupti");
    program.tell("step 20000");
    // A kernel of both that ends later than the first look.
    program.tell("queue 40000");
    let mut watching = program.look("look");
    let ended = finish(&mut first);
    program.tell("wait");
    program.tell("step 80000");
    assert_eq!(program.subscriptions(), "1 0");
    let ended_later = finish(&mut second);
    program.tell("step 160000");
    assert_eq!(program.subscriptions(), "1 1");
    let watched = finish(&mut watching);
    assert_eq!(times(&ended, "step").map(|of| of.0), Some(3));
    assert_eq!(kernels(&ended), None);
    assert_eq!(times(&ended_later, "step").map(|of| of.0), Some(3));
    assert_eq!(kernels(&ended_later), Some((3, 140_000)));
    assert_whole(&ended_later);
    assert_eq!(times(&watched, "step").map(|of| of.0), Some(2));
    // None is left.
    program.tell("step 1000");
    let mut next = program.look("look cupti");
    program.tell("step 5000");
    assert_eq!(kernels(&finish(&mut next)), Some((1, 5_000)));
    program.end();
}

fn a_viewer_that_dies_ends_its_look() {
    let mut program = Standby::start();
    let (dying, waiting) = (
        program.look("look cupti"),
        program.look("look cupti,memory"),
    );
    drop(dying);
    program.tell("step 10000");
    assert_eq!(program.subscriptions(), "1 0", "another one looks");
    let mut waiting = waiting;
    gpuprof_report::live::write_frame(&mut waiting.0, b"snapshot 600000").expect("a request");
    program.tell("step 10000");
    drop(waiting);
    let began = Instant::now();
    while program.subscriptions() != "1 1" {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "CUPTI is not left"
        );
    }
    let mut next = program.look("look cupti");
    program.tell("step 20000");
    let profile = finish(&mut next);
    assert_eq!(times(&profile, "step"), Some((1, 1_000, 21_000)));
    assert_eq!(kernels(&profile), Some((1, 20_000)));
    program.end();
}
