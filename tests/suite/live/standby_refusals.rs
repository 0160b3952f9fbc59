//! Promise: who looks at a program that cannot be looked at, or asks for what it cannot record, is
//! given the reason; and nothing of it is left.

use std::time::Duration;

use gpuprof::Profile;
use gpuprof_report::live::write_frame;
use support::program::Folder;
use support::suite::Module;
use support::tests;

use crate::files;
use crate::standby::{GONE, Standby, finish, kernels, program, program_in_standby, times};
use support::viewer::Viewer;

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    cupti_in_other_hands_is_said_and_tried_again,
    without_libcupti_calls_can_be_looked_at,
    other_programs_refuse_looks,
    a_profile_is_refused_until_a_look_begins,
    settings_without_effect_are_said,
    standby_without_viewers_is_a_contradiction,
    a_program_ends_during_a_look_as_without,
];

fn cupti_in_other_hands_is_said_and_tried_again() {
    let mut program = Standby::start();
    program.tell("refuse 1");
    let refused = program.viewer().ask("look cupti").expect("an answer");
    let reason = refused.error.expect("CUPTI is refused");
    assert!(reason.contains("another profiler"), "{reason}");
    program.tell("step 1000");
    let mut viewer = program.look("look cupti");
    program.tell("step 2000");
    let profile = finish(&mut viewer);
    assert_eq!(kernels(&profile), Some((1, 2_000)));
    assert_eq!(profile.diagnostics.notes, [""; 0]);
    program.end();
}

fn without_libcupti_calls_can_be_looked_at() {
    let folder = Folder::create();
    let program = program_in_standby("without libcupti", &folder);
    let missing = folder.path("libcupti.so");
    let running = program
        .env("GPUPROF_CUPTI_LIBRARY", missing)
        .start()
        .until_ready();
    let mut viewer = Viewer::connect(&folder, &running);
    let refused = viewer.ask("look cupti").expect("an answer").error;
    let reason = refused.expect("there is no libcupti");
    assert!(
        reason.contains("cannot open GPUPROF_CUPTI_LIBRARY="),
        "{reason}"
    );
    assert_eq!(viewer.ask("look").expect("an answer").error, None);
    let profile = finish(&mut viewer);
    assert_eq!((kernels(&profile), times(&profile, "step")), (None, None));
    files::say(&folder, "end");
    assert!(running.end().status.success());
}

fn other_programs_refuse_looks() {
    let folder = Folder::create();
    let program = files::program("obeying", &folder);
    let running = program.start().until_ready();
    let mut viewer = Viewer::connect(&folder, &running);
    for request in ["look", "look cupti", "snapshot 10"] {
        let head = viewer.ask(request).expect("an answer");
        let reason = head.error.expect("it is not in standby");
        assert!(
            reason.starts_with("the program is not in standby"),
            "{reason}"
        );
        assert!(!head.standby);
    }
    files::say(&folder, GONE);
    assert!(running.end().status.success());
}

fn a_profile_is_refused_until_a_look_begins() {
    let mut program = Standby::start();
    let mut viewer = program.viewer();
    for request in ["snapshot", "changes", "trace 5 json", "snapshot 5"] {
        let reason = viewer.ask(request).expect("an answer").error;
        let reason = reason.expect("nothing is measured");
        assert!(reason.starts_with("the program is in standby"), "{reason}");
    }
    assert_eq!(viewer.ask("look").expect("an answer").error, None);
    program.tell("step 3000");
    let profile: Profile = serde_json::from_slice(&viewer.document("snapshot")).expect("a profile");
    assert_eq!(times(&profile, "step").map(|of| of.0), Some(1));
    program.end();
}

fn settings_without_effect_are_said() {
    let program = Standby::start_with(|program| {
        let program = program.env("GPUPROF_REPORT", "json=all.json");
        program
            .env("GPUPROF_CHECKPOINT", "0.01")
            .env("GPUPROF_STALLS", "on")
    });
    let folder = program.folder.path("all.json");
    let ended = program.end();
    let [remark] = &*ended.remarks() else {
        panic!("one line: {}", ended.stderr);
    };
    for name in ["GPUPROF_REPORT", "GPUPROF_CHECKPOINT", "GPUPROF_STALLS"] {
        assert!(remark.contains(name), "{remark}");
    }
    let end = "have no effect beside GPUPROF=standby: viewers say what is recorded";
    assert!(remark.ends_with(end), "{remark}");
    assert!(!folder.exists());
}

fn standby_without_viewers_is_a_contradiction() {
    for (live, said) in [("off", true), ("on", false)] {
        let mut program = Standby::start_with(|program| program.env("GPUPROF_LIVE", live));
        let mut viewer = program.look("look");
        program.tell("step 1000");
        assert_eq!(times(&finish(&mut viewer), "step").map(|of| of.0), Some(1));
        let line = "gpuprof: GPUPROF_LIVE=off has no effect beside GPUPROF=standby, which waits \
                    for viewers";
        let ended = program.end();
        assert_eq!(ended.remarks(), vec![line; usize::from(said)]);
    }
}

fn a_program_ends_during_a_look_as_without() {
    let mut program = Standby::start();
    let mut waiting = program.look("look cupti,memory");
    let mut idle = program.look("look cupti,stalls");
    program.tell("step 1000");
    write_frame(&mut waiting.0, b"snapshot 600000").expect("a request");
    let ended = program.end();
    assert_eq!(ended.stderr, "");
    assert!(ended.took < Duration::from_secs(30));
    for viewer in [&mut waiting, &mut idle] {
        assert!(viewer.ask("hello").is_err(), "the connection ends");
    }
}
