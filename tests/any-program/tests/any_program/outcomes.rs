//! Promise: a program ends as without gpuprof, and each process that uses CUDA is reported.

use support::suite::Module;
use support::tests;

use crate::machine::Machine;
use crate::programs::kernels;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_process_without_cuda_writes_nothing,
        a_program_that_closes_the_driver_is_reported,
        a_child_from_before_cuda_has_a_report_of_its_own,
        a_child_from_after_reports_nothing,
        the_program_that_a_process_becomes_is_reported,
        errors_of_calls_reach_the_program,
        without_libcupti_one_line_says_so,
        a_process_without_exit_handlers_has_a_checkpoint,
        counters_end_before_what_they_use_is_destroyed,
        listed_metrics_are_measured_in_any_program,
        an_output_is_relative_to_where_the_program_started,
    ]],
);

fn a_process_without_cuda_writes_nothing() {
    let ended = Machine::new().program("no cuda").run();
    assert_eq!((ended.status.code(), &*ended.stderr), (Some(3), ""));
}

fn a_program_that_closes_the_driver_is_reported() {
    let (ended, profile) = Machine::new().program("dlclose").profiled();
    assert_eq!(ended.status.code(), Some(7));
    assert_eq!(kernels(&profile), [("scale", 5, 50_000)]);
}

fn a_child_from_before_cuda_has_a_report_of_its_own() {
    let machine = Machine::new();
    let path = machine.folder.path("{pid}.json");
    let ended = machine
        .program("fork before")
        .env("GPUPROF_REPORT", format!("json={}", path.display()))
        .run();
    assert_eq!(ended.status.code(), Some(7));
    let files = std::fs::read_dir(machine.folder.path("")).expect("a folder");
    let names = files.map(|file| file.expect("an entry").path());
    let reports = names.filter(|path| path.extension().is_some_and(|end| end == "json"));
    assert_eq!(reports.count(), 2);
}

fn a_child_from_after_reports_nothing() {
    let ended = Machine::new().program("fork after").run();
    assert_eq!((ended.status.code(), ended.reports()), (Some(7), 1));
}

fn the_program_that_a_process_becomes_is_reported() {
    let (ended, profile) = Machine::new().program("exec").profiled();
    assert_eq!(ended.status.code(), Some(7));
    assert_eq!(kernels(&profile), [("scale", 5, 50_000)]);
}

fn errors_of_calls_reach_the_program() {
    let machine = Machine::new();
    let scenario = ["failing calls"];
    let alone = machine.run_alone(&machine.folder.path("program"));
    let alone = alone.arguments(&scenario).run();
    let (ended, profile) = machine.program(scenario[0]).profiled();
    assert_eq!((ended.status, ended.stdout), (alone.status, alone.stdout));
    assert_eq!(kernels(&profile), [("scale", 5, 50_000)]);
}

fn without_libcupti_one_line_says_so() {
    let machine = Machine::new();
    let program = machine.program("as usual");
    let program = program.env("GPUPROF_CUPTI_LIBRARY", "/nowhere/libcupti.so");
    // The profile is written all the same: it says so to `gpuprof run`.
    let (ended, profile) = program.profiled();
    assert_eq!((ended.status.code(), ended.reports()), (Some(7), 0));
    assert_eq!(profile.diagnostics.notes.len(), 1);
    let lines = ended.stderr.lines().filter(|line| line.contains("gpuprof"));
    let [line] = lines.collect::<Vec<_>>()[..] else {
        panic!("one line: {}", ended.stderr);
    };
    let begin = "gpuprof: kernels are not recorded (GPUPROF_CUPTI): cannot open \
                 GPUPROF_CUPTI_LIBRARY=/nowhere/libcupti.so";
    assert!(line.starts_with(begin), "{line}");
}

fn an_output_is_relative_to_where_the_program_started() {
    let machine = Machine::new();
    let ended = machine
        .program("chdir")
        .folder(&machine.folder)
        .env("GPUPROF_REPORT", "json=report.json")
        .run();
    assert_eq!(ended.status.code(), Some(7));
    let path = machine.folder.path("report.json");
    let profile = support::program::read_profile(&path, &ended);
    assert_eq!(kernels(&profile), [("scale", 5, 50_000)]);
}

fn a_process_without_exit_handlers_has_a_checkpoint() {
    let machine = Machine::new();
    let program = machine.program("_exit");
    // As `gpuprof run` has it; the process ends before.
    let (ended, profile) = program.env("GPUPROF_CHECKPOINT", "1").profiled();
    assert_eq!((ended.status.code(), ended.reports()), (Some(5), 0));
    assert_eq!(kernels(&profile), [("scale", 5, 50_000)]);
    assert!(!profile.at_exit);
}

fn counters_end_before_what_they_use_is_destroyed() {
    let machine = Machine::new();
    let program = machine.program("slow").env("GPUPROF_COUNTERS", "on");
    let (ended, profile) = program.profiled();
    assert_eq!(ended.status.code(), Some(7), "{:?}", ended.status);
    let [device] = &profile.counters[..] else {
        panic!("one device: {:?}", profile.counters);
    };
    assert_eq!(device.chip, "simulated");
}

fn listed_metrics_are_measured_in_any_program() {
    let machine = Machine::new();
    let list = "lts__t_sectors.sum,lts__t_sector.sum";
    let program = machine.program("slow").env("GPUPROF_COUNTERS", list);
    let (ended, profile) = program.profiled();
    assert_eq!(ended.status.code(), Some(7), "{:?}", ended.status);
    assert_eq!(profile.counters[0].listed, ["lts__t_sectors.sum"]);
    let line = "lts__t_sector.sum is not sampled (GPUPROF_COUNTERS): simulated has no such metric; \
                the nearest is lts__t_sectors.sum";
    assert!(
        profile.diagnostics.notes.iter().any(|note| note == line),
        "{:?}",
        profile.diagnostics.notes
    );
}
