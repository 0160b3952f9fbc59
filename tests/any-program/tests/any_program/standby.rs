//! Promise: a program that knows nothing of gpuprof can wait for viewers, and is measured exactly
//! while one looks; without one it is as if nothing were injected.

use std::fs;
use std::time::{Duration, Instant};

use gpuprof::Profile;
use gpuprof_report::json;
use support::assert_consistent;
use support::program::{Program, Running};
use support::suite::Module;
use support::tests;
use support::viewer::Viewer;

use crate::machine::Machine;
use crate::programs::{calls, kernels};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_look_has_the_work_of_its_time,
        nothing_is_opened_or_written_without_a_viewer,
        what_a_look_samples_ends_with_it,
    ]],
);

fn serving(machine: &Machine) -> Program {
    let program = machine.program("serve").folder(&machine.folder);
    let program = program.env("XDG_RUNTIME_DIR", machine.folder.path(""));
    program.env("GPUPROF", "standby")
}

fn wait_for(machine: &Machine, file: &str) {
    let began = Instant::now();
    while !machine.folder.path(file).exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "{file}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Has the program work once more.
fn work(machine: &Machine, number: u32) {
    fs::write(machine.folder.path(&format!("go{number}")), "").expect("a file");
    wait_for(machine, &format!("done{number}"));
}

fn look(viewer: &mut Viewer, request: &str) {
    let head = viewer.ask(request).expect("an answer");
    assert_eq!((head.error, head.standby), (None, true));
}

fn finish(viewer: &mut Viewer) -> Profile {
    json::read(&*viewer.document("snapshot 1")).expect("a profile")
}

/// Whether the process has mapped a file of this name.
fn has_loaded(running: &Running, file: &str) -> bool {
    let maps = fs::read_to_string(format!("/proc/{}/maps", running.id()));
    maps.expect("the process runs").contains(file)
}

fn a_look_has_the_work_of_its_time() {
    let machine = Machine::new();
    let running = serving(&machine).start();
    work(&machine, 1);
    assert!(!has_loaded(&running, "libsimcupti"));
    for number in [2, 5] {
        let mut viewer = Viewer::connect(&machine.folder, &running);
        look(&mut viewer, "look");
        work(&machine, number);
        work(&machine, number + 1);
        let profile = finish(&mut viewer);
        assert_consistent(&profile);
        assert_eq!(kernels(&profile), [("scale", 10, 100_000)]);
        // Without those before, of modules.
        let of_work = [
            ("cuCtxSynchronize", 2),
            ("cuLaunchKernel", 10),
            ("cuMemAlloc", 2),
            ("cuMemFree", 2),
            ("cuMemcpyDtoHAsync", 2),
            ("cuMemcpyHtoDAsync", 2),
        ];
        assert_eq!(calls(&profile), of_work);
        let bytes: u64 = profile.copies.iter().map(|copy| copy.bytes).sum();
        assert_eq!(bytes, 4 << 20);
        // Between two looks.
        work(&machine, number + 2);
    }
    fs::write(machine.folder.path("end"), "").expect("a file");
    let ended = running.end();
    assert_eq!(
        (ended.status.code(), &*ended.stdout),
        (Some(7), &b"done\n"[..])
    );
    assert!(!ended.stderr.contains("gpuprof"), "{}", ended.stderr);
}

fn nothing_is_opened_or_written_without_a_viewer() {
    let machine = Machine::new();
    let running = serving(&machine).start();
    work(&machine, 1);
    let threads = fs::read_dir(format!("/proc/{}/task", running.id())).expect("it runs");
    let names = threads.map(|thread| {
        let comm = thread.expect("a thread").path().join("comm");
        fs::read_to_string(comm).expect("its name")
    });
    let mut names: Vec<String> = names.filter(|name| name.starts_with("gpuprof")).collect();
    names.sort();
    assert_eq!(names, ["gpuprof-live\n"]);
    fs::write(machine.folder.path("end"), "").expect("a file");
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(7));
    assert!(!ended.stderr.contains("gpuprof"), "{}", ended.stderr);
    let left = fs::read_dir(machine.folder.path("gpuprof")).expect("the folder stays");
    assert_eq!(left.count(), 0);
}

/// What a viewer asks for is sampled in the look of another one only if both ask.
fn what_a_look_samples_ends_with_it() {
    let machine = Machine::new();
    let running = serving(&machine).start();
    work(&machine, 1);
    let connect = || Viewer::connect(&machine.folder, &running);
    let mut long = connect();
    for number in [2, 4] {
        let mut stalls = connect();
        look(&mut stalls, "look cupti,stalls");
        work(&machine, number);
        let profile = finish(&mut stalls);
        assert!(
            profile.stalls.is_some(),
            "{number} {:?}",
            profile.diagnostics.notes
        );
        // Each device samples one of both.
        let mut counters = connect();
        look(&mut counters, "look cupti,counters");
        work(&machine, number + 1);
        let profile = finish(&mut counters);
        assert_eq!(profile.stalls, None);
        assert_eq!(profile.diagnostics.notes, [""; 0]);
        // For the second time, beside a look that goes on.
        if number == 2 {
            look(&mut long, "look cupti");
        }
    }
    assert_eq!(finish(&mut long).stalls, None);
    fs::write(machine.folder.path("end"), "").expect("a file");
    assert_eq!(running.end().status.code(), Some(7));
}
