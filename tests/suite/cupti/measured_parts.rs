//! Promise: of a program that is measured in part, the report has what began in the part, by a wall
//! clock that stands still outside of it.

mod program;

use gpuprof::Profile;
use support::cupti_world::{all_kernels, kernels};
use support::program::{Ended, Folder, Program};
use support::suite::Module;
use support::tests;
use support::{assert_consistent, cpu_times, function};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        two_parts_are_one_report_without_the_time_between,
        calls_of_the_runtime_bound_parts_too,
        a_call_counts_if_it_begins_in_the_part,
        a_step_that_a_pause_falls_into_is_not_counted,
        a_reset_leaves_a_pause_a_pause,
        the_wall_clock_of_a_snapshot_stands_still_in_a_pause,
        a_session_is_measured_whatever_the_program_calls,
        a_part_that_never_begins_is_one_line,
        without_cupti_the_whole_program_is_measured,
        a_time_line_has_the_part_alone,
        a_delay_ends_while_the_program_runs,
        what_is_called_after_the_time_does_not_count,
    ]],
)
.with_program(program::run);

const BETWEEN: &str = "a part of the program was measured: from cudaProfilerStart to \
                       cudaProfilerStop (GPUPROF_FROM_START=off)";
const NEVER: &str = "nothing was measured: the program has not called cudaProfilerStart since its \
                     first profiled call (GPUPROF_FROM_START=off)";

fn marked(scenario: &str) -> Program {
    Program::new(scenario)
        .env("GPUPROF_FROM_START", "off")
        .env("GPUPROF_SAMPLE", "1")
}

/// The report of a program that has succeeded.
fn profiled(program: Program) -> (Ended, Profile) {
    let (ended, profile) = program.profiled();
    assert!(ended.status.success(), "{}", ended.stderr);
    assert_consistent(&profile);
    (ended, profile)
}

fn calls(profile: &Profile, name: &str) -> u64 {
    function(profile, name).calls
}

/// As the scenario `two parts` has it.
fn assert_two_parts(profile: &Profile) {
    assert_eq!(profile.diagnostics.notes, [BETWEEN]);
    assert_eq!(kernels(profile, "step"), [("saxpy", 2, 700)]);
    assert_eq!(
        (all_kernels(profile), calls(profile, "outside")),
        ((2, 700), 0)
    );
    assert_eq!(cpu_times(profile, "step"), (2, 20, 20));
    // Launches and synchronizations within the parts.
    let api: u64 = profile.api.iter().map(|call| call.times.calls).sum();
    assert_eq!(api, 4, "{:?}", profile.api);
    // 100 + 10 + 300 + 50, and 200 + 10 + 400 + 60.
    assert_eq!(profile.wall_ns, 460 + 670);
    let [busy] = &profile.gpu_busy[..] else {
        panic!("one device: {:?}", profile.gpu_busy);
    };
    let records = busy.records.expect("records");
    assert_eq!((busy.busy_ns, records.gaps), (700, 1));
    // From the first kernel to the pause, and from the pause to the second launch.
    assert_eq!(records.idle_host_ns, 50 + 210);
    assert_eq!((records.idle_launch_ns, records.idle_queued_ns), (0, 0));
}

fn two_parts_are_one_report_without_the_time_between() {
    let (_, profile) = profiled(marked("two parts"));
    assert_two_parts(&profile);
}

fn calls_of_the_runtime_bound_parts_too() {
    let (_, profile) = profiled(marked("two parts by the runtime"));
    assert_two_parts(&profile);
}

fn a_call_counts_if_it_begins_in_the_part() {
    let (_, profile) = profiled(marked("crossing"));
    // The step within a call from before the part is outside of any.
    assert_eq!((calls(&profile, "into"), calls(&profile, "step")), (0, 2));
    let [root, ..] = &profile.tree[..] else {
        panic!("a tree: {:?}", profile.tree);
    };
    assert!(
        root.name.ends_with("::step") && root.parent.is_none(),
        "{root:?}"
    );
    // With its 2,000 ns in the pause, the launch in which is not measured.
    let own = 20 + 2_000;
    assert_eq!(cpu_times(&profile, "out_of"), (1, 10 + own, own));
    assert_eq!(all_kernels(&profile), (2, 700));
    assert_eq!(function(&profile, "out_of").activity.launches, 1);
}

