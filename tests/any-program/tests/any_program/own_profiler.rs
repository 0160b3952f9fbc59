//! Promise: a program that profiles itself through CUPTI does so as without gpuprof, and is
//! reported until then.

use support::assert_consistent;
use support::program::Program;
use support::suite::Module;
use support::tests;

use crate::machine::Machine;
use crate::programs::kernels;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        the_profiler_of_a_program_gets_cupti,
        a_libcupti_that_could_be_shared_is_handed_over_too,
        gpuprof_cupti_full_keeps_cupti,
        nothing_is_measured_after_a_handover,
        the_profiler_that_came_first_is_named,
        a_forked_child_that_asks_disturbs_nothing,
    ]],
);

/// Both functions by which a profiler subscribes.
const FUNCTIONS: [&str; 2] = ["cuptiSubscribe", "cuptiSubscribe_v2"];

/// The version of the simulated libcupti.
const VERSION: &str = "GPUPROF_SIM_CUPTI_VERSION";

/// How long the program sleeps in the end.
const PAUSE_NS: u64 = 500_000_000;

fn program(machine: &Machine, arguments: [&str; 2]) -> Program {
    let path = machine.compile("own_profiler", "own_profiler.c", &[]);
    machine.run(&path).arguments(&arguments)
}

fn the_profiler_of_a_program_gets_cupti() {
    for function in FUNCTIONS {
        assert_handed_over(function, "13.0");
    }
}

/// libcupti would refuse this profiler if gpuprof had shared CUPTI.
fn a_libcupti_that_could_be_shared_is_handed_over_too() {
    assert_handed_over("cuptiSubscribe", "13.3");
}

#[track_caller]
fn assert_handed_over(function: &str, version: &str) {
    let machine = Machine::new();
    let program = program(&machine, [function, "the middle"]);
    let (ended, profile) = program.env(VERSION, version).profiled();
    // What the program prints without gpuprof.
    let expected = format!("{function}: 0\nkernels: 5\n{function}: 0\nkernels: 10\ndone\n");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), expected);
    assert_eq!(ended.status.code(), Some(7));
    assert_consistent(&profile);
    assert_eq!(kernels(&profile), [("scale", 5, 50_000)]);
    // The rest of the run, in which nothing was recorded, is no part of it.
    assert!(profile.wall_ns < PAUSE_NS, "{}", profile.wall_ns);
    let cupti = profile.cupti.as_ref().expect("records");
    assert_eq!((cupti.dropped_records, cupti.unfinished), (0, 0));
    let [note] = &profile.diagnostics.notes[..] else {
        panic!("one note: {:?}", profile.diagnostics.notes);
    };
    let parts = ["until \"own_profiler\" asked", "GPUPROF_CUPTI=full"];
    assert!(parts.iter().all(|part| note.contains(part)), "{note}");
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
}

fn nothing_is_measured_after_a_handover() {
    let machine = Machine::new();
    let program = program(&machine, ["cuptiSubscribe", "the middle"]);
    // The program asks for CUPTI before that, and goes on after it.
    let (_, profile) = program.env("GPUPROF_DELAY", "200ms").profiled();
    assert_eq!((profile.wall_ns, kernels(&profile).len()), (0, 0));
    let [note] = &profile.diagnostics.notes[..] else {
        panic!("one note: {:?}", profile.diagnostics.notes);
    };
    assert!(note.contains("until \"own_profiler\" asked"), "{note}");
}

fn gpuprof_cupti_full_keeps_cupti() {
    for function in FUNCTIONS {
        let machine = Machine::new();
        let program = program(&machine, [function, "the middle"]);
        let (ended, profile) = program.env("GPUPROF_CUPTI", "full").profiled();
        let expected = format!("{function}: 39\n{function}: 39\ndone\n");
        assert_eq!(String::from_utf8_lossy(&ended.stdout), expected);
        assert_eq!(kernels(&profile), [("scale", 20, 200_000)]);
        assert_eq!(profile.diagnostics.notes, [""; 0]);
    }
}

fn the_profiler_that_came_first_is_named() {
    let machine = Machine::new();
    let (ended, profile) = program(&machine, ["cuptiSubscribe", "first"]).profiled();
    let expected = "cuptiSubscribe: 0\nkernels: 5\ndone\n";
    assert_eq!(String::from_utf8_lossy(&ended.stdout), expected);
    assert!(profile.cupti.is_none());
    let [note] = &profile.diagnostics.notes[..] else {
        panic!("one note: {:?}", profile.diagnostics.notes);
    };
    assert!(note.contains("\"CUPTI\" has subscribed: "), "{note}");
}

fn a_forked_child_that_asks_disturbs_nothing() {
    let machine = Machine::new();
    let (ended, profile) = program(&machine, ["cuptiSubscribe", "a child"]).profiled();
    assert_eq!(
        String::from_utf8_lossy(&ended.stdout),
        "cuptiSubscribe: 39\ndone\n"
    );
    assert_eq!(kernels(&profile), [("scale", 10, 100_000)]);
    assert_eq!(profile.diagnostics.notes, [""; 0]);
}
