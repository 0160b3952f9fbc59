//! Promise: whatever viewers do, the program goes on and ends as without them, and others are
//! answered.

pub(crate) mod program;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use gpuprof_report::live::{read_frame, write_frame};
use support::program::Folder;
use support::suite::Module;
use support::tests;

use crate::files::{say, start};
use support::viewer::{Viewer, row, socket};

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    a_viewer_that_stops_reading_is_dropped,
    stalled_viewers_do_not_delay_the_end,
    viewers_that_are_killed_leave_no_trace,
    more_viewers_than_there_is_room_for_are_told_so,
    hostile_requests_are_refused,
    answers_take_one_percent,
    greetings_are_paced,
    the_report_says_what_viewers_cost,
    its_threads_take_no_signal,
];

/// Whether the program answers a new viewer.
fn is_served(folder: &Folder, running: &support::program::Running) -> bool {
    let began = Instant::now();
    let mut viewer = Viewer::connect(folder, running);
    // The place of a viewer that has gone is free when its last answer is made.
    while !viewer.ask("hello").is_ok_and(|head| head.error.is_none()) {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "no place is free"
        );
        viewer = Viewer::connect(folder, running);
    }
    let changes = viewer.changes();
    row(&changes, "tick").is_some_and(|row| row.calls == 3)
}

/// Sends requests and reads no answer, until no more can be sent.
fn stall(viewer: &mut Viewer) {
    let limit = Some(Duration::from_millis(100));
    viewer.0.set_write_timeout(limit).expect("a limit");
    while write_frame(&mut viewer.0, b"hello").is_ok() {}
}

fn a_viewer_that_stops_reading_is_dropped() {
    let folder = Folder::create();
    let running = start("serving", &folder);
    let mut stalled = Viewer::connect(&folder, &running);
    stall(&mut stalled);
    assert!(is_served(&folder, &running), "others are answered");
    // The connection ends within its limit of 2 s, although nothing is read.
    let began = Instant::now();
    loop {
        match stalled.0.write(b"\0") {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            _ => {}
        }
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "it is still open"
        );
    }
    assert!(is_served(&folder, &running));
    say(&folder, "end");
    let ended = running.end();
    assert!(ended.status.success());
    assert_eq!((ended.remarks(), ended.reports()), (vec![], 1));
}

fn stalled_viewers_do_not_delay_the_end() {
    let folder = Folder::create();
    let alone = start("ending", &folder).end();
    let running = start("ending", &folder);
    let mut viewers = [(); 3].map(|()| Viewer::connect(&folder, &running));
    let mut records = Viewer::connect(&folder, &running);
    write_frame(&mut records.0, b"trace 600000 json").expect("a request");
    viewers.iter_mut().for_each(stall);
    let ended = running.end();
    assert!(ended.status.success());
    assert_eq!((ended.remarks(), ended.reports()), (vec![], 1));
    let more = ended.took.saturating_sub(alone.took);
    assert!(more < Duration::from_millis(1_500), "{more:?}");
    // Seven calls, as without viewers.
    let calls = |stderr: &str| -> Vec<String> {
        let rows = stderr.lines().filter(|line| line.contains("tick"));
        let words = rows.flat_map(|row| row.split_whitespace().map(str::to_owned));
        words.filter(|word| word == "7").collect()
    };
    assert_eq!(calls(&ended.stderr), ["7"]);
    assert_eq!(calls(&alone.stderr), ["7"]);
}

fn viewers_that_are_killed_leave_no_trace() {
    let folder = Folder::create();
    let running = start("serving", &folder);
    let file = socket(&folder, &running);
    for cut in [
        &b""[..],
        b"\0",
        b"\0\0\0\x08",
        b"\0\0\0\x08snap",
        b"\0\0\0\x08snapshot",
    ] {
        // Each more often than there is room for viewers.
        for _ in 0..6 {
            let began = Instant::now();
            loop {
                let mut stream = UnixStream::connect(&file).expect("the socket is open");
                // Refused if all places are taken at the moment.
                let _ = stream.write_all(cut);
                // Its end is seen a moment later, and until then its place is taken.
                let mut viewer = Viewer::connect(&folder, &running);
                let is_admitted = viewer.ask("hello").is_ok_and(|head| head.error.is_none());
                if is_admitted {
                    break;
                }
                assert!(
                    began.elapsed() < Duration::from_secs(30),
                    "no place is free"
                );
            }
        }
    }
    assert!(is_served(&folder, &running));
    say(&folder, "end");
    assert_eq!(running.end().remarks(), [""; 0]);
}

fn more_viewers_than_there_is_room_for_are_told_so() {
    let folder = Folder::create();
    let running = start("serving", &folder);
    let mut viewers = [(); 4].map(|()| Viewer::connect(&folder, &running));
    for viewer in &mut viewers {
        assert_eq!(viewer.ask("hello").expect("an answer").error, None);
    }
    let mut fifth = UnixStream::connect(socket(&folder, &running)).expect("the socket is open");
    let answer = read_frame(&mut fifth, 10_000)
        .expect("an answer")
        .expect("a head");
    let answer = String::from_utf8(answer).expect("UTF-8");
    assert!(answer.contains("as many viewers are connected"), "{answer}");
    assert_eq!(fifth.read(&mut [0]).expect("the end"), 0);
    drop(viewers);
    let began = Instant::now();
    while Viewer::connect(&folder, &running).ask("hello").is_err() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "no place is free"
        );
    }
}

