//! What cannot be exported, and what remains after a failure.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::{Job, TABLES, names, profile};
use crate::{ended, gpuprof};

#[test]
fn files_that_cannot_be_exported_are_named_and_the_others_written() {
    let job = Job::new();
    job.add("a.json", &profile(0));
    job.add_text("b.json", &profile(1).to_string()[..100]);
    let mut merged = profile(2);
    merged["ranks"] = json!({"profiles": 8, "hosts": 1, "functions": []});
    job.add("c.json", &merged);
    job.add("d.json", &profile(3));
    let found = job.export(&[]);
    assert_eq!((found.code, &*found.stdout), (Some(2), ""));
    let lines: Vec<&str> = found.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(
        lines[0].contains("b.json: this is not a JSON profile"),
        "{lines:?}"
    );
    assert!(
        lines[1].ends_with(
            "c.json: is merged from 8 profiles; export those instead, which have the times of each \
             rank"
        ),
        "{lines:?}"
    );
    assert!(lines[2].ends_with("fleet is without 2 of 4 files, which could not be exported"));
    let expected = [super::row![0, 0], super::row![3, 1]];
    assert_eq!(
        job.cells("processes", "unnamed", &["rank", "process"]),
        expected
    );
}

#[test]
fn ranks_that_are_missing_or_there_twice_are_reported() {
    let job = Job::new();
    for (name, rank) in [("a.json", 3), ("b.json", 3), ("c.json", 0)] {
        let mut profile = profile(rank);
        profile["world_size"] = 4.into();
        job.add(name, &profile);
    }
    let found = job.export(&[]);
    let expected = "gpuprof: 2 of 4 ranks have no profile here: 1, 2\n\
                    gpuprof: ranks that have several profiles, which are all added: 3\n";
    assert_eq!((found.code, &*found.stderr), (Some(0), expected));
}

#[test]
fn nothing_is_written_without_a_profile() {
    let job = Job::new();
    job.add_text("a.json", "{}");
    let found = job.export(&[]);
    assert_eq!(found.code, Some(2));
    assert!(
        found
            .stderr
            .ends_with("gpuprof: no profile could be read; nothing is written\n"),
        "{}",
        found.stderr
    );
    assert!(!job.tables().exists());

    let mut command = gpuprof(&["export", "-", "-o"]);
    let found = ended({
        command.arg(job.tables());
        command
    });
    assert_eq!(
        (found.code, &*found.stderr),
        (
            Some(2),
            "gpuprof: standard input: is no file, and cannot be read twice; save the profile in a \
             file\ngpuprof: no profile could be read; nothing is written\n"
        )
    );
    let empty = Job::new();
    let found = empty.export(&[]);
    assert!(
        found.stderr.ends_with("ranks: no JSON profile is there\n"),
        "{}",
        found.stderr
    );
    assert_eq!((found.code, empty.tables().exists()), (Some(2), false));
}

#[test]
fn an_earlier_export_of_the_job_is_replaced_on_request_alone() {
    let job = Job::new();
    job.add("0.json", &profile(0));
    job.export_all(&["--job", "a"]);
    job.export_all(&["--job", "b"]);
    job.add("1.json", &profile(1));
    let found = job.export(&["--job", "a"]);
    assert_eq!(found.code, Some(2));
    assert!(
        found.stderr.ends_with(
            "fleet/processes/job=a exists: the job was exported before; --force replaces it, --job \
             NAME names another\n"
        ),
        "{}",
        found.stderr
    );
    assert_eq!(job.rows("processes", "a").len(), 1);
    job.export_all(&["--job", "a", "--force"]);
    for table in ["processes", "functions"] {
        let rows = (job.rows(table, "a").len(), job.rows(table, "b").len());
        assert_eq!(rows, (2, 1), "{table}");
    }
    // Nothing is left beside the tables.
    assert_eq!(names(&job.tables()), TABLES);
}

#[test]
fn a_file_in_the_place_of_the_folder_is_named() {
    let job = Job::new();
    job.add("0.json", &profile(0));
    fs::write(job.tables(), "mine").expect("a file");
    let found = job.export(&[]);
    assert_eq!(found.code, Some(2));
    assert!(
        found.stderr.contains("fleet: cannot be written: "),
        "{}",
        found.stderr
    );
    assert_eq!(found.stderr.lines().count(), 1);
    assert_eq!(fs::read_to_string(job.tables()).expect("the file"), "mine");
}

#[test]
fn a_full_disk_leaves_what_was_there() {
    let job = Job::new();
    job.add("0.json", &profile(0));
    // Files of at most one block, as if there was no room for more.
    let limited = |options: &str| {
        let mut command = Command::new("sh");
        let program = env!("CARGO_BIN_EXE_gpuprof");
        let script =
            format!("trap '' XFSZ; ulimit -f 1; exec {program} export {options} -o \"$@\"");
        command
            .args(["-c", &script, "sh"])
            .arg(job.tables())
            .arg(job.ranks());
        ended(command)
    };
    let found = limited("");
    assert_eq!((found.code, job.tables().exists()), (Some(2), false));
    assert!(
        found.stderr.contains("fleet: cannot be written: ") && found.stderr.lines().count() == 1,
        "{}",
        found.stderr
    );
    job.export_all(&[]);
    let before = job.rows("functions", "unnamed");
    assert_eq!(limited("--force").code, Some(2));
    assert_eq!(job.rows("functions", "unnamed"), before);
    assert_eq!(names(&job.tables()), TABLES);
}
