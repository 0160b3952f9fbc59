//! Promise: a viewer gets the counters of functions, threads and devices as they are, and again
//! only what has changed.

mod program;

use gpuprof::Profile;
use support::program::Folder;
use support::suite::Module;
use support::tests;

use crate::files::{hear, say, start};
use support::viewer::{Viewer, row};

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    counters_are_exact_and_only_changes_are_sent_again,
    a_snapshot_is_the_profile,
    a_reset_begins_anew,
    viewers_have_their_own_changes,
    spans_of_tracing_are_seen,
];

fn counters_are_exact_and_only_changes_are_sent_again() {
    let folder = Folder::create();
    let running = start("running", &folder);
    let mut viewer = Viewer::connect(&folder, &running);
    let head = viewer.ask("hello").expect("an answer");
    assert_eq!((head.pid, head.error), (running.id(), None));
    assert!(head.program.starts_with("live-"), "{}", head.program);

    let first = viewer.changes();
    assert!(first.reset);
    assert_eq!(first.functions.len(), 3, "{first:#?}");
    let step = row(&first, "step").expect("it ran");
    assert_eq!((step.calls, step.open_calls), (3, 0));
    assert_eq!((step.cpu_ns, step.cpu_self_ns), (75_000, 75_000));
    // The stream is idle when a call begins: the CPU time before the launch is in the GPU span.
    assert_eq!(
        (step.gpu_ns, step.gpu_self_ns),
        (Some(75_075_000), Some(75_075_000))
    );
    assert_eq!(step.busy_ns, None);
    let outer = row(&first, "outer").expect("it runs");
    assert_eq!(
        (outer.calls, outer.open_calls, outer.open_ns),
        (0, 1, 12_000)
    );
    let inner = row(&first, "inner").expect("it runs");
    assert_eq!(
        (inner.open_calls, inner.open_ns, inner.gpu_ns),
        (1, 5_000, None)
    );

    let [main, worker] = &*first.threads else {
        panic!("two threads: {:#?}", first.threads);
    };
    assert_eq!(main.tid, running.id());
    assert_eq!((main.calls, main.cpu_ns), (3, 75_000));
    assert_eq!((&main.running, main.running_ns), (&None, 0));
    assert_eq!(
        (&*worker.name, worker.calls, worker.cpu_ns),
        ("worker", 0, 0)
    );
    assert!(
        worker
            .running
            .as_ref()
            .is_some_and(|name| name.ends_with("::inner"))
    );
    assert_eq!(worker.running_ns, 5_000);

    let [device] = &*first.devices else {
        panic!("one device: {:#?}", first.devices);
    };
    assert!(device.name.contains("simulated device"), "{}", device.name);
    assert_eq!((device.device, device.timed_calls), (0, 3));
    assert_eq!((device.gpu_ns, device.busy_ns), (75_075_000, 75_075_000));

    let none = viewer.changes();
    assert!(!none.reset);
    assert_eq!(
        (none.functions, none.threads, none.devices),
        (vec![], vec![], vec![])
    );

    say(&folder, "go");
    hear(&folder, "second");
    let last = viewer.changes();
    assert!(!last.reset);
    assert_eq!(
        row(&last, "step").map(|row| (row.calls, row.cpu_ns)),
        Some((4, 76_000))
    );
    assert_eq!(
        row(&last, "outer").map(|row| (row.calls, row.open_calls, row.cpu_ns, row.cpu_self_ns)),
        Some((1, 0, 12_000, 7_000))
    );
    assert_eq!(last.ended_threads, [worker.tid]);
    assert_eq!(last.threads.len(), 1);
    assert_eq!((last.threads[0].calls, last.threads[0].cpu_ns), (4, 76_000));
    say(&folder, "end");
    let ended = running.end();
    assert!(ended.status.success(), "{}", ended.stderr);
    assert_eq!(ended.remarks(), [""; 0]);
}

fn a_snapshot_is_the_profile() {
    let folder = Folder::create();
    let running = start("running", &folder);
    let mut viewer = Viewer::connect(&folder, &running);
    let text = viewer.document("snapshot");
    let profile: Profile = serde_json::from_slice(&text).expect("a profile");
    assert_eq!((profile.pid, profile.at_exit), (running.id(), false));
    let step = profile
        .functions
        .iter()
        .find(|function| function.name.ends_with("::step"));
    let step = step.expect("it ran");
    assert_eq!((step.calls, step.cpu.total_ns), (3, 75_000));
    support::assert_consistent(&profile);
    say(&folder, "go");
    say(&folder, "end");
    assert!(running.end().status.success());
}

fn a_reset_begins_anew() {
    let folder = Folder::create();
    let running = start("windows", &folder);
    let mut viewer = Viewer::connect(&folder, &running);
    let first = viewer.changes();
    assert_eq!(
        row(&first, "step").map(|row| (row.calls, row.cpu_ns)),
        Some((1, 2_000))
    );
    say(&folder, "go");
    hear(&folder, "second");
    let second = viewer.changes();
    assert!(second.reset);
    assert_eq!(
        row(&second, "step").map(|row| (row.calls, row.cpu_ns)),
        Some((1, 9_000))
    );
    let [main] = &*second.threads else {
        panic!("one thread: {:#?}", second.threads);
    };
    assert_eq!((main.calls, main.cpu_ns), (1, 9_000));
    say(&folder, "end");
    assert!(running.end().status.success());
}

fn viewers_have_their_own_changes() {
    let folder = Folder::create();
    let running = start("running", &folder);
    let mut viewers = [(); 4].map(|()| Viewer::connect(&folder, &running));
    let all = viewers.each_mut().map(|viewer| {
        let changes = viewer.changes();
        (changes.reset, changes.functions.len())
    });
    assert_eq!(all, [(true, 3); 4]);
}

fn spans_of_tracing_are_seen() {
    let folder = Folder::create();
    let running = start("spans", &folder);
    let mut viewer = Viewer::connect(&folder, &running);
    let seen = viewer.changes();
    let request = row(&seen, "request").expect("it runs");
    assert_eq!((request.calls, request.open_calls), (0, 1));
    assert_eq!(request.open_ns, 7_000);
    let stored = row(&seen, "stored").expect("it ran");
    assert_eq!((stored.calls, stored.cpu_ns), (2, 5_000));
    assert_eq!(stored.open_calls, 0);
    say(&folder, "end");
    assert!(running.end().status.success());
}
