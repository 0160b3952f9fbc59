//! Promise: with stacks, launches of a Python program have the line and the function of Python that
//! launched them, whatever holds the interpreter's lock; nothing of Python is read otherwise, and
//! the program never fails because of it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpuprof::Profile;
use gpuprof::profile::LaunchLine;
use support::program::{Ended, Program, read_profile};
use support::suite::Module;
use support::tests;

use crate::machine::{Machine, source};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        each_launch_has_its_line_of_python,
        native_code_without_lines_has_that_of_its_caller,
        both_processes_of_a_fork_have_lines,
        without_stacks_nothing_of_python_is_read,
        without_checked_reads_lines_are_native,
        a_wrong_layout_is_said_and_lines_are_native,
        failing_and_wrong_reads_are_no_harm,
        other_versions_are_named_and_not_read,
    ]],
);

const PROGRAM: &str = "launches.py";
const NATIVE: &str = "native_launches.c";

/// The installed versions of Python 3 whose frames are read: minor version and path.
fn pythons() -> Vec<(u32, PathBuf)> {
    // pyenv's commands run the versions that are listed there.
    let installed = Command::new("pyenv").args(["versions", "--bare"]).output();
    let installed = installed.map_or_else(|_| Vec::new(), |output| output.stdout);
    let installed = String::from_utf8_lossy(&installed)
        .trim()
        .replace('\n', ":");
    let path_of = |minor: u32| {
        let mut command = Command::new(format!("python3.{minor}"));
        if !installed.is_empty() {
            command.env("PYENV_VERSION", &installed);
        }
        command.args(["-c", "import ctypes, sys; print(sys.executable)"]);
        let output = command.output().ok()?;
        let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success()).then(|| (minor, PathBuf::from(path)))
    };
    let found: Vec<_> = (11..=15).filter_map(path_of).collect();
    assert!(!found.is_empty(), "install a Python of 3.11 to 3.15");
    found
}

struct PythonMachine {
    machine: Machine,
    native: PathBuf,
}

impl PythonMachine {
    fn new() -> Self {
        let machine = Machine::new();
        let native = library(&machine, "libnative.so", NATIVE, "-g");
        Self { machine, native }
    }

    fn program(&self, python: &Path, scenario: &str) -> Program {
        let program = source(PROGRAM);
        let texts = [program.to_str(), Some(scenario), self.native.to_str()];
        let texts = texts.map(|text| text.expect("UTF-8"));
        let program = self.machine.run(python).arguments(&texts);
        program.env("GPUPROF_STACKS", "on")
    }

    /// The program with `watched_reads.c` in this mode.
    fn watched(&self, python: &Path, mode: &str) -> Program {
        let watch = library(&self.machine, "libwatched.so", "watched_reads.c", "-g");
        let program = self.program(python, "");
        program
            .env("LD_PRELOAD", watch)
            .env("GPUPROF_TEST_READS", mode)
    }
}

fn library(machine: &Machine, name: &str, file: &str, debug: &str) -> PathBuf {
    let options = [debug, "-shared", "-fPIC"].map(OsStr::new);
    machine.compile(name, file, &options)
}

/// The number of the line with a comment.
fn line_of(file: &str, comment: &str) -> u32 {
    let text = std::fs::read_to_string(source(file)).expect("a source file");
    let ends = |line: &str| line.trim_end_matches(" */").ends_with(comment);
    let at = text.lines().position(ends).expect(comment);
    u32::try_from(at + 1).expect("a line")
}

/// How the report shows a place in a file of this folder.
fn place(file: &str, line: u32) -> String {
    format!("any-program/tests/any_program/{file}:{line}")
}

/// The lines of a kernel, as text, with their launches.
fn lines(profile: &Profile, kernel: &str) -> Vec<(String, u64)> {
    let kernel = profile.kernels.iter().find(|of| of.name == kernel);
    let lines = &kernel.expect("a kernel").launch_lines;
    lines
        .iter()
        .map(|line| (line.to_string(), line.calls))
        .collect()
}

