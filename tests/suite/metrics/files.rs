//! Promise: `GPUPROF_METRICS=prometheus=PATH` leaves a whole text file at exit and at each
//! checkpoint.

mod program;

use std::fs;

use support::program::{Folder, Program};
use support::suite::Module;
use support::tests;

use crate::exposition::Exposition;

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    the_file_has_all_calls_at_exit,
    a_checkpoint_rewrites_it,
    it_has_all_windows_and_not_only_the_last,
    a_file_that_cannot_be_written_is_one_line,
    switched_off_there_is_no_file,
];

fn run(scenario: &str, folder: &Folder) -> Exposition {
    let value = format!("prometheus={}", folder.path("{rank}.prom").display());
    let ended = Program::new(scenario)
        .env("GPUPROF_METRICS", value)
        .env("GPUPROF_CHECKPOINT", "0.02")
        .env("RANK", "3")
        .env(program::FILE, folder.path("3.prom"))
        .run();
    assert_eq!(ended.remarks(), [""; 0]);
    assert_eq!(folder.files(), ["3.prom"]);
    let text = fs::read_to_string(folder.path("3.prom")).expect("the file");
    assert!(text.ends_with('\n'));
    Exposition::read(&text)
}

fn calls(found: &Exposition, function: &str) -> f64 {
    let function = format!("files::program::{function}");
    let labels = [("function", function.as_str()), ("rank", "3")];
    found.one("gpuprof_function_calls_total", &labels)
}

fn the_file_has_all_calls_at_exit() {
    let found = run("gpu", &Folder::create());
    assert_eq!(calls(&found, "step"), 5.0);
    let step = [("function", "files::program::step"), ("device", "0")];
    let (count, _, _) = found.histogram("gpuprof_function_gpu_seconds", &step);
    assert_eq!(count, 5, "the last times are waited for");
}

fn a_checkpoint_rewrites_it() {
    let found = run("killed", &Folder::create());
    assert_eq!(calls(&found, "tick"), 4.0);
}

fn it_has_all_windows_and_not_only_the_last() {
    let found = run("windows", &Folder::create());
    assert_eq!(calls(&found, "tick"), 2.0 + 3.0 + 4.0);
}

fn a_file_that_cannot_be_written_is_one_line() {
    let ended = Program::new("windows")
        .env("GPUPROF_METRICS", "prometheus=/nowhere/a.prom")
        .run();
    let remarks = ended.remarks();
    assert_eq!(
        remarks,
        [
            "gpuprof: cannot write the metrics \"/nowhere/a.prom\" (No such file or directory (os \
          error 2))"
        ]
    );
}

fn switched_off_there_is_no_file() {
    let folder = Folder::create();
    let ended = Program::new("windows")
        .env("GPUPROF", "off")
        .env(
            "GPUPROF_METRICS",
            format!("prometheus={}", folder.path("a").display()),
        )
        .run();
    assert_eq!((&*ended.stderr, folder.files()), ("", vec![]));
}
