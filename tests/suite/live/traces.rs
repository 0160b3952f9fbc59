//! Promise: a viewer gets the time line of the time that it asked for, and the program's own time
//! line is as without it.

mod program;

use std::fs;
use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

use support::program::{Folder, Running};
use support::suite::Module;
use support::tests;

use crate::files::{self, hear, say, start};
use support::viewer::Viewer;

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    each_time_line_has_the_calls_of_its_time,
    the_programs_own_time_line_stays_whole,
    one_viewer_records_at_a_time,
    a_viewer_that_leaves_ends_its_recording,
    a_viewer_that_has_enough_gets_what_there_is,
    perfetto_is_written_too,
];

/// Time for the request to arrive, and for a call to be made.
const LEAD: Duration = Duration::from_millis(400);

/// The labels of the complete events `call[N]`, each with its category.
fn calls(json: &[u8]) -> Vec<(String, String)> {
    let trace: serde_json::Value = serde_json::from_slice(json).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let mut calls: Vec<_> = events
        .iter()
        .filter(|event| event["ph"] == "X" && text(&event["name"]).contains("call["))
        .map(|event| {
            let name = text(&event["name"]);
            let at = name.find("call[").unwrap_or(0);
            (name[at..].to_owned(), text(&event["cat"]))
        })
        .collect();
    calls.sort();
    calls
}

fn labels(json: &[u8]) -> Vec<String> {
    let mut labels: Vec<String> = calls(json).into_iter().map(|(label, _)| label).collect();
    labels.dedup();
    labels
}

/// The time line of 1.5 s in which the program makes call `number`.
fn record(viewer: &mut Viewer, folder: &Folder, number: u32) -> Vec<u8> {
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(LEAD);
            say(folder, &format!("go{number}"));
        });
        viewer.document("trace 1500 json")
    })
}

fn end(running: Running, folder: &Folder) {
    say(folder, "end");
    let ended = running.end();
    assert!(ended.status.success(), "{}", ended.stderr);
}

fn each_time_line_has_the_calls_of_its_time() {
    let folder = Folder::create();
    let running = start("without-output", &folder);
    let mut viewer = Viewer::connect(&folder, &running);
    let first = record(&mut viewer, &folder, 2);
    // On the CPU and on the GPU.
    let found = calls(&first);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(labels(&first), ["call[2]"]);
    // Between two recordings.
    say(&folder, "go3");
    hear(&folder, "did3");
    assert_eq!(labels(&record(&mut viewer, &folder, 4)), ["call[4]"]);
    end(running, &folder);
}

fn the_programs_own_time_line_stays_whole() {
    let folder = Folder::create();
    let path = folder.path("exit.json");
    let program = files::program("with-output", &folder);
    let program = program.env("GPUPROF_REPORT", format!("trace={}", path.display()));
    let running = program.start().until_ready();
    let mut viewer = Viewer::connect(&folder, &running);
    assert_eq!(labels(&record(&mut viewer, &folder, 2)), ["call[2]"]);
    for word in ["go3", "go4"] {
        say(&folder, word);
    }
    end(running, &folder);
    let all = fs::read(path).expect("the file");
    assert_eq!(labels(&all), ["call[1]", "call[2]", "call[3]", "call[4]"]);
    assert_eq!(calls(&all).len(), 8);
}

fn one_viewer_records_at_a_time() {
    let folder = Folder::create();
    let running = start("without-output", &folder);
    let [mut first, mut second] = [(); 2].map(|()| Viewer::connect(&folder, &running));
    thread::scope(|scope| {
        let first = scope.spawn(|| first.document("trace 1500 json"));
        thread::sleep(LEAD);
        let refused = second.ask("trace 10 json").expect("an answer");
        assert!(
            refused
                .error
                .is_some_and(|error| error.contains("another viewer"))
        );
        // It answers other requests meanwhile.
        assert!(second.changes().reset);
        assert!(!first.is_finished());
        assert!(first.join().expect("a time line").starts_with(b"{"));
    });
}

fn a_viewer_that_leaves_ends_its_recording() {
    let folder = Folder::create();
    let running = start("without-output", &folder);
    let mut leaving = Viewer::connect(&folder, &running);
    gpuprof_report::live::write_frame(&mut leaving.0, b"trace 600000 json").expect("a request");
    thread::sleep(LEAD);
    let mut viewer = Viewer::connect(&folder, &running);
    let busy = viewer.ask("trace 10 json").expect("an answer");
    assert!(busy.error.is_some(), "it records");
    drop(leaving);
    let began = Instant::now();
    while viewer
        .ask("trace 1 json")
        .expect("an answer")
        .error
        .is_some()
    {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "it still records"
        );
        thread::sleep(Duration::from_millis(10));
    }
}

fn a_viewer_that_has_enough_gets_what_there_is() {
    let folder = Folder::create();
    let running = start("without-output", &folder);
    let mut viewer = Viewer::connect(&folder, &running);
    let socket = viewer.0.try_clone().expect("another handle");
    let began = Instant::now();
    let found = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(LEAD);
            say(&folder, "go2");
            hear(&folder, "did2");
            socket.shutdown(Shutdown::Write).expect("it is connected");
        });
        viewer.document("trace 600000 json")
    });
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!(labels(&found), ["call[2]"]);
    // The connection ends, and the next viewer records.
    assert!(viewer.ask("hello").is_err());
    let mut next = Viewer::connect(&folder, &running);
    assert!(next.document("trace 1 json").starts_with(b"{"));
}

fn perfetto_is_written_too() {
    let folder = Folder::create();
    let running = start("without-output", &folder);
    let mut viewer = Viewer::connect(&folder, &running);
    let trace = viewer.document("trace 1 perfetto");
    // Field 1 of each message is a packet.
    assert_eq!(trace.first(), Some(&0x0a));
}
