//! Promise: a program that is measured in part reports that part alone, and says so.

use gpuprof::Profile;
use support::assert_consistent;
use support::program::{Ended, Program};
use support::suite::Module;
use support::tests;

use crate::machine::Machine;
use crate::programs::{calls, kernels};
use crate::ranges;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        what_is_between_start_and_stop_is_reported,
        ranges_count_if_they_begin_in_the_part,
        a_part_that_never_began_is_one_line,
        a_program_that_dies_before_its_part_has_a_checkpoint_that_says_so,
        times_longer_than_the_program_measure_nothing_or_all,
        marks_and_times_are_one_contradiction,
        without_libcupti_one_more_line_says_so,
    ]],
);

const BETWEEN: &str = "a part of the program was measured: from cudaProfilerStart to \
                       cudaProfilerStop (GPUPROF_FROM_START=off)";
const NEVER: &str = "nothing was measured: the program has not called cudaProfilerStart \
                     (GPUPROF_FROM_START=off)";

fn marked(machine: &Machine, scenario: &str) -> Program {
    machine.program(scenario).env("GPUPROF_FROM_START", "off")
}

/// The notes of a program of which nothing was measured, which are its only messages.
fn notes_of_nothing(program: Program) -> Vec<String> {
    let (ended, profile) = program.profiled();
    assert_eq!((ended.status.code(), ended.reports()), (Some(7), 0));
    assert!(!profile.has_records(), "{:?}", profile.api);
    let notes = profile.diagnostics.notes;
    let lines: Vec<_> = notes
        .iter()
        .map(|note| format!("gpuprof: {note}"))
        .collect();
    assert_eq!(ended.remarks(), lines);
    notes
}

fn what_is_between_start_and_stop_is_reported() {
    let machine = Machine::new();
    // It works six times: three times in its two parts, of which one is started and stopped twice.
    let (ended, profile) = marked(&machine, "profiler").profiled();
    assert_eq!(
        (ended.status.code(), &*ended.stdout, ended.reports()),
        (Some(7), &b"done\n"[..], 1)
    );
    assert_consistent(&profile);
    assert_eq!(kernels(&profile), [("scale", 15, 150_000)]);
    let of_parts = [
        ("cuCtxSynchronize", 3),
        ("cuLaunchKernel", 15),
        ("cuMemAlloc", 3),
        ("cuMemFree", 3),
        ("cuMemcpyDtoHAsync", 3),
        ("cuMemcpyHtoDAsync", 3),
    ];
    assert_eq!(calls(&profile), of_parts);
    assert_eq!(profile.diagnostics.notes, [BETWEEN]);
    assert!(ended.stderr.contains("a part of the program was measured"));
    let busy = &profile.gpu_busy[0];
    let records = busy.records.expect("records");
    let idle = records.idle_host_ns + records.idle_launch_ns + records.idle_queued_ns;
    assert!(busy.busy_ns + idle <= profile.wall_ns, "{profile:?}");
    let (_, whole) = machine.program("profiler").profiled();
    assert_eq!(kernels(&whole), [("scale", 30, 300_000)]);
    assert_eq!(whole.diagnostics.notes, [""; 0]);
}

fn ranges_count_if_they_begin_in_the_part() {
    let machine = Machine::new();
    let program = ranges::program(&machine, "profiler");
    let program = program.env("GPUPROF_FROM_START", "off");
    let (ended, profile) = program.profiled_in_full();
    let mut ranges = ranges::ranges(&profile);
    ranges.retain(|range| range.1 > 0);
    let counted = [("out of", 1), ("started within", 1), ("within", 1)];
    assert_eq!(ranges, counted);
    assert!(!ended.stderr.contains("never called"), "{}", ended.stderr);
    // What the last one launches after the part is in no row.
    let launches: u64 = kernels(&profile).iter().map(|kernel| kernel.1).sum();
    assert_eq!(ranges::launches(&profile, "within"), launches);
    assert_eq!(ranges::launches(&profile, "out of"), 0);
}

fn a_part_that_never_began_is_one_line() {
    let machine = Machine::new();
    assert_eq!(notes_of_nothing(marked(&machine, "as usual")), [NEVER]);
    // Nobody asks for a report.
    let silent = marked(&machine, "as usual").env("GPUPROF_REPORT", "none");
    assert_eq!(silent.run().remarks(), [""; 0]);
}

fn a_program_that_dies_before_its_part_has_a_checkpoint_that_says_so() {
    let machine = Machine::new();
    let program = marked(&machine, "_exit").env("GPUPROF_CHECKPOINT", "0.1");
    let (ended, profile) = program.profiled();
    assert_eq!((ended.status.code(), profile.at_exit), (Some(5), false));
    assert_eq!(profile.diagnostics.notes, [NEVER]);
}

fn times_longer_than_the_program_measure_nothing_or_all() {
    let machine = Machine::new();
    let program = |name| machine.program("as usual").env(name, "1h");
    let delayed = "nothing was measured: the program has run for less than the delay of 1h \
                   (GPUPROF_DELAY)";
    assert_eq!(notes_of_nothing(program("GPUPROF_DELAY")), [delayed]);
    let (_, profile) = program("GPUPROF_FOR").profiled();
    assert_eq!(kernels(&profile), [("scale", 5, 50_000)]);
    assert_eq!(profile.diagnostics.notes, [""; 0]);
}

fn marks_and_times_are_one_contradiction() {
    let machine = Machine::new();
    for name in ["GPUPROF_DELAY", "GPUPROF_FOR"] {
        let program = marked(&machine, "profiler").env(name, "1h");
        let (ended, profile): (Ended, Profile) = program.profiled();
        let begin = "gpuprof: GPUPROF_DELAY and GPUPROF_FOR have no effect beside \
                     GPUPROF_FROM_START=off";
        let [remark] = ended.remarks()[..] else {
            panic!("one line: {}", ended.stderr);
        };
        assert!(remark.starts_with(begin), "{remark}");
        assert_eq!(kernels(&profile), [("scale", 15, 150_000)]);
        assert_eq!(profile.diagnostics.notes, [BETWEEN]);
    }
}

fn without_libcupti_one_more_line_says_so() {
    let machine = Machine::new();
    let program = marked(&machine, "profiler");
    let program = program.env("GPUPROF_CUPTI_LIBRARY", "/nowhere/libcupti.so");
    let notes = notes_of_nothing(program);
    let no_effect = notes.iter().filter(|note| {
        note.starts_with("GPUPROF_FROM_START=off had no effect, and the whole program was measured")
    });
    assert_eq!((no_effect.count(), notes.len()), (1, 2), "{notes:?}");
}