/// Every kernel with the function that launches it, its launches, and the function that calls that
/// one. Functions have the names of Python 3.`minor`.
fn expected(minor: u32) -> Vec<(&'static str, &'static str, u64, &'static str)> {
    let comprehension = match minor {
        11 => ("comprehension.<locals>.<listcomp>", "comprehension"),
        // It is a part of the function.
        _ => ("comprehension", "main"),
    };
    vec![
        ("nested", "nested.<locals>.inner", 1, "nested"),
        ("generator", "generator.<locals>.numbers", 1, "generator"),
        ("coroutine", "coroutine.<locals>.inner", 1, "coroutine"),
        ("thread", "in_thread", 1, ""),
        ("lambda", "with_lambda.<locals>.<lambda>", 1, "with_lambda"),
        ("comprehension", comprehension.0, 2, comprehension.1),
        ("method", "Model.method", 1, "Model.__call__"),
        ("key", "with_key.<locals>.key", 2, "with_key"),
        (
            "callback",
            "with_callback.<locals>.called",
            1,
            "with_callback",
        ),
        ("gil", "with_gil", 1, "main"),
        ("recursion", "recursion", 1, ""),
        ("lines", "lines", 1, "main"),
        ("latin", "größe", 1, "main"),
        ("wide", "名𐐀.呼", 1, "main"),
        ("module", "<module>", 1, ""),
    ]
}

/// Checks the lines of all kernels.
fn check(profile: &Profile, minor: u32) {
    assert_eq!(notes_about_python(profile), [""; 0]);
    let stacks = profile.stacks.as_ref().expect("stacks");
    assert_eq!(stacks.calls, stacks.sampled_calls);
    for (kernel, function, calls, caller) in expected(minor) {
        let launches = line_of(PROGRAM, &format!("# launches {kernel}"));
        let [(line, of_line)] = &lines(profile, kernel)[..] else {
            panic!("{kernel}: {:?}", lines(profile, kernel));
        };
        let shown = format!("{function} at {}", place(PROGRAM, launches));
        let (callee, of_caller) = line.split_once(" ← ").unwrap_or((line, ""));
        assert_eq!((callee, *of_line), (&*shown, calls), "3.{minor}");
        let (of_caller, caller_place) = of_caller.split_once(" at ").unwrap_or_default();
        assert_eq!(of_caller, caller, "{kernel} in 3.{minor}: {line}");
        let text = std::fs::read_to_string(source(PROGRAM)).expect("the program");
        let comment = format!("# calls {kernel}");
        if text.contains(&comment) {
            assert_eq!(
                caller_place,
                place(PROGRAM, line_of(PROGRAM, &comment)),
                "3.{minor}"
            );
        }
    }
    let main = |comment| format!("main at {}", place(PROGRAM, line_of(PROGRAM, comment)));
    let native = place(NATIVE, line_of(NATIVE, "launches native"));
    let native = format!("app::launch at {native} ← {}", main("# calls native"));
    assert_eq!(lines(profile, "native"), [(native, 1)]);
    let thread = place(NATIVE, line_of(NATIVE, "launches native_thread"));
    assert_eq!(
        lines(profile, "native_thread"),
        [(format!("on_thread at {thread}"), 1)]
    );
    let text = format!("<module> at <string>:3 ← {}", main("# calls text"));
    assert_eq!(lines(profile, "text"), [(text, 1)]);
    // Of 3.11 equal code at the same address is one.
    if minor > 11 {
        let mut renewed = lines(profile, "renewed");
        renewed.sort();
        let caller = place(PROGRAM, line_of(PROGRAM, "# calls renewed"));
        let line = |line| (format!("made at <string>:{line} ← renewed at {caller}"), 1);
        assert_eq!(renewed, [2, 3, 4, 5].map(line));
    }
}

fn notes_about_python(profile: &Profile) -> Vec<&str> {
    let notes = profile.diagnostics.notes.iter().map(String::as_str);
    notes.filter(|note| note.contains("Python")).collect()
}

/// That the program ended as usual and its lines are native, for this reason.
fn check_native(ended: &Ended, profile: &Profile, reason: &str) {
    assert_ended(ended);
    let notes = notes_about_python(profile);
    assert_eq!(
        notes,
        [format!("launches have no lines of Python: {reason}")]
    );
    let of_python = |line: &LaunchLine| line.file.as_ref().is_some_and(|file| file.contains(".py"));
    let mut all = profile
        .kernels
        .iter()
        .flat_map(|kernel| &kernel.launch_lines);
    assert!(!all.any(of_python));
    let thread = place(NATIVE, line_of(NATIVE, "launches native_thread"));
    assert_eq!(
        lines(profile, "native_thread"),
        [(format!("on_thread at {thread}"), 1)]
    );
}

fn assert_ended(ended: &Ended) {
    let stdout = String::from_utf8_lossy(&ended.stdout);
    let is_done = ended.status.success() && stdout.contains("done\n");
    assert!(is_done, "{:?}: {stdout}", ended.status);
}

fn each_launch_has_its_line_of_python() {
    let machine = PythonMachine::new();
    for (minor, python) in pythons() {
        let (ended, profile) = machine.program(&python, "").profiled();
        assert_ended(&ended);
        check(&profile, minor);
    }
}