fn a_step_that_a_pause_falls_into_is_not_counted() {
    let (_, profile) = profiled(marked("steps"));
    let steps = profile.steps.expect("steps");
    assert_eq!(steps.series_ns, [100, 30]);
    assert_eq!(profile.wall_ns, 100 + 40 + 30 + 7);
}

fn a_reset_leaves_a_pause_a_pause() {
    let (_, profile) = profiled(marked("reset"));
    assert_eq!((calls(&profile, "step"), profile.wall_ns), (1, 10 + 400));
    assert_eq!(all_kernels(&profile), (1, 400));
}

fn the_wall_clock_of_a_snapshot_stands_still_in_a_pause() {
    profiled(marked("snapshots"));
}

fn a_session_is_measured_whatever_the_program_calls() {
    let ended = marked("session").run();
    assert!(ended.status.success(), "{}", ended.stderr);
    // Of the environment's window, which never began.
    assert_eq!(ended.remarks(), [format!("gpuprof: {NEVER}")]);
}

fn a_part_that_never_begins_is_one_line() {
    let (ended, profile) = profiled(marked("never"));
    assert_eq!(
        (ended.remarks(), ended.reports()),
        (vec![&*format!("gpuprof: {NEVER}")], 0)
    );
    assert_eq!(profile.diagnostics.notes, [NEVER]);
    assert_eq!((calls(&profile, "outside"), profile.wall_ns), (0, 0));
}

fn without_cupti_the_whole_program_is_measured() {
    let (ended, profile) = profiled(marked("two parts").env("GPUPROF_CUPTI", "off"));
    assert_eq!(
        (calls(&profile, "outside"), calls(&profile, "step")),
        (3, 2)
    );
    let [note] = &profile.diagnostics.notes[..] else {
        panic!("one note: {:?}", profile.diagnostics.notes);
    };
    let begin = "GPUPROF_FROM_START=off had no effect, and the whole program was measured: CUPTI";
    assert!(note.starts_with(begin), "{note}");
    assert!(
        ended
            .stderr
            .contains("GPUPROF_FROM_START=off had no effect")
    );
}

fn a_time_line_has_the_part_alone() {
    let folder = Folder::create();
    let path = folder.path("trace.json");
    let output = format!("trace={}", path.display());
    let ended = marked("two parts").env("GPUPROF_REPORT", output).run();
    let text = std::fs::read_to_string(path).unwrap_or_else(|_| panic!("{}", ended.stderr));
    let count = |kind: &str| text.matches(&format!("\"cat\": \"{kind}\"")).count();
    assert_eq!(
        (count("kernel"), count("user_annotation")),
        (2, 2),
        "{text}"
    );
    assert!(
        text.contains("::step") && !text.contains("::outside"),
        "{text}"
    );
}

fn a_delay_ends_while_the_program_runs() {
    let program = Program::new("until it is measured").env("GPUPROF_DELAY", "20ms");
    let (_, profile) = profiled(program);
    assert!(calls(&profile, "tick") > 0);
    let note = "a part of the program was measured: after the delay of 20ms (GPUPROF_DELAY)";
    assert_eq!(profile.diagnostics.notes, [note]);
}

fn what_is_called_after_the_time_does_not_count() {
    for delay in [None, Some("10ms")] {
        // Long enough for a call and a profile in it, however busy the machine is.
        let program = Program::new("until it is no longer measured").env("GPUPROF_FOR", "1s");
        let (program, from) = match delay {
            None => (program, ""),
            Some(delay) => (
                program.env("GPUPROF_DELAY", delay),
                "after the delay of 10ms (GPUPROF_DELAY), ",
            ),
        };
        let (ended, profile) = profiled(program);
        let printed = String::from_utf8(ended.stdout).expect("a number");
        assert_eq!(printed.trim(), calls(&profile, "tick").to_string());
        let note = format!("a part of the program was measured: {from}for 1s (GPUPROF_FOR)");
        assert_eq!(profile.diagnostics.notes, [note]);
    }
}
