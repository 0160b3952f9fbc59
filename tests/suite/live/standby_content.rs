//! Promise: what a look asks for beside kernels is recorded in its time, and again in the next
//! one; time lines and screens of a program in standby are of looks too.

use std::thread;
use std::time::Duration;

use gpuprof::Profile;
use support::suite::Module;
use support::tests;

use crate::standby::{self, Standby, finish, program};
use support::viewer::row;

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS])
    .with_program(program::run)
    .with_subscriber_calls();

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    memory_is_that_of_the_look,
    stalls_are_those_of_the_look,
    stalls_are_sampled_once_counters_are_not,
    sampling_begins_and_ends_beside_launches_of_other_threads,
    kernels_that_were_not_sampled_are_forgotten,
    a_look_that_fails_leaves_no_call_behind,
    counters_are_sampled_again_in_a_second_look,
    a_screen_shows_its_own_look,
    a_time_line_is_one_of_a_look,
];

fn memory_is_that_of_the_look() {
    let mut program = Standby::start();
    let in_look = |program: &mut Standby, command: &str| {
        let mut viewer = program.look("look cupti,memory");
        program.tell(command);
        let profile = finish(&mut viewer);
        profile.memory.expect("it was recorded")
    };
    // What was allocated before the look is unknown.
    program.tell("allocate 4096");
    let memory = in_look(&mut program, "free");
    assert_eq!(
        (memory.unknown_frees, memory.unknown_freed_bytes),
        (1, 4_096)
    );
    for bytes in [1_000, 2_000] {
        let memory = in_look(&mut program, &format!("allocate {bytes}"));
        let [of_device] = &*memory.uses else {
            panic!("device memory alone: {memory:?}");
        };
        let totals = &of_device.totals;
        assert_eq!((totals.allocations, totals.allocated_bytes), (1, bytes));
        // Not what was freed between two looks.
        let live = (of_device.live_bytes, of_device.peak_bytes);
        assert_eq!((memory.unknown_frees, live), (0, (bytes, bytes)));
        program.tell("free");
    }
    let mut viewer = program.look("look cupti");
    program.tell("allocate 1000");
    assert_eq!(finish(&mut viewer).memory, None);
    program.end();
}

fn has_note(profile: &Profile, begins: &str) -> bool {
    let mut notes = profile.diagnostics.notes.iter();
    notes.any(|note| note.starts_with(begins))
}

fn stalls_are_those_of_the_look() {
    let mut program = Standby::start();
    for launches in [2, 3] {
        program.tell("step 1000");
        let mut viewer = program.look("look cupti,stalls");
        for _ in 0..launches {
            program.tell("step 1000");
        }
        let profile = finish(&mut viewer);
        let stalls = profile.stalls.as_ref().expect("they were sampled");
        assert_eq!(stalls.samples, 45 * launches);
        let notes = profile.diagnostics.notes.iter();
        let said = notes
            .filter(|note| note.contains("loaded before the look"))
            .count();
        assert_eq!(said, 1, "{:?}", profile.diagnostics.notes);
    }
    let mut viewer = program.look("look cupti,stalls");
    program.tell("step 1000");
    program.tell("fill");
    let profile = finish(&mut viewer);
    let lost = "a device had no room for more samples of stalls 1x";
    assert!(has_note(&profile, lost));
    let mut viewer = program.look("look cupti,stalls");
    program.tell("others 46");
    program.tell("step 1000");
    let profile = finish(&mut viewer);
    let unknown = "46 of 91 samples are in code that CUPTI does not name";
    assert!(has_note(&profile, unknown));
    // Two at once have their own.
    let mut first = program.look("look cupti,stalls");
    program.tell("step 1000");
    let mut second = program.look("look cupti,stalls");
    program.tell("step 1000");
    let samples = |profile: &Profile| profile.stalls.as_ref().map(|stalls| stalls.samples);
    assert_eq!(samples(&finish(&mut first)), Some(90));
    program.tell("step 1000");
    assert_eq!(samples(&finish(&mut second)), Some(90));
    program.end();
}

/// A device samples one of both.
fn stalls_are_sampled_once_counters_are_not() {
    let mut program = Standby::start();
    let mut counters = program.look("look cupti,counters");
    program.tell("step 1000");
    let mut stalls = program.look("look cupti,stalls");
    program.tell("step 1000");
    assert_eq!(finish(&mut counters).counters.len(), 1);
    program.tell("step 1000");
    let samples = |profile: &Profile| profile.stalls.as_ref().map(|stalls| stalls.samples);
    assert_eq!(samples(&finish(&mut stalls)), Some(45));
    program.end();
}

/// Launches and the end of sampling wait for each other, if nothing keeps them apart.
fn sampling_begins_and_ends_beside_launches_of_other_threads() {
    let mut program = Standby::start();
    program.tell("launch on");
    for _ in 0..3 {
        let mut viewer = program.look("look cupti,stalls");
        thread::sleep(Duration::from_millis(300));
        let profile = finish(&mut viewer);
        let stalls = profile.stalls.as_ref().expect("they were sampled");
        assert_eq!(stalls.other_samples, 0, "records began between launches");
        let (kernels, _) = standby::kernels(&profile).expect("they were recorded");
        // A thread may be inside a launch when the look begins or ends.
        let most = 45 * (kernels + 2);
        assert!(
            (45..=most).contains(&stalls.samples),
            "{stalls:?}, {kernels}"
        );
        assert_eq!(stalls.samples % 45, 0);
    }
    // One goes on while the program ends.
    let _viewer = program.look("look cupti,stalls");
    program.tell("step 1000");
    program.end();
}

