//! Promise: of several viewers of a program in standby each has its own time and content, and one
//! that dies is as one that leaves.

use std::thread;
use std::time::{Duration, Instant};

use gpuprof::Profile;
use support::suite::Module;
use support::tests;

use crate::standby::{Standby, assert_whole, finish, kernels, program, times};

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    overlapping_looks_have_their_own_time,
    a_look_has_the_busy_time_of_all_its_windows,
    a_viewer_that_dies_ends_its_look,
    driver_errors_are_of_the_looks_in_which_they_came,
    a_session_does_not_wait_for_viewers,
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

/// Other looks divide its time into windows, and some of their kernels are recorded when further
/// windows have begun.
fn a_look_has_the_busy_time_of_all_its_windows() {
    let mut program = Standby::start();
    let mut whole = program.look("look cupti");
    for ns in [10_000, 20_000, 40_000] {
        program.tell(&format!("step {ns}"));
        finish(&mut program.look("look"));
    }
    let profile = finish(&mut whole);
    assert_whole(&profile);
    assert_eq!(kernels(&profile), Some((3, 70_000)));
    let [busy] = &profile.gpu_busy[..] else {
        panic!("one device: {:?}", profile.gpu_busy)
    };
    let gaps = busy.records.map(|records| records.gaps);
    assert_eq!((busy.busy_ns, gaps), (70_000, Some(2)));
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

fn driver_errors_are_of_the_looks_in_which_they_came() {
    let mut program = Standby::start_with(|program| program.env("GPUPROF_SAMPLE", "1"));
    let errors = |profile: &Profile| {
        let errors = profile.diagnostics.errors.iter();
        let errors: Vec<_> = errors.map(|of| (of.call.clone(), of.count)).collect();
        errors
    };
    let mut first = program.look("look");
    program.tell("fail 1");
    program.tell("step 1000");
    let mut second = program.look("look");
    program.tell("fail 1");
    program.tell("step 1000");
    // Neither does a reset of the program's.
    program.tell("reset");
    let mut third = program.look("look");
    assert_eq!(errors(&finish(&mut first)), [("cuEventRecord".into(), 2)]);
    assert_eq!(errors(&finish(&mut second)), [("cuEventRecord".into(), 1)]);
    assert_eq!(errors(&finish(&mut third)), []);
    program.end();
}

fn a_session_does_not_wait_for_viewers() {
    const DELAY: Duration = Duration::from_secs(4);
    let mut program = Standby::start();
    let delay_ms = DELAY.as_millis();
    let wait_for = |program: &mut Standby, subscriptions: &str| {
        let began = Instant::now();
        while program.subscriptions() != subscriptions {
            assert!(began.elapsed() < Duration::from_secs(20), "{subscriptions}");
        }
    };
    program.tell(&format!("delay start {delay_ms}"));
    let mut viewer = program.viewer();
    let looking = thread::spawn(move || viewer.ask("look cupti").expect("an answer").error);
    wait_for(&mut program, "1 0");
    let began = Instant::now();
    program.tell("plain");
    assert!(began.elapsed() < DELAY / 2, "{:?}", began.elapsed());
    let refused = looking.join().expect("an answer").expect("a session began");
    assert!(refused.starts_with("the program measures a session of its own"));
    program.tell("step 1000");
    assert_eq!(program.tell("finish"), "Some(1)");
    assert_eq!(program.subscriptions(), "1 1", "nobody needs it");
    // The end of a look.
    program.tell("delay start 0");
    program.tell(&format!("delay end {delay_ms}"));
    let mut viewer = program.look("look cupti");
    program.tell("step 2000");
    let ending = thread::spawn(move || finish(&mut viewer));
    wait_for(&mut program, "2 2");
    let began = Instant::now();
    program.tell("plain");
    assert!(began.elapsed() < DELAY / 2, "{:?}", began.elapsed());
    program.tell("finish");
    // A session that needs CUPTI starts it again.
    program.tell("session");
    assert_eq!(program.subscriptions(), "3 2");
    program.tell("delay end 0");
    program.tell("step 3000");
    assert_eq!(program.tell("finish"), "Some(1)");
    assert_eq!(
        kernels(&ending.join().expect("a profile")),
        Some((1, 2_000))
    );
    assert_eq!(program.subscriptions(), "3 3");
    program.end();
}
