//! Whatever a file holds, `gpuprof show` says in one line what is wrong with it, or shows it.

use std::fs;

use serde_json::{Value, json};

use super::{Ended, SMALL, ended, gpuprof, recorded, with_input};

/// One line about standard input.
fn refused(line: &str) -> Ended {
    Ended {
        code: Some(2),
        stdout: String::new(),
        stderr: format!("gpuprof: standard input: {line}\n"),
    }
}

const WRITES_ONE: &str = "GPUPROF_REPORT=json=PATH writes one";

#[test]
fn a_file_that_is_no_profile_is_one_line() {
    let no_profile = "this is not a JSON profile of gpuprof";
    for (input, line) in [
        (
            &b""[..],
            format!("{no_profile}: EOF while parsing a value at line 1 column 0; {WRITES_ONE}"),
        ),
        (
            b"\x89PNG\r\n\x1a\n\xff",
            format!("{no_profile}: it is not UTF-8; {WRITES_ONE}"),
        ),
        (
            b"function,calls\n",
            format!("{no_profile}: expected ident at line 1 column 2; {WRITES_ONE}"),
        ),
        (
            br#"{"traceEvents": []}"#,
            format!(
                "the document has no field \"schema\": it is not a profile of gpuprof; {WRITES_ONE}"
            ),
        ),
        (
            br#"{"schema": "gpuprof.profile/2", "functions": 7}"#,
            "the document is \"gpuprof.profile/2\", but only gpuprof.profile/1 can be read; use \
             the version of gpuprof that wrote it"
                .to_owned(),
        ),
        (
            b"{\"schema\": \"\\u001b[31m\\n\"}",
            "the document is \"\\u{1b}[31m\\n\", but only gpuprof.profile/1 can be read; use the \
             version of gpuprof that wrote it"
                .to_owned(),
        ),
    ] {
        assert_eq!(with_input(&["show", "-"], input), refused(&line));
    }
}

#[test]
fn a_folder_and_a_missing_file_are_named() {
    let folder = "is a folder, and one profile is read here; gpuprof diff, merge and export take \
                  folders of profiles";
    let missing = "cannot be read: No such file or directory (os error 2)";
    for (path, reason) in [("/", folder), ("/no\nwhere", missing)] {
        let line = path.replace('\n', "\\n");
        let ended = ended(gpuprof(&["show", path]));
        assert_eq!(ended.stderr, format!("gpuprof: {line}: {reason}\n"));
        assert_eq!(ended.code, Some(2));
    }
}

#[test]
fn a_profile_that_contradicts_itself_is_refused_by_every_command() {
    let (node, index) = ("node 1 of the call tree", "is beyond the end of its list");
    for (pointer, value, line) in [
        (
            "/tree/1/id",
            json!(0),
            "two nodes of the call tree have the id 0".to_owned(),
        ),
        (
            "/tree/1/parent",
            json!(1),
            format!("the parent of {node} is not before it"),
        ),
        (
            "/tree/0/parent",
            json!(1),
            "the parent of node 0 of the call tree is not before it".to_owned(),
        ),
        (
            "/tree/1/parent",
            json!(7),
            format!("the parent of {node} is not before it"),
        ),
        ("/tree/1/function", json!(2), format!("function 2 {index}")),
        (
            "/tree/0/activities",
            json!([{"kernel": 0}]),
            format!("kernel 0 {index}"),
        ),
        (
            "/tree/0/cpu_total_ns",
            json!(u64::MAX),
            "the sum of cpu_total_ns exceeds 64 bits".to_owned(),
        ),
        (
            "/functions/0/calls",
            json!(u64::MAX),
            "the sum of calls exceeds 64 bits".to_owned(),
        ),
    ] {
        let mut profile: Value = serde_json::from_str(SMALL).expect("JSON");
        let (object, field) = pointer.rsplit_once('/').expect("a pointer");
        profile.pointer_mut(object).expect("a place")[field] = value;
        let text = profile.to_string();
        let line = format!("the profile contradicts itself: {line}; it is not as gpuprof wrote it");
        assert_eq!(with_input(&["show", "-"], text.as_bytes()), refused(&line));
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.json");
        fs::write(&path, &text).expect("a file");
        let path = path.to_str().expect("UTF-8");
        for command in [
            &["merge", path, "-o", "/dev/null"][..],
            &["diff", path, "--vs", path],
            &["show", "--format", "html", path],
        ] {
            let ended = ended(gpuprof(command));
            assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{ended:?}");
            assert!(ended.stderr.contains(&line), "{command:?}: {ended:?}");
        }
    }
}