/// libcupti forgets them when it records no kernels any more.
fn kernels_that_were_not_sampled_are_forgotten() {
    for begins_with_stalls in [true, false] {
        let mut program = Standby::start();
        let mut look = |content: &str| {
            let mut viewer = program.look(&format!("look cupti{content}"));
            program.tell("step 1000");
            let profile = finish(&mut viewer);
            program.tell("step 1000");
            profile
        };
        if begins_with_stalls {
            look(",stalls");
        }
        look("");
        let profile = look(",stalls");
        let stalls = profile.stalls.as_ref().expect("they were sampled");
        let (known, unknown) = if begins_with_stalls { (45, 0) } else { (0, 45) };
        assert_eq!((stalls.samples, stalls.other_samples), (known, unknown));
        let note = "45 of 45 samples are in code that CUPTI does not name";
        assert_eq!(has_note(&profile, note), !begins_with_stalls);
        program.end();
    }
}

/// Sampling would wait for the end of one for good.
fn a_look_that_fails_leaves_no_call_behind() {
    let mut program = Standby::start();
    program.tell("launch on");
    for _ in 0..5 {
        program.tell("refuse records 1");
        let request = "look cupti,stalls";
        let refused = program.viewer().ask(request).expect("an answer");
        let reason = refused.error.expect("records are refused");
        assert!(reason.contains("cuptiActivityEnable"), "{reason}");
    }
    program.tell("launch no more");
    // What they asked for is not what later ones do.
    let mut viewer = program.look("look cupti");
    program.tell("step 1000");
    assert_eq!(finish(&mut viewer).stalls, None);
    let calls = program.tell("all");
    assert!(!calls.contains("cuptiPCSampling"), "{calls}");
    let mut viewer = program.look("look cupti,stalls");
    program.tell("step 1000");
    let stalls = finish(&mut viewer).stalls.expect("they were sampled");
    assert_eq!(stalls.samples + stalls.other_samples, 45);
    program.end();
}

fn counters_are_sampled_again_in_a_second_look() {
    let mut program = Standby::start();
    // Both at once exclude each other, and so would one that did not end.
    let mut viewer = program.look("look cupti,stalls");
    program.tell("step 1000");
    assert!(finish(&mut viewer).stalls.is_some());
    for _ in 0..2 {
        let mut viewer = program.look("look cupti,counters");
        program.tell("step 1000");
        program.tell("sample 2");
        program.tell("step 2000000");
        program.tell("sample 2");
        let profile = finish(&mut viewer);
        let [device] = &*profile.counters else {
            panic!("one device: {:?}", profile.counters);
        };
        assert!(device.samples > 10, "{device:?}");
        assert_eq!(device.gap_ns, 0, "no time without samples");
        assert_eq!(profile.stalls, None);
        assert_eq!(profile.diagnostics.notes, [""; 0]);
    }
    let mut viewer = program.look("look cupti");
    program.tell("step 2000000");
    program.tell("sample 2");
    assert_eq!(finish(&mut viewer).counters, []);
    program.end();
}

fn a_screen_shows_its_own_look() {
    let mut program = Standby::start();
    program.tell("step 1000");
    let mut screen = program.look("look cupti");
    program.tell("step 2000");
    // CUPTI's records are read each 100 ms.
    thread::sleep(Duration::from_millis(500));
    let first = screen.changes();
    assert!(first.reset);
    let of = |row: &gpuprof_report::live::FunctionRow| (row.calls, row.busy_ns);
    assert_eq!(row(&first, "step").map(of), Some((1, Some(2_000))));
    // Another viewer comes and goes.
    let mut other = program.look("look cupti");
    program.tell("step 3000");
    let profile = finish(&mut other);
    let steps = profile
        .functions
        .iter()
        .filter(|of| of.name.ends_with("::step"));
    assert_eq!(steps.map(|of| of.calls).sum::<u64>(), 1);
    program.tell("step 4000");
    thread::sleep(Duration::from_millis(500));
    let last = screen.changes();
    assert_eq!(row(&last, "step").map(of), Some((3, Some(9_000))));
    assert!(!last.reset);
    program.end();
}

fn a_time_line_is_one_of_a_look() {
    let mut program = Standby::start();
    let mut viewer = program.look("look cupti");
    program.tell("step 2000");
    let text = thread::scope(|scope| {
        let recording = scope.spawn(|| viewer.document("trace 1500 json"));
        thread::sleep(Duration::from_millis(400));
        program.tell("step 3000");
        recording.join().expect("a time line")
    });
    let trace: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let named = |end: &str| {
        let is_it = |event: &&serde_json::Value| {
            event["ph"] == "X"
                && event["name"]
                    .as_str()
                    .is_some_and(|name| name.ends_with(end))
        };
        events.iter().filter(is_it).count()
    };
    assert_eq!(named("saxpy"), 1, "the kernel of the recorded call");
    program.end();
}
