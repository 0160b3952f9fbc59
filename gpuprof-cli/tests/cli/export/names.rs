//! Jobs and functions with names that nobody would choose.

use serde_json::json;

use super::{Job, TABLES, names, profile, row};

#[test]
fn the_profiles_name_the_job() {
    let job = Job::new();
    for rank in 0..2 {
        let mut profile = profile(rank);
        profile["meta"] = json!([{"key": "job", "value": "train 17"}]);
        job.add(&format!("{rank}.json"), &profile);
    }
    job.export_all(&[]);
    assert_eq!(names(&job.tables()), TABLES);
    for table in TABLES {
        assert_eq!(
            names(&job.tables().join(table)),
            ["job=train%2017"],
            "{table}"
        );
    }
    job.add("2.json", &profile(2));
    let found = job.export(&[]);
    assert_eq!(
        (found.code, &*found.stderr),
        (
            Some(2),
            "gpuprof: the profiles are of several jobs, such as train 17 and unnamed; export each \
             job, or name one with --job NAME\n"
        )
    );
    job.export_all(&["--job", "all"]);
    assert_eq!(job.rows("processes", "all").len(), 3);
    assert_eq!(job.rows("processes", "train%2017").len(), 2);
}

#[test]
fn a_job_never_leads_out_of_the_folder() {
    let job = Job::new();
    job.add("0.json", &profile(0));
    for name in ["../../x", "/etc", "..", "a/b=c\n", "größe"] {
        job.export_all(&["--job", name]);
    }
    for table in TABLES {
        let expected = [
            "job=%2Fetc",
            "job=..",
            "job=..%2F..%2Fx",
            "job=a%2Fb%3Dc%0A",
            "job=größe",
        ];
        assert_eq!(names(&job.tables().join(table)), expected, "{table}");
    }
    assert_eq!(names(job.0.path()), ["fleet", "ranks"]);
    for (name, line) in [
        ("", "the name of the job is empty"),
        (&*"j".repeat(201), "takes 201 bytes in a path, at most 200"),
    ] {
        let found = job.export(&["--job", name]);
        assert_eq!(found.code, Some(2));
        assert!(found.stderr.contains(line), "{}", found.stderr);
        assert_eq!(found.stderr.lines().count(), 1);
    }
}

#[test]
fn names_are_written_in_full_and_numbers_stop_at_the_largest() {
    let job = Job::new();
    let long = "x".repeat(10_000);
    let hostile = [
        "",
        "\u{1b}[31m\n\0",
        "größe/名前/\u{202e}",
        "'; DROP TABLE functions --",
        &long,
    ];
    // One in each profile: sums over 64 bits are refused.
    for (rank, name) in hostile.iter().enumerate() {
        let mut profile = profile(rank as u64);
        let mut function = profile["functions"][0].clone();
        function["name"] = json!(name);
        function["cpu"]["total_ns"] = json!(u64::MAX);
        function["cpu"]["histogram"] = json!([[4_000_000_000_u32, u64::MAX], [3, 0]]);
        profile["functions"] = json!([function]);
        job.add(&format!("{rank}.json"), &profile);
    }
    job.export_all(&[]);
    let expected = hostile.map(|name| row![name, i64::MAX]);
    let columns = ["function", "cpu_total_ns"];
    assert_eq!(job.cells("functions", "unnamed", &columns), expected);
    // The last bucket counts what is beyond it; an empty one is no row.
    let expected = hostile.map(|name| row![name, 639, (1_i64 << 43) - 1, i64::MAX]);
    let columns = ["function", "bucket", "high_ns", "calls"];
    assert_eq!(job.cells("function_buckets", "unnamed", &columns), expected);
}
