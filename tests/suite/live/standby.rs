//! Promise: a program in standby does nothing for gpuprof until a viewer looks. A look has what was
//! begun in its time, exactly, and CUPTI is left after the last one.

pub(crate) mod program;

use std::time::Duration;
use std::{env, fs};

use gpuprof::Profile;
use gpuprof::profile::Function;
use support::cupti_from_environment::{CUPTI_CONFIGURATION, in_use};
use support::program::{Ended, Folder, Program, Running};
use support::suite::Module;
use support::tests;

use crate::files;
use support::viewer::Viewer;

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS])
    .with_program(program::run)
    .with_subscriber_calls();

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    nothing_is_done_until_a_viewer_looks,
    a_look_has_the_calls_and_kernels_of_its_time,
    what_crosses_the_bounds_of_a_look_counts_once,
    kernels_outside_any_function_are_waited_for,
    graphs_made_before_count_for_the_function_that_launches_them,
    a_look_goes_on_through_resets_of_the_program,
    a_session_of_the_program_ends_a_look,
];

/// The beginnings of the names of files.
const GO: &str = "go";
const DONE: &str = "done";
pub(crate) const GONE: &str = "gone";

/// A program in standby that does what it is told.
pub(crate) struct Standby {
    pub(crate) folder: Folder,
    running: Running,
    commands: u32,
}

pub(crate) fn program_in_standby(scenario: &str, folder: &Folder) -> Program {
    // Without GPUPROF_LIVE, which standby needs not.
    let program = files::program(scenario, folder).env("GPUPROF_LIVE", "");
    let cupti = env::var(CUPTI_CONFIGURATION).unwrap_or_default();
    let program = program.env(CUPTI_CONFIGURATION, cupti);
    program.env("GPUPROF", "standby").folder(folder)
}

impl Standby {
    pub(crate) fn start() -> Self {
        Self::start_with(|program| program)
    }

    pub(crate) fn start_with(change: impl FnOnce(Program) -> Program) -> Self {
        let folder = Folder::create();
        let program = change(program_in_standby("obeying", &folder));
        Self {
            running: program.start().until_ready(),
            folder,
            commands: 0,
        }
    }

    /// Has the program do something; returns what it answers.
    pub(crate) fn tell(&mut self, command: &str) -> String {
        self.commands += 1;
        let number = self.commands;
        let [new, file] = ["new", GO].map(|word| self.folder.path(&format!("{word}{number}")));
        fs::write(&new, command).expect("the folder can be written");
        fs::rename(new, file).expect("the folder can be written");
        let done = format!("{DONE}{number}");
        files::hear(&self.folder, &done);
        fs::read_to_string(self.folder.path(&done)).expect("an answer")
    }

    pub(crate) fn viewer(&self) -> Viewer {
        Viewer::connect(&self.folder, &self.running)
    }

    /// A viewer that looks for this.
    pub(crate) fn look(&self, request: &str) -> Viewer {
        let mut viewer = self.viewer();
        let head = viewer.ask(request).expect("an answer");
        assert_eq!((head.error, head.standby), (None, true));
        viewer
    }

    /// How often CUPTI was subscribed to, and left.
    pub(crate) fn subscriptions(&mut self) -> String {
        self.tell("calls")
    }

    pub(crate) fn end(self) -> Ended {
        files::say(&self.folder, GONE);
        let ended = self.running.end();
        assert!(ended.status.success(), "{}", ended.stderr);
        ended
    }
}

/// The profile at the end of a look.
pub(crate) fn finish(viewer: &mut Viewer) -> Profile {
    let text = viewer.document("snapshot 1");
    let profile: Profile = serde_json::from_slice(&text).expect("a profile");
    support::assert_consistent(&profile);
    profile
}

/// Calls, CPU time and GPU time of a function; `None` if it was not called.
pub(crate) fn times(profile: &Profile, name: &str) -> Option<(u64, u64, u64)> {
    let end = format!("::{name}");
    let mut functions = profile.functions.iter();
    let function = functions.find(|of| of.name.ends_with(&end) && of.calls > 0)?;
    let gpu = function.gpu.as_ref().map_or(0, |gpu| gpu.times.total_ns);
    Some((function.calls, function.cpu.total_ns, gpu))
}

/// Calls and time of all kernels; `None` without CUPTI.
pub(crate) fn kernels(profile: &Profile) -> Option<(u64, u64)> {
    profile.cupti.as_ref()?;
    Some(support::cupti_world::all_kernels(profile))
}

/// Nothing was lost, and everything is of a function.
pub(crate) fn assert_whole(profile: &Profile) {
    assert_eq!(losses(profile), [0; 6], "{:?}", profile.cupti);
}

