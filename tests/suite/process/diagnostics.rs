//! Promise: with `on_diagnostic` the program receives each line that gpuprof says about itself once
//! and in place of standard error, wherever the line came up, and whatever its callback does.

use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;
use std::{io, process, thread};

use gpuprof::{Diagnostic, gpu_profile};
use support::program::{Ended, Folder, Program};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_wrong_setting_comes_once_and_is_not_printed,
        without_a_callback_it_is_printed,
        a_note_of_two_profiles_comes_once,
        a_late_callback_receives_what_was_said,
        the_first_callback_counts,
        a_file_that_cannot_be_written_comes_before_the_end,
        after_a_panic_in_the_callback_the_next_line_comes,
        the_callback_may_call_gpuprof,
        the_callback_may_end_the_process,
        a_callback_that_never_returns_does_not_keep_the_process,
        nothing_comes_in_a_forked_child,
        lines_beyond_the_64th_are_printed,
    ]],
)
.with_program(program);

#[gpu_profile(cpu)]
fn work() {}

/// Runs a program with a wrong setting, of which gpuprof says [`WRONG`].
fn wrong(scenario: &str) -> Program {
    Program::new(scenario).env("GPUPROF_SORT", "colour")
}

const WRONG: &str = "GPUPROF_SORT=\"colour\"";

/// The same also asks for a libcupti that does not exist, which is a note of every profile.
fn without_cupti(scenario: &str) -> Program {
    let program = wrong(scenario).env("GPUPROF_CUPTI", "on");
    program.env("GPUPROF_CUPTI_LIBRARY", "/nowhere/libcupti.so.13")
}

const NOTE: &str = "kernels are not recorded";

fn succeeded(program: Program) -> Ended {
    let ended = program.run();
    assert!(ended.status.success(), "{ended:#?}");
    ended
}