fn hostile_requests_are_refused() {
    let folder = Folder::create();
    let running = start("serving", &folder);
    let mut random = fastrand::Rng::with_seed(19);
    let words = [
        "hello",
        "changes",
        "snapshot",
        "trace 1 json",
        "",
        "\0",
        "trace 600001 json",
    ];
    for _ in 0..300 {
        let mut viewer = Viewer::connect(&folder, &running);
        let word = words[random.usize(..words.len())];
        let mut sent = Vec::new();
        write_frame(&mut sent, word.as_bytes()).expect("memory");
        for _ in 0..random.usize(1..6) {
            match (random.u8(..3), sent.len()) {
                (0, length) if length > 0 => sent[random.usize(..length)] = random.u8(..),
                (1, length) => sent.truncate(random.usize(..=length)),
                _ => sent.extend((0..random.usize(..5_000)).map(|_| random.u8(..))),
            }
        }
        // The program may have closed it already, and may answer a word that is left.
        let _ = viewer.0.write_all(&sent);
        let _ = viewer.0.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = viewer.0.read_to_end(&mut answer);
    }
    // Longer than any request: the connection ends without an answer.
    let mut long = Viewer::connect(&folder, &running);
    long.0
        .write_all(&4_097_u32.to_be_bytes())
        .expect("it is open");
    assert_eq!(long.0.read(&mut [0]).expect("the end"), 0);
    let mut unknown = Viewer::connect(&folder, &running);
    let head = unknown.ask("stop").expect("an answer");
    assert!(
        head.error
            .is_some_and(|error| error.starts_with("a request is hello"))
    );
    assert!(is_served(&folder, &running));
    say(&folder, "end");
    let ended = running.end();
    assert!(ended.status.success());
    assert_eq!((ended.remarks(), ended.reports()), (vec![], 1));
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

fn answers_take_one_percent() {
    let folder = Folder::create();
    let running = start("serving", &folder);
    let mut viewer = Viewer::connect(&folder, &running);
    let began = Instant::now();
    let answers: Vec<_> = (0..6).map(|_| viewer.changes()).collect();
    let took = began.elapsed();
    // After the fifth answer the sixth waits too.
    let spent = Duration::from_nanos(answers[4].live_ns);
    assert!(spent > Duration::ZERO);
    assert!(took >= spent * 99, "{spent:?} of {took:?}");
    assert!(answers.iter().all(|answer| answer.next_ms >= 1_000));
}

fn greetings_are_paced() {
    let folder = Folder::create();
    let running = start("serving", &folder);
    let began = Instant::now();
    let mut viewer = Viewer::connect(&folder, &running);
    for _ in 0..21 {
        assert_eq!(viewer.ask("hello").expect("an answer").error, None);
    }
    assert!(began.elapsed() >= Duration::from_millis(200));
    let began = Instant::now();
    for _ in 0..22 {
        // One that is not admitted is told so.
        let _ = Viewer::connect(&folder, &running).ask("hello");
    }
    assert!(began.elapsed() >= Duration::from_millis(200));
}

fn the_report_says_what_viewers_cost() {
    let folder = Folder::create();
    let running = start("serving", &folder);
    let mut viewer = Viewer::connect(&folder, &running);
    let first: gpuprof::Profile =
        serde_json::from_slice(&viewer.document("snapshot")).expect("a profile");
    let second: gpuprof::Profile =
        serde_json::from_slice(&viewer.document("snapshot")).expect("a profile");
    assert_eq!(first.diagnostics.live_ns, 0, "it was not answered yet");
    assert!(second.diagnostics.live_ns > 0);
    say(&folder, "end");
    let ended = running.end();
    let lines = ended.stderr.replace("\n  ", " ");
    assert!(lines.contains(" for viewers"), "{}", ended.stderr);
    let alone = start("ending", &folder).end();
    assert!(!alone.stderr.contains("viewers"), "{}", alone.stderr);
}

fn its_threads_take_no_signal() {
    let folder = Folder::create();
    let running = start("serving", &folder);
    let mut viewer = Viewer::connect(&folder, &running);
    assert_eq!(viewer.ask("hello").expect("an answer").error, None);
    let tasks = fs::read_dir(format!("/proc/{}/task", running.id())).expect("it runs");
    let mut blocked = Vec::new();
    for task in tasks {
        let task = task.expect("a thread").path();
        let name = fs::read_to_string(task.join("comm")).expect("its name");
        if ["gpuprof-live\n", "gpuprof-viewer\n"].contains(&&*name) {
            let status = fs::read_to_string(task.join("status")).expect("its status");
            let mask = status
                .lines()
                .find_map(|line| line.strip_prefix("SigBlk:\t"));
            blocked.push((name, mask.expect("a mask").to_owned()));
        }
    }
    assert_eq!(blocked.len(), 2, "{blocked:?}");
    for (name, mask) in blocked {
        let mask = u64::from_str_radix(&mask, 16).expect("hexadecimal");
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGPIPE] {
            assert_ne!(mask & 1 << (signal - 1), 0, "{name} takes {signal}");
        }
    }
}