fn native_code_without_lines_has_that_of_its_caller() {
    let mut machine = PythonMachine::new();
    machine.native = library(&machine.machine, "libstripped.so", NATIVE, "-g0");
    for (_, python) in pythons() {
        let (ended, profile) = machine.program(&python, "").profiled();
        assert_ended(&ended);
        let caller = place(PROGRAM, line_of(PROGRAM, "# calls native"));
        assert_eq!(
            lines(&profile, "native"),
            [(
                format!(
                    "main at {caller} ← <module> at {}",
                    place(PROGRAM, line_of(PROGRAM, "# calls main"))
                ),
                1
            )]
        );
        assert_eq!(
            lines(&profile, "native_thread"),
            [("(unknown)".to_owned(), 1)]
        );
        let [note] = &notes_about_python(&profile)[..] else {
            panic!("{:?}", profile.diagnostics.notes);
        };
        assert!(
            note.contains("no function of Python was on their thread"),
            "{note}"
        );
    }
}

fn both_processes_of_a_fork_have_lines() {
    let machine = PythonMachine::new();
    for (minor, python) in pythons() {
        let folder = machine.machine.folder.path(&format!("reports {minor}"));
        std::fs::create_dir(&folder).expect("a folder");
        let path = folder.join("{pid}.json");
        let program = machine.program(&python, "fork");
        let report = format!("json={}", path.display());
        let ended = program.env("GPUPROF_REPORT", report).run();
        assert_ended(&ended);
        let files = std::fs::read_dir(folder).expect("a folder");
        let profiles: Vec<Profile> = files
            .map(|file| read_profile(&file.expect("an entry").path(), &ended))
            .collect();
        assert_eq!(profiles.len(), 2);
        profiles.iter().for_each(|profile| check(profile, minor));
    }
}

/// The calls of `process_vm_readv`.
fn reads(ended: &Ended) -> u64 {
    let stdout = String::from_utf8_lossy(&ended.stdout);
    let (_, reads) = stdout.rsplit_once("reads: ").expect("a count");
    reads.trim().parse().expect("a number")
}

fn without_stacks_nothing_of_python_is_read() {
    let machine = PythonMachine::new();
    let (_, python) = pythons().remove(0);
    let (ended, profile) = machine.watched(&python, "").profiled();
    assert!(reads(&ended) > 100 && profile.stacks.is_some());
    let program = machine.watched(&python, "").env("GPUPROF_STACKS", "off");
    let (ended, profile) = program.profiled();
    assert_ended(&ended);
    assert_eq!((reads(&ended), profile.stacks), (0, None));
}

fn without_checked_reads_lines_are_native() {
    let machine = PythonMachine::new();
    for (_, python) in pythons() {
        let (ended, profile) = machine.watched(&python, "forbid").profiled();
        let reason = "the system forbids process_vm_readv, which reads them";
        check_native(&ended, &profile, reason);
        assert_eq!(reads(&ended), 1);
    }
}

fn a_wrong_layout_is_said_and_lines_are_native() {
    let machine = PythonMachine::new();
    for (_, python) in pythons() {
        for mode in ["spoil first", "spoil types"] {
            let (ended, profile) = machine.watched(&python, mode).profiled();
            let reason = "this build of Python has its frames in another layout";
            check_native(&ended, &profile, reason);
        }
    }
}

fn failing_and_wrong_reads_are_no_harm() {
    let machine = PythonMachine::new();
    for (_, python) in pythons() {
        for mode in ["fail some", "spoil some"] {
            let (ended, profile) = machine.watched(&python, mode).profiled();
            assert_ended(&ended);
            let stacks = profile.stacks.expect("stacks");
            assert_eq!(stacks.calls, stacks.sampled_calls);
        }
    }
}

fn other_versions_are_named_and_not_read() {
    let machine = Machine::new();
    let other = source("other_python.c");
    let known = "gpuprof reads the frames of Python 3.11 to 3.15";
    for (version, reason) in [
        ("", format!("{known}, and this is an older one")),
        ("-DVERSION=0x031000f0", format!("{known}, and this is 3.16")),
        (
            "-DVERSION=0x030d00f0",
            "this is a free-threaded build of Python".to_owned(),
        ),
    ] {
        let options = [OsStr::new("-rdynamic"), other.as_os_str(), version.as_ref()];
        let options = &options[..options.len() - usize::from(version.is_empty())];
        let program = machine.compile("other", "program.c", options);
        let program = machine.run(&program).arguments(&["as usual"]);
        let (ended, profile) = program.env("GPUPROF_STACKS", "on").profiled();
        assert_eq!(ended.status.code(), Some(7));
        let notes = notes_about_python(&profile);
        assert_eq!(
            notes,
            [format!("launches have no lines of Python: {reason}")]
        );
    }
}
