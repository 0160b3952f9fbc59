//! `gpuprof merge`: files, folders and patterns into one profile.

use std::fs;

use crate::{SMALL, ended, gpuprof, recorded};

fn merged(path: &std::path::Path) -> serde_json::Value {
    let text = fs::read_to_string(path).expect("the merged profile");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn ranks_become_one_profile_that_show_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    for name in ["0.json", "1.json", "2.json"] {
        fs::write(path(name), SMALL).expect("a file");
    }
    let job = path("job.json");
    let job_text = job.to_str().expect("a path");
    let arguments = [
        "merge",
        folder.path().to_str().expect("a path"),
        "-o",
        job_text,
    ];
    // The second time the folder holds the result of the first.
    for _ in 0..2 {
        let found = ended(gpuprof(&arguments));
        assert_eq!(
            (found.code, &*found.stderr, &*found.stdout),
            (Some(0), "", "")
        );
        let merged = merged(&job);
        assert_eq!(merged["ranks"]["profiles"], 3);
        let one: serde_json::Value = serde_json::from_str(SMALL).expect("JSON");
        let calls = one["functions"][0]["calls"].as_u64().expect("calls");
        assert_eq!(merged["functions"][0]["calls"], 3 * calls);
    }
    let shown = ended(gpuprof(&["show", job_text]));
    assert_eq!(shown.code, Some(0), "{shown:?}");
}

#[test]
fn a_file_that_is_given_twice_is_named_and_merged_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| {
        folder
            .path()
            .join(name)
            .to_str()
            .expect("a path")
            .to_owned()
    };
    for name in ["0.json", "1.json"] {
        fs::write(path(name), SMALL).expect("a file");
    }
    std::os::unix::fs::symlink(path("0.json"), path("link.json")).expect("a link");
    let job = path("job.json");
    let profiles = folder.path().to_str().expect("a path");
    let found = ended(gpuprof(&["merge", profiles, &path("1.json"), "-o", &job]));
    assert_eq!(found.code, Some(0), "{found:?}");
    let repeated = |name: &str| {
        let path = path(name);
        format!("gpuprof: {path} is given more than once; it is merged once\n")
    };
    assert_eq!(found.stderr, repeated("link.json") + &repeated("1.json"));
    assert_eq!(merged(job.as_ref())["ranks"]["profiles"], 2);
}

/// A copy of a file in `folder`.
fn copied(file: &str, folder: &std::path::Path) -> String {
    let path = folder.join("copy");
    fs::copy(file, &path).expect("a copy");
    path.to_str().expect("a path").to_owned()
}

#[test]
fn recorded_profiles_merge() {
    let folder = tempfile::tempdir().expect("a folder");
    let job = folder.path().join("job.json");
    let digits = recorded("04_train_digits");
    let digits = digits.to_str().expect("a path");
    let copy = copied(digits, folder.path());
    let found = ended(gpuprof(&[
        "merge",
        digits,
        &copy,
        "-o",
        job.to_str().expect("a path"),
    ]));
    assert_eq!((found.code, &*found.stderr), (Some(0), ""));
    let once: serde_json::Value = merged(std::path::Path::new(digits));
    let twice = merged(&job);
    for field in ["calls", "timed_calls"] {
        let calls = once["diagnostics"][field].as_u64().expect("calls");
        assert_eq!(twice["diagnostics"][field], 2 * calls);
    }
    // Equal halves have the percentiles of either.
    let p95 = |profile: &serde_json::Value| profile["functions"][0]["cpu"]["p95_ns"].clone();
    assert_eq!(p95(&twice), p95(&once));
}

#[test]
fn a_broken_file_is_named_and_skipped_and_the_end_is_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| {
        folder
            .path()
            .join(name)
            .to_str()
            .expect("a path")
            .to_owned()
    };
    fs::write(path("good.json"), SMALL).expect("a file");
    fs::write(path("broken.json"), &SMALL[..SMALL.len() / 2]).expect("a file");
    let (good, broken, job) = (path("good.json"), path("broken.json"), path("job.json"));
    let found = ended(gpuprof(&["merge", &broken, &good, "-o", &job]));
    assert_eq!(found.code, Some(2));
    assert!(
        found
            .stderr
            .contains("broken.json: this is not a JSON profile"),
        "{found:?}"
    );
    assert!(
        found.stderr.contains("is without 1 of 2 files"),
        "{found:?}"
    );
    assert_eq!(merged(job.as_ref())["ranks"]["profiles"], 1);

    let none = path("none.json");
    let found = ended(gpuprof(&["merge", &broken, "-o", &none]));
    assert_eq!(found.code, Some(2));
    assert!(
        found
            .stderr
            .ends_with("no profile could be read; nothing is written\n")
    );
    assert!(!fs::exists(none).expect("the folder"));
}

#[test]
fn a_time_line_is_no_profile() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("rank0.json"), r#"{"traceEvents": []}"#).expect("a file");
    let found = ended(gpuprof(&[
        "merge",
        &path("rank0.json"),
        "-o",
        &path("job.json"),
    ]));
    assert_eq!(found.code, Some(2));
    assert!(
        found.stderr.contains("it is not a profile of gpuprof"),
        "{found:?}"
    );
    assert!(!fs::exists(path("job.json")).expect("the folder"));
}

#[test]
fn a_profile_without_the_records_of_the_others_is_left_out_and_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let with = |number: u32| {
        let facts = format!(r#""rank": {number}, "world_size": 3, "cupti": {{}}, "program""#);
        SMALL.replace(r#""program""#, &facts)
    };
    let without = with(2).replace(r#""cupti": {},"#, "");
    let unread = "{".to_owned();
    for (name, text) in [
        ("0", unread),
        ("1", with(0)),
        ("2", with(1)),
        ("3", without),
    ] {
        fs::write(path(&format!("{name}.json")), text).expect("a file");
    }
    let job = path("job.json");
    let profiles = folder.path().to_str().expect("a path");
    let found = ended(gpuprof(&["merge", profiles, "-o", &job]));
    let note = "1 of 3 profiles lacks CUPTI's records, unlike the others, and is left out: rank 2; \
                set GPUPROF_CUPTI to the same value in all";
    let said = format!("gpuprof: {note}; the first is {}\n", path("3.json"));
    assert_eq!(found.code, Some(2));
    assert!(found.stderr.contains(&said), "{found:?}");
    fs::remove_file(path("0.json")).expect("ours");
    let found = ended(gpuprof(&["merge", profiles, "-o", &job]));
    assert_eq!((found.code, found.stderr), (Some(0), said));
    let merged = merged(job.as_ref());
    assert_eq!(merged["ranks"]["profiles"], 2);
    assert_eq!(merged["diagnostics"]["calls"], 8);
    assert_eq!(merged["diagnostics"]["notes"], serde_json::json!([note]));
}
