//! What the commands ask of a program in standby, and of one that is not.

use gpuprof_report::live::Head;

use crate::live_program::serve_as;
use crate::{Ended, SMALL, ended, gpuprof};

/// Runs the command beside such a program. Returns its end, and the requests.
fn asked(in_standby: bool, arguments: &[&str]) -> (Ended, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let head = Head::new("serve", 7).in_standby(in_standby);
    let requests = serve_as(folder.path(), head, SMALL);
    let mut command = gpuprof(arguments);
    command.current_dir(folder.path());
    command.env("XDG_RUNTIME_DIR", folder.path());
    (ended(command), requests.try_iter().collect())
}

#[test]
fn a_program_in_standby_is_told_what_to_record_and_for_how_long() {
    let cases: [(&[&str], [&str; 2]); 6] = [
        (&["snapshot", "7"], ["look", "snapshot 10000"]),
        (&["snapshot", "7", "--for", "2s"], ["look", "snapshot 2000"]),
        (
            &["snapshot", "serve", "--cupti", "--for", "500ms"],
            ["look cupti", "snapshot 500"],
        ),
        (
            &["snapshot", "7", "--memory", "--stalls", "--for", "1m"],
            ["look cupti,stalls,memory", "snapshot 60000"],
        ),
        (
            &["snapshot", "7", "--cupti", "--counters", "-o", "now.json"],
            ["look cupti,counters", "snapshot 10000"],
        ),
        (
            &["trace", "7", "--cupti", "--for", "3s", "-o", "now.json"],
            ["look cupti", "trace 3000 json"],
        ),
    ];
    for (arguments, expected) in cases {
        let (ended, requests) = asked(true, arguments);
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{arguments:?}");
        assert_eq!(requests, [&["hello"][..], &expected].concat());
        let is_file = arguments.contains(&"-o");
        assert_eq!(ended.stdout, if is_file { "" } else { SMALL });
    }
}

#[cfg(feature = "top")]
#[test]
fn a_screen_looks_for_as_long_as_it_is_shown() {
    let arguments = ["top", "7", "--once", "--cupti", "--stalls"];
    let (ended, requests) = asked(true, &arguments);
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    let changes = ["changes"; 2];
    assert_eq!(
        requests,
        [&["hello", "look cupti,stalls"][..], &changes].concat()
    );
}

#[test]
fn a_file_that_cannot_be_written_is_named_as_it_was_given() {
    for (path, why) in [
        ("nowhere/a.json", "No such file or directory (os error 2)"),
        ("/dev/null/a.json", "Permission denied (os error 13)"),
    ] {
        for arguments in [
            &["snapshot", "7", "-o", path][..],
            &["trace", "7", "--for", "1ms", "-o", path],
        ] {
            let (ended, _) = asked(false, arguments);
            let said = format!("gpuprof: {path}: cannot be written: {why}\n");
            assert_eq!((ended.code, ended.stderr), (Some(2), said));
        }
    }
}

#[test]
fn other_programs_are_not_asked_to_look() {
    let cases: [(&[&str], &[&str]); 5] = [
        (&["snapshot", "7"], &["hello", "snapshot"]),
        (&["snapshot", "7", "--cupti"], &["hello"]),
        (&["snapshot", "7", "--for", "2s"], &["hello"]),
        (&["trace", "7", "--stalls", "-o", "now.json"], &["hello"]),
        (&["top", "7", "--once", "--memory"], &["hello"]),
    ];
    for (arguments, expected) in cases {
        let (ended, requests) = asked(false, arguments);
        assert_eq!(requests, expected);
        if expected.len() == 1 {
            assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{arguments:?}");
            let said = "the program is not in standby: it records what it was started with, from \
                        its start on; start it with GPUPROF=standby to choose that and the time \
                        here\n";
            assert!(ended.stderr.ends_with(said), "{}", ended.stderr);
        }
    }
}

#[test]
fn run_starts_programs_in_standby() {
    let run = |arguments: &[&str]| {
        let shell = ["--", "sh", "-c", "env | grep ^GPUPROF | sort"];
        ended(gpuprof(&[&["run"], arguments, &shell].concat()))
    };
    let standby = run(&["--standby"]);
    assert_eq!(
        (&*standby.stdout, &*standby.stderr),
        ("GPUPROF=standby\n", "")
    );
    let sampled = run(&["--standby", "--sample", "1"]);
    assert_eq!(sampled.stdout, "GPUPROF=standby\nGPUPROF_SAMPLE=1\n");
    let by_variable = |arguments: &[&str]| {
        let mut command = gpuprof(&[&["run"], arguments, &["--", "true"]].concat());
        command.env("GPUPROF", "standby");
        ended(command)
    };
    for (refused, argument, source) in [
        (run(&["--standby", "--cupti"]), "--cupti", "with --standby"),
        (
            by_variable(&["--counters", "--for=2s"]),
            "--counters",
            "beside GPUPROF=standby",
        ),
        (
            by_variable(&["--for", "2s"]),
            "--for",
            "beside GPUPROF=standby",
        ),
    ] {
        assert_eq!((refused.code, &*refused.stdout), (Some(2), ""));
        let line = format!(
            "gpuprof: {argument} has no effect {source}: viewers say what is recorded, such as \
             gpuprof snapshot --cupti --for 10s; leave out one of the two\n"
        );
        assert_eq!(refused.stderr, line);
    }
    assert_eq!(by_variable(&[]).code, Some(0));
}