/// Records that are not attributed exactly, by reason.
fn losses(profile: &Profile) -> [u64; 6] {
    let cupti = support::cupti_world::cupti(profile);
    [
        cupti.dropped_records,
        cupti.invalid_records,
        cupti.unfinished,
        cupti.late_records,
        cupti.records_without_call,
        cupti.unattributed,
    ]
}

fn nothing_is_done_until_a_viewer_looks() {
    let mut program = Standby::start();
    for _ in 0..3 {
        program.tell("step 1000");
    }
    assert_eq!(program.tell("all"), "[]", "no call of CUPTI");
    let mut without = Standby::start_with(|program| program.env("GPUPROF", "off"));
    for _ in 0..3 {
        without.tell("step 1000");
    }
    assert_eq!(program.tell("driver"), without.tell("driver"));
    let folder = program.folder.path("");
    let files = || {
        let entries = fs::read_dir(&folder).expect("a folder");
        let names = entries.map(|entry| entry.expect("a file").file_name());
        let names = names.filter_map(|name| name.into_string().ok());
        let is_own = |name: &String| [GO, DONE, GONE].iter().any(|word| name.starts_with(word));
        names.filter(|name| !is_own(name)).collect::<Vec<_>>()
    };
    assert_eq!(files(), ["gpuprof"], "the folder of the socket");
    files::say(&program.folder, GONE);
    let ended = program.running.end();
    assert!(ended.status.success(), "{}", ended.stderr);
    assert_eq!(
        (ended.stderr.as_str(), files()),
        ("", vec!["gpuprof".into()])
    );
}

fn a_look_has_the_calls_and_kernels_of_its_time() {
    let mut program = Standby::start();
    program.tell("step 7000");
    let mut viewer = program.look("look cupti");
    for ns in [10_000, 20_000, 30_000] {
        program.tell(&format!("step {ns}"));
    }
    let first = finish(&mut viewer);
    assert_eq!(times(&first, "step"), Some((3, 3_000, 63_000)));
    assert_eq!(kernels(&first), Some((3, 60_000)));
    assert_eq!((first.at_exit, first.wall_ns), (false, 66_000));
    assert_whole(&first);
    assert_eq!(program.subscriptions(), "1 1");
    // Nothing goes on afterwards.
    // The four kinds that are always recorded, and that of memory.
    let before = program.tell("all");
    for (function, calls) in [("cuptiActivityEnable", 4), ("cuptiActivityDisable", 5)] {
        let called = format!("{:?}", (in_use(function), calls));
        assert!(before.contains(&called), "{before}");
    }
    program.tell("step 7000");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(program.tell("all"), before);
    // The same viewer again, and then another one.
    assert_eq!(viewer.ask("look cupti").expect("an answer").error, None);
    program.tell("step 40000");
    let second = finish(&mut viewer);
    assert_eq!(times(&second, "step"), Some((1, 1_000, 41_000)));
    assert_eq!(kernels(&second), Some((1, 40_000)));
    assert_whole(&second);
    // Without CUPTI.
    let mut viewer = program.look("look");
    program.tell("step 50000");
    let third = finish(&mut viewer);
    assert_eq!(times(&third, "step"), Some((1, 1_000, 51_000)));
    assert_eq!(kernels(&third), None);
    assert_eq!(program.subscriptions(), "2 2");
    let ended = program.end();
    assert_eq!(ended.stderr, "");
}

fn what_crosses_the_bounds_of_a_look_counts_once() {
    let mut program = Standby::start();
    // A call that ends in the look, and a kernel that runs in it.
    program.tell("begin");
    program.tell("queue 100000");
    let mut viewer = program.look("look cupti");
    program.tell("end");
    program.tell("step 10000");
    // A kernel that ends after the look, and a call that does.
    program.tell("queue 200000");
    program.tell("begin");
    let ending = std::thread::spawn(move || finish(&mut viewer));
    let mut program = wait_for_end_of_look(program);
    program.tell("wait");
    let first = ending.join().expect("a profile");
    assert_eq!(
        times(&first, "step").map(|of| (of.0, of.1)),
        Some((2, 2_000))
    );
    assert_eq!(times(&first, "long_step"), None);
    let open = first
        .functions
        .iter()
        .find(|of| of.name.ends_with("::long_step"));
    assert_eq!(open.map(|of| of.open_calls), Some(1));
    // The second kernel of the first long step was launched in the look, outside of any call that
    // counts, and the first one of the other long step in that.
    assert_eq!(
        kernels(&first),
        Some((4, 10_000 + 10_000 + 200_000 + 1_000))
    );
    assert_eq!(losses(&first), [0, 0, 0, 0, 0, 1]);
    let mut viewer = program.look("look cupti");
    program.tell("end");
    program.tell("step 30000");
    let second = finish(&mut viewer);
    // It counts where it ends, as with a reset.
    assert_eq!(times(&second, "long_step").map(|of| of.0), Some(1));
    assert_eq!(times(&second, "step").map(|of| of.0), Some(1));
    assert_eq!(kernels(&second), Some((2, 10_000 + 30_000)));
    assert_whole(&second);
    program.end();
}