/// Checks what the callback printed: the severity of each line, and what is in its text.
#[track_caller]
fn assert_received(ended: &Ended, expected: &[(&str, &str)]) {
    let received = String::from_utf8_lossy(&ended.stdout);
    let lines: Vec<&str> = received.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{ended:#?}");
    for (line, (severity, part)) in lines.iter().zip(expected) {
        let is_so = line.starts_with(&format!("{severity}: ")) && line.contains(part);
        assert!(is_so, "{severity} {part}: {line}");
    }
}

fn a_wrong_setting_comes_once_and_is_not_printed() {
    let ended = succeeded(wrong("callback"));
    assert_received(&ended, &[("Warning", WRONG)]);
    assert_eq!((ended.reports(), ended.remarks()), (1, vec![]));
}

fn without_a_callback_it_is_printed() {
    let ended = succeeded(wrong("none"));
    assert_received(&ended, &[]);
    let received = succeeded(wrong("callback")).stdout;
    let received = String::from_utf8(received).expect("UTF-8");
    let text = received.strip_prefix("Warning: ").map(str::trim_end);
    let printed = format!("gpuprof: {}", text.expect("a warning"));
    assert_eq!((ended.reports(), ended.remarks()), (1, vec![&*printed]));
}

fn a_note_of_two_profiles_comes_once() {
    let ended = succeeded(without_cupti("two snapshots"));
    assert_received(&ended, &[("Warning", WRONG), ("Note", NOTE)]);
    assert_eq!(ended.remarks(), [""; 0]);
}

fn a_late_callback_receives_what_was_said() {
    let ended = succeeded(without_cupti("late"));
    assert_received(&ended, &[("Warning", WRONG), ("Note", NOTE)]);
    assert_eq!(ended.remarks().len(), 1, "{}", ended.stderr);
}

fn the_first_callback_counts() {
    let ended = succeeded(wrong("two callbacks"));
    assert_received(&ended, &[("Warning", WRONG)]);
}

fn a_file_that_cannot_be_written_comes_before_the_end() {
    let folder = Folder::create();
    let report = format!("json={}", folder.path("missing/report.json").display());
    let ended = succeeded(wrong("slow").env("GPUPROF_REPORT", report));
    let file = ("Error", "missing/report.json");
    assert_received(&ended, &[("Warning", WRONG), file]);
    assert_eq!(ended.stderr, "");
}

fn after_a_panic_in_the_callback_the_next_line_comes() {
    let ended = succeeded(without_cupti("panic"));
    assert_received(&ended, &[("Note", NOTE)]);
}

fn the_callback_may_call_gpuprof() {
    let ended = succeeded(without_cupti("calls"));
    assert_received(&ended, &[("Warning", WRONG), ("Note", NOTE)]);
    assert!(ended.took < Duration::from_secs(60), "{ended:#?}");
}

fn the_callback_may_end_the_process() {
    let ended = wrong("exit").run();
    assert_eq!(ended.status.code(), Some(3), "{ended:#?}");
    assert_eq!(ended.reports(), 1, "{}", ended.stderr);
}

fn a_callback_that_never_returns_does_not_keep_the_process() {
    let ended = succeeded(wrong("never returns"));
    assert!(ended.took < Duration::from_secs(60), "{ended:#?}");
    assert_eq!(ended.reports(), 1, "{}", ended.stderr);
}

fn nothing_comes_in_a_forked_child() {
    let ended = succeeded(without_cupti("fork"));
    assert_received(&ended, &[("Warning", WRONG), ("Note", NOTE)]);
}

fn lines_beyond_the_64th_are_printed() {
    let many = |scenario| {
        let unknown = (0..70).map(|nth| format!("GPUPROF_UNKNOWN_{nth}"));
        succeeded(unknown.fold(Program::new(scenario), |program, name| {
            program.env(&name, "1")
        }))
    };
    let ended = many("callback");
    let received = String::from_utf8_lossy(&ended.stdout).lines().count();
    assert_eq!((received, ended.remarks().len()), (64, 6), "{ended:#?}");
    assert_eq!(many("none").remarks().len(), 70);
}

fn print(line: &Diagnostic) {
    println!("{:?}: {line}", line.severity);
}

fn program(scenario: &str) -> ExitCode {
    match scenario {
        "none" => work(),
        "callback" => {
            assert!(gpuprof::on_diagnostic(print));
            work();
        }
        "slow" => {
            assert!(gpuprof::on_diagnostic(|line| {
                thread::sleep(Duration::from_millis(100));
                print(line);
            }));
            work();
        }
        "two snapshots" => {
            assert!(gpuprof::on_diagnostic(print));
            take_two_snapshots();
        }
        "late" => {
            take_two_snapshots();
            assert!(gpuprof::on_diagnostic(print));
        }
        "two callbacks" => {
            assert!(gpuprof::on_diagnostic(print));
            assert!(!gpuprof::on_diagnostic(print));
            work();
        }
        "panic" => {
            assert!(gpuprof::on_diagnostic(|line| {
                assert!(!line.text.contains(WRONG), "the first line");
                print(line);
            }));
            take_two_snapshots();
        }
        "calls" => call_gpuprof_inside(),
        "exit" => {
            work();
            assert!(gpuprof::on_diagnostic(|_| process::exit(3)));
            wait_for_ever()
        }
        "never returns" => {
            assert!(gpuprof::on_diagnostic(|_| wait_for_ever()));
            work();
        }
        "fork" => fork_with_a_callback(),
        _ => panic!("no scenario {scenario}"),
    }
    ExitCode::SUCCESS
}

fn wait_for_ever() -> ! {
    loop {
        thread::park();
    }
}

fn take_two_snapshots() {
    work();
    for _ in 0..2 {
        let notes = gpuprof::snapshot().diagnostics.notes;
        assert!(notes.iter().any(|note| note.contains(NOTE)), "{notes:?}");
    }
}

/// With a lock of the program's too, which the callback takes.
fn call_gpuprof_inside() {
    static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let held = LOG.lock().expect("no panic");
    assert!(gpuprof::on_diagnostic(|line| {
        work();
        let notes = gpuprof::snapshot().diagnostics.notes.len();
        assert_eq!((notes, gpuprof::collect().diagnostics.notes.len()), (1, 1));
        gpuprof::step();
        assert!(!gpuprof::on_diagnostic(print));
        LOG.lock().expect("no panic").push(line.to_string());
        print(line);
    }));
    take_two_snapshots();
    drop(held);
    // The program's calls of `work`, and those of the callback.
    while gpuprof::snapshot().diagnostics.calls < 3 {
        thread::sleep(Duration::from_millis(1));
    }
}

/// The lines come in the parent alone, also where a child asks for them.
fn fork_with_a_callback() {
    take_two_snapshots();
    in_forked_child(|| {
        assert!(!gpuprof::on_diagnostic(print));
        // A thread would print by now.
        thread::sleep(Duration::from_millis(50));
    });
    assert!(gpuprof::on_diagnostic(print));
    in_forked_child(|| {
        work();
        assert_eq!(gpuprof::snapshot().diagnostics.notes, [""; 0]);
        assert!(!gpuprof::on_diagnostic(print));
    });
}

fn in_forked_child(run: impl FnOnce()) {
    // SAFETY: the child calls nothing that needs a lock but, if it were wrong, gpuprof.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork: {}", io::Error::last_os_error());
    if child == 0 {
        // SAFETY: the call takes a number. A child that hangs ends by it.
        unsafe { libc::alarm(10) };
        run();
        process::exit(0);
    }
    let mut status = 0;
    // SAFETY: the status is writable.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0));
}
