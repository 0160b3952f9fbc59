//! Promise: no name, path, program name or setting can do harm through an output, whether it
//! contains control characters, terminal escapes, line breaks, quotes, markup, direction marks, or
//! a megabyte of text.

mod program;

use std::fs;
use std::path::Path;
use std::time::Duration;

use support::function;
use support::program::{Ended, Folder, Program, read_profile};
use support::suite::Module;
use support::tests;

use self::program::EVIL;

pub(crate) const MODULE: Module =
    Module::new(module_path!(), &[TESTS, NVTX_TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    names_do_no_harm_in_the_table,
    names_stand_whole_in_the_json,
    a_program_may_be_called_anything,
    a_path_may_hold_anything,
    messages_stay_one_short_line,
    a_megabyte_does_no_harm,
];

/// Tests that need NVTX.
#[cfg(feature = "nvtx")]
const NVTX_TESTS: &[(&str, fn())] = tests![names_do_no_harm_in_nvtx_tools];
#[cfg(not(feature = "nvtx"))]
const NVTX_TESTS: &[(&str, fn())] = &[];

/// The largest size in bytes of a message in which every character of a value is escaped.
const SHORT: usize = 1_500;

/// [`EVIL`] without the words by which the tests recognize the first line of a report.
fn unlike_a_head() -> String {
    EVIL.replace(" · wall", "")
}

/// Whether a terminal, a log viewer or a reader would do anything else with it than show it.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Checks standard error: no harmful character, and no line that a name forged.
fn assert_harmless(text: &str) {
    let harmful = text.chars().find(|c| *c != '\n' && is_harmful(*c));
    assert_eq!(harmful, None, "{text}");
    // The forged report in the name must not start a line.
    assert!(!text.contains("\ngpuprof: forged"), "{text}");
}

fn run(program: Program) -> Ended {
    let ended = program.run();
    assert!(ended.status.success(), "{ended:#?}");
    assert_harmless(&ended.stderr);
    ended
}

fn names_do_no_harm_in_the_table() {
    let names = Program::new("names").env("GPUPROF_REPORT", "table,table:full");
    // The filter selects the functions of this file, so that the list of functions never called is
    // short.
    let ended = run(names.env("GPUPROF_FILTER", r"\x1b"));
    assert_eq!((ended.reports(), ended.remarks()), (2, vec![]));
    // The name is escaped in full wherever it is shown.
    let evil = concat!(
        r"a\u{1b}[2J\u{1b}]0;t\u{7}\r\ngpuprof: forged · wall 1 s",
        r"\u{202e}\u{9b}31m\u{200b}\u{e0041}",
        r#""'<b>&\z"#
    );
    assert_eq!(ended.stderr.matches(evil).count(), 3, "{}", ended.stderr);
    for (name, most) in [
        (r"no\u{1b}[2J\nstream\u{2028}", 5),
        (r"never\u{1b}[2J\ncalled\u{2029}", 1),
        (r"awaited\u{1b}[2J\n\u{feff}", 4),
    ] {
        assert_eq!(
            ended.stderr.matches(name).count(),
            most,
            "{name}: {}",
            ended.stderr
        );
    }
    // On a terminal the only escape sequences are gpuprof's own colours.
    let ended = Program::new("names").run_on_terminal(100);
    let escapes = ended.stderr.split('\x1b').skip(1);
    for escape in escapes {
        let code = escape
            .strip_prefix('[')
            .and_then(|code| code.split_once('m'));
        let is_color =
            code.is_some_and(|(code, _)| code.bytes().all(|b| b.is_ascii_digit() || b == b';'));
        assert!(is_color, "{:?}", ended.stderr);
    }
    assert_harmless(&ended.stderr.replace("\r\n", "\n").replace('\x1b', ""));
}

fn names_stand_whole_in_the_json() {
    let folder = Folder::create();
    let path = folder.path("report.json");
    let report = format!("json={}", path.display());
    let ended = run(Program::new("names").env("GPUPROF_REPORT", report));
    assert_harmless(&fs::read_to_string(&path).expect("UTF-8"));
    let profile = read_profile(&path, &ended);
    assert_eq!(function(&profile, EVIL).calls, 1);
}

#[cfg(feature = "nvtx")]
fn names_do_no_harm_in_nvtx_tools() {
    let (ended, calls) = Program::new("names").recorded();
    assert!(ended.status.success(), "{ended:#?}");
    let names: Vec<String> = calls.iter().filter_map(|call| call.name.clone()).collect();
    assert!(
        names.iter().any(|name| name.ends_with(r"<b>&\z")),
        "{names:#?}"
    );
    assert!(
        names.iter().any(|name| name == r"\u{1b}[2J\u{202e}c"),
        "{names:#?}"
    );
    assert!(
        !names.iter().any(|name| name.chars().any(is_harmful)),
        "{names:#?}"
    );
}

/// The same program under another name.
fn called(folder: &Folder, name: &str) -> Program {
    let path = folder.path(name);
    let exe = std::env::current_exe().expect("a test has a path");
    if fs::hard_link(&exe, &path).is_err() {
        fs::copy(&exe, &path).expect("copied");
    }
    Program::at(&path).scenario("names")
}

fn a_program_may_be_called_anything() {
    let folder = Folder::create();
    for name in [
        "\x1b[2J\r\ngpuprof: forged\u{202e}\u{9b}31m",
        "{pid}{exe}",
        "-",
        &"y".repeat(255),
    ] {
        let ended = run(called(&folder, name));
        assert_eq!(ended.reports(), 1, "{}", ended.stderr);
        let reports = Folder::create();
        let report = format!("json={}", reports.path("of-{exe}").display());
        let ended =
            run(called(&folder, &format!("{}z", &name[..name.len() - 1]))
                .env("GPUPROF_REPORT", report));
        // The longest file name is 255 bytes.
        let fits = name.len() + 3 <= 255;
        assert_eq!(reports.files().len(), usize::from(fits), "{ended:#?}");
        assert_eq!(
            ended.remarks().len(),
            usize::from(!fits),
            "{}",
            ended.stderr
        );
    }
}

fn a_path_may_hold_anything() {
    let folder = Folder::create();
    let name = "a\x1b[2J\r\ngpuprof: forged\u{202e}\u{9b}31m\"'<b>&\\.json";
    let report = |path: &Path| format!("json={}", path.display());
    let ended = run(Program::new("names").env("GPUPROF_REPORT", report(&folder.path(name))));
    assert_eq!(
        (ended.stderr.as_str(), folder.files()),
        ("", vec![name.to_owned()])
    );
    let nowhere = folder.path("nowhere").join(name);
    let ended = run(Program::new("names").env("GPUPROF_REPORT", report(&nowhere)));
    let [remark] = ended.remarks()[..] else {
        panic!("{}", ended.stderr)
    };
    assert!(
        remark.contains(r"\u{1b}[2J\r\n") && remark.len() < 500,
        "{remark}"
    );
}

fn messages_stay_one_short_line() {
    let long = format!("{}{}", unlike_a_head(), "\x1b[2J\n".repeat(20_000));
    for (variable, value) in [
        ("GPUPROF", long.clone()),
        ("GPUPROF_REPORT", long.clone()),
        ("GPUPROF_REPORT", format!("json=/{long}")),
        ("GPUPROF_SORT", long.clone()),
        ("GPUPROF_LIMIT", long.clone()),
        ("GPUPROF_FILTER", format!("({long}")),
        (
            "GPUPROF_FILTER",
            format!("^{}$", "x\u{202e}".repeat(20_000)),
        ),
        ("GPUPROF_SAMPLE", long.clone()),
        ("GPUPROF_EXIT_WAIT", long.clone()),
        ("GPUPROF_SIGNALS", long.clone()),
        ("GPUPROF_CHECKPOINT", long.clone()),
        ("GPUPROF_\x1b[2J\ngpuprof: forged\u{202e}", long.clone()),
    ] {
        let ended = run(Program::new("names").env(variable, &value));
        let [remark] = ended.remarks()[..] else {
            panic!("{variable}: {}", ended.stderr)
        };
        assert!(remark.len() < SHORT, "{variable}: {remark}");
    }
}

fn a_megabyte_does_no_harm() {
    let ended = run(Program::new("megabyte"));
    // One line each for the unknown variable, the sort order, the filter and the path.
    assert_eq!(ended.remarks().len(), 4, "{}", ended.stderr);
    assert!(ended.remarks().iter().all(|remark| remark.len() < SHORT));
    assert_eq!(ended.reports(), 2);
    assert!(ended.took < Duration::from_secs(30), "{:?}", ended.took);
}