#[test]
fn a_truncated_profile_is_refused_wherever_it_ends() {
    for end in (1..SMALL.len()).step_by(37) {
        let ended = with_input(&["show", "-"], &SMALL.as_bytes()[..end]);
        assert_eq!(ended.code, Some(2), "{end}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{end}: {ended:?}");
        assert!(ended.stderr.contains("is not a JSON profile"), "{ended:?}");
    }
}

#[test]
fn a_message_repeats_little_of_the_file() {
    let long = "\\u001b[31m".repeat(1 << 17);
    for field in ["schema", "pid"] {
        let input = format!(r#"{{"schema": "gpuprof.profile/1", "{field}": "{long}"}}"#);
        let ended = with_input(&["show", "-"], input.as_bytes());
        assert_eq!(ended.code, Some(2));
        assert!(ended.stderr.len() < 1_000, "{}", ended.stderr);
        assert!(!ended.stderr.contains('\x1b'), "{}", ended.stderr);
    }
}

#[test]
fn a_short_text_that_would_fill_the_memory_is_refused() {
    let objects = "{},".repeat(2_000_000);
    let input = format!(r#"{{"schema": "gpuprof.profile/1", "functions": [{objects}{{}}]}}"#);
    assert_eq!(
        with_input(&["show", "-"], input.as_bytes()),
        refused("has more than 2000000 JSON objects; a profile of gpuprof has far fewer")
    );
    let nested = format!(r#"{{"schema": {}"#, "[".repeat(1 << 20));
    assert_eq!(with_input(&["show", "-"], nested.as_bytes()).code, Some(2));
}

#[test]
fn a_file_over_the_limit_is_refused_before_it_is_parsed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.json");
    let file = fs::File::create(&path).expect("a file");
    // A file with a hole takes no room on the disk.
    file.set_len(1 << 40).expect("a file");
    let path = path.to_str().expect("UTF-8");
    let ended = ended(gpuprof(&["show", path]));
    assert_eq!(
        ended.stderr,
        format!(
            "gpuprof: {path}: is longer than 512 MB, the most that is read of a file; a profile \
             of gpuprof is far shorter\n"
        )
    );
    assert_eq!(ended.code, Some(2));
}

/// The numbers that say which rows belong together: others are refused.
const PLACES: [&str; 5] = ["id", "parent", "function", "kernel", "copies"];

/// Replaces every other number by `number`, where the field takes it.
fn replace(value: &mut Value, key: &str, number: u64) {
    match value {
        Value::Number(old) if old.is_u64() && !PLACES.contains(&key) => {
            let takes_all = key.ends_with("_ns") || key == "calls" || key.ends_with("_calls");
            let number = if takes_all {
                number
            } else {
                number.min(u64::from(u32::MAX))
            };
            *value = number.into();
        }
        Value::Array(values) => values
            .iter_mut()
            .for_each(|value| replace(value, key, number)),
        Value::Object(fields) => {
            for (key, value) in fields {
                replace(value, key, number);
            }
        }
        _ => {}
    }
}

#[test]
fn any_numbers_are_shown_in_every_format() {
    for name in ["03_streams", "04_train_digits_without_cupti"] {
        let text = fs::read_to_string(recorded(name)).expect("a recorded profile");
        // The largest whose sums fit, of fewer than 4,096 rows.
        for number in [1, u64::MAX >> 12] {
            let mut document: Value = serde_json::from_str(&text).expect("JSON");
            replace(&mut document, "", number);
            let document = document.to_string();
            for format in [
                "table",
                "full",
                "csv",
                "json",
                "folded",
                "folded-cpu",
                "html",
            ] {
                let arguments = ["show", "--format", format, "-"];
                let ended = with_input(&arguments, document.as_bytes());
                assert_eq!(
                    (ended.code, &*ended.stderr),
                    (Some(0), ""),
                    "{name} {number} {format}"
                );
            }
            // Not text.
            let arguments = ["show", "--format", "pprof", "-o", "/dev/null", "-"];
            let ended = with_input(&arguments, document.as_bytes());
            let pprof = (ended.code, &*ended.stderr);
            assert_eq!(pprof, (Some(0), ""), "{name} {number}");
        }
    }
}