fn kernels_outside_any_function_are_waited_for() {
    let mut program = Standby::start();
    let mut viewer = program.look("look cupti");
    program.tell("launch 50000");
    let ending = std::thread::spawn(move || finish(&mut viewer));
    let mut program = wait_for_end_of_look(program);
    program.tell("launch 60000");
    program.tell("wait");
    let profile = ending.join().expect("a profile");
    assert_eq!(kernels(&profile), Some((1, 50_000)));
    assert_eq!(losses(&profile), [0, 0, 0, 0, 0, 1]);
    // One that never ends is counted.
    let mut viewer = program.look("look cupti");
    program.tell("launch 70000");
    let profile = finish(&mut viewer);
    assert_eq!((kernels(&profile), losses(&profile)[2]), (Some((0, 0)), 1));
    // It ends in the next look, which it is not of.
    let mut viewer = program.look("look cupti");
    program.tell("wait");
    program.tell("step 10000");
    let profile = finish(&mut viewer);
    assert_eq!(kernels(&profile), Some((1, 10_000)));
    assert_whole(&profile);
    program.end();
}

/// Returns when no look is open any more, as far as calls go.
fn wait_for_end_of_look(program: Standby) -> Standby {
    std::thread::sleep(Duration::from_millis(300));
    program
}

fn graphs_made_before_count_for_the_function_that_launches_them() {
    let mut program = Standby::start();
    program.tell("capture");
    let mut viewer = program.look("look cupti");
    program.tell("replay");
    let before = finish(&mut viewer);
    let of = |profile: &Profile, name: &str| {
        let end = format!("::{name}");
        let is_it = |of: &&Function| of.name.ends_with(&end) || of.name == name;
        let functions = profile.functions.iter().filter(is_it);
        let kernels = functions.flat_map(|of| &of.activity.kernels);
        kernels.map(|kernel| kernel.times.calls).sum::<u64>()
    };
    assert_eq!((of(&before, "replay"), of(&before, "layer")), (3, 0));
    assert_eq!(kernels(&before), Some((3, 3_000)));
    let cupti = before.cupti.as_ref().expect("CUPTI ran");
    assert_eq!((cupti.unattributed_graph_nodes, cupti.unattributed), (3, 0));
    // Made in the look.
    let mut viewer = program.look("look cupti");
    program.tell("capture");
    program.tell("replay");
    let inside = finish(&mut viewer);
    assert_eq!((of(&inside, "layer"), of(&inside, "model")), (2, 1));
    assert_whole(&inside);
    // That graph is from before the next look.
    let mut viewer = program.look("look cupti");
    program.tell("replay");
    let after = finish(&mut viewer);
    assert_eq!((of(&after, "replay"), of(&after, "layer")), (3, 0));
    program.end();
}

fn a_look_goes_on_through_resets_of_the_program() {
    let mut program = Standby::start();
    let mut viewer = program.look("look cupti");
    program.tell("step 10000");
    program.tell("reset");
    program.tell("step 20000");
    let changes = viewer.changes();
    let row = support::viewer::row(&changes, "step").expect("it ran");
    assert_eq!((row.calls, changes.reset), (2, true));
    let profile = finish(&mut viewer);
    assert_eq!(kernels(&profile), Some((2, 30_000)));
    program.end();
}

fn a_session_of_the_program_ends_a_look() {
    let mut program = Standby::start();
    let mut viewer = program.look("look cupti");
    program.tell("step 10000");
    program.tell("session");
    program.tell("step 20000");
    let refused = program.viewer().ask("look").expect("an answer");
    let reason = refused.error.expect("a session is open");
    assert!(
        reason.starts_with("the program measures a session of its own"),
        "{reason}"
    );
    let profile = finish(&mut viewer);
    assert_eq!(kernels(&profile), Some((1, 10_000)));
    assert_eq!(program.subscriptions(), "1 0", "the session needs it");
    program.tell("step 40000");
    assert_eq!(program.tell("finish"), "Some(2)");
    assert_eq!(program.subscriptions(), "1 1");
    let mut viewer = program.look("look cupti");
    program.tell("step 5000");
    assert_eq!(kernels(&finish(&mut viewer)), Some((1, 5_000)));
    assert_eq!(program.subscriptions(), "2 2");
    program.end();
}
