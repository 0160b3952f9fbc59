//! What is in the tables.

use parquet::file::reader::FileReader;
use serde_json::{Value, json};

use super::{Job, TABLES, profile, row};

/// A profile with every kind of row.
const RICH: &str = r#"{
    "schema": "gpuprof.profile/1", "program": "train", "host": "node7", "pid": 11, "rank": 2,
    "world_size": 8, "started_at": "2026-11-23T10:00:00Z", "wall_ns": 9000, "at_exit": true,
    "meta": [{"key": "commit", "value": "1f2e"}, {"key": "commit", "value": "3d4c"}],
    "devices": [
        {"ordinal": 0, "name": "Sim", "uuid": "GPU-0", "sm_count": 4, "memory_bytes": 64,
            "driver": "13.0", "simulated": true},
        {"ordinal": 1, "name": "Real"}
    ],
    "gpu_busy": [{"device": 0, "busy_ns": 700, "busy_ci95_ns": 5}],
    "throttled": [{"device": 1, "throttled_ns": 33}],
    "cupti": {"version": 130000},
    "functions": [
        {
            "name": "step", "module": "train", "file": "src/main.rs", "line": 7, "calls": 3,
            "open_calls": 1, "threads": 2,
            "cpu": {"total_ns": 60, "self_ns": 50, "sum_ns": 61, "min_ns": 19, "max_ns": 21,
                "p50_ns": 20, "p99_ns": 21, "histogram": [[19, 1], [20, 2]]},
            "gpu": {"device": 0, "timed_calls": 1, "total_ns": 300, "self_ns": 290,
                "sum_ns": 301, "min_ns": 100, "max_ns": 101, "p50_ns": 101, "p99_ns": 101,
                "estimate": {"total_ci95_ns": 9}, "histogram": [[57, 3]]},
            "gpu_nested_ns": 4, "captured_calls": 1, "untimed_calls": 2, "bytes": 1.5,
            "busy_ns": 250, "idle_ns": 50,
            "kernels": [{"name": "gemm<…> #1", "symbol": "_Z4gemm", "device": 0, "calls": 2,
                "total_ns": 41, "min_ns": 20, "max_ns": 21, "p50_ns": 20, "p99_ns": 21,
                "histogram": [[20, 2]]}]
        },
        {"name": "step", "module": "train", "file": "src/main.rs", "line": 7},
        {
            "name": "fetch", "module": "train", "file": "src/main.rs", "line": 30, "calls": 1,
            "is_async": true,
            "cpu": {"total_ns": 5, "min_ns": 5, "max_ns": 5, "histogram": [[5, 1]]},
            "wall": {"total_ns": 16, "min_ns": 16, "max_ns": 16, "histogram": [[16, 1]]}
        }
    ],
    "kernels": [
        {"name": "gemm<…> #1", "symbol": "_Z4gemm", "device": 0, "calls": 3, "graph_calls": 1,
            "total_ns": 61, "min_ns": 20, "max_ns": 21, "p50_ns": 20, "p99_ns": 21,
            "launch_latency": {"calls": 2, "total_ns": 90}, "registers": 40, "occupancy": 0.5,
            "histogram": [[20, 3]]},
        {"name": "plain", "device": 1, "calls": 101, "p50_ns": 17, "p99_ns": 40, "min_ns": 16,
            "max_ns": 41, "total_ns": 2000, "histogram": [[17, 99], [36, 2]]}
    ],
    "diagnostics": {"calls": 4, "timed_calls": 1, "untimed": {"sampled_out": 2}, "dropped": 6,
        "errors": [{"call": "cuEventQuery", "code": 1, "count": 3}], "overhead_ns": 12}
}"#;

fn rich() -> Value {
    serde_json::from_str(RICH).expect("JSON")
}

#[test]
fn rows_are_sorted_by_rank_and_processes_numbered_by_file() {
    let job = Job::new();
    let mut unranked = profile(0);
    unranked["rank"] = Value::Null;
    for (name, profile) in [("a", profile(12)), ("b", unranked), ("c", profile(3))] {
        job.add(&format!("{name}.json"), &profile);
    }
    job.export_all(&[]);
    let expected = [
        row![3, 2, "node0", 73, 1_003],
        row![12, 0, "node0", 82, 1_012],
        row![(), 1, "node0", 70, 1_000],
    ];
    let columns = ["rank", "process", "host", "pid", "wall_ns"];
    assert_eq!(job.cells("processes", "unnamed", &columns), expected);
    for table in ["functions", "function_buckets"] {
        let ranks = job.cells(table, "unnamed", &["rank", "process"]);
        assert_eq!(ranks, [row![3, 2], row![12, 0], row![(), 1]], "{table}");
    }
    let reader = job.reader("functions", "unnamed");
    let group = reader.metadata().row_group(0);
    let sorted_by = group.sorting_columns().expect("sorting columns");
    let sorted_by: Vec<(i32, bool)> = (sorted_by.iter())
        .map(|column| (column.column_idx, column.descending))
        .collect();
    assert_eq!(sorted_by, [(0, false), (1, false)]);
    let first = group.column(0);
    assert_eq!(first.column_path().string(), "rank");
    let facts = reader.metadata().file_metadata().key_value_metadata();
    let facts = facts.expect("metadata").iter();
    let facts: Vec<_> = facts
        .map(|fact| (&*fact.key, fact.value.as_deref()))
        .collect();
    let version = Some(env!("CARGO_PKG_VERSION"));
    assert_eq!(
        facts,
        [
            ("gpuprof.schema", Some("gpuprof.fleet/1")),
            ("gpuprof.version", version)
        ]
    );
}

#[test]
fn a_process_has_its_facts_and_its_devices() {
    let job = Job::new();
    job.add("2.json", &rich());
    job.export_all(&["--job", "a"]);
    let columns = [
        "world_size",
        "program",
        "started_at",
        "at_exit",
        "has_cupti",
        "calls",
        "timed_calls",
        "untimed_calls",
        "dropped_calls",
        "cuda_errors",
        "overhead_ns",
        "simulated",
    ];
    let expected = row![
        8,
        "train",
        "2026-11-23T10:00:00Z",
        true,
        true,
        4,
        1,
        2,
        6,
        3,
        12,
        true
    ];
    assert_eq!(job.cells("processes", "a", &columns), [expected]);
    let rows = job.rows("processes", "a");
    assert_eq!(rows[0]["meta"].to_string(), "{\"commit\" -> \"3d4c\"}");
    let path = job.ranks().join("2.json");
    let path = path.to_str().expect("UTF-8");
    assert_eq!(job.cells("processes", "a", &["profile"]), [row![path]]);

    let columns = [
        "rank",
        "device",
        "device_name",
        "uuid",
        "multiprocessors",
        "memory_bytes",
        "driver",
        "busy_ns",
        "busy_ci95_ns",
        "throttled_ns",
    ];
    let expected = [
        row![
            2,
            0,
            "Sim (simulated device)",
            "GPU-0",
            4,
            64,
            "13.0",
            700,
            5,
            ()
        ],
        row![2, 1, "Real", "", (), (), "", (), (), 33],
    ];
    assert_eq!(job.cells("devices", "a", &columns), expected);
}

#[test]
fn a_function_has_its_times_and_null_for_what_it_lacks() {
    let job = Job::new();
    job.add("2.json", &rich());
    job.export_all(&["--job", "a"]);
    let columns = [
        "function",
        "module",
        "file",
        "line",
        "namesake",
        "calls",
        "open_calls",
        "threads",
        "cpu_total_ns",
        "cpu_self_ns",
        "cpu_sum_ns",
        "cpu_min_ns",
        "cpu_max_ns",
        "cpu_p50_ns",
        "cpu_p99_ns",
    ];
    let place = ["train", "src/main.rs"];
    let expected = [
        row![
            "step", place[0], place[1], 7, 0, 3, 1, 2, 60, 50, 61, 19, 21, 20, 21
        ],
        row![
            "step",
            place[0],
            place[1],
            7,
            1,
            0,
            0,
            0,
            0,
            0,
            0,
            (),
            (),
            (),
            ()
        ],
        row![
            "fetch", place[0], place[1], 30, 0, 1, 0, 0, 5, 0, 0, 5, 5, 0, 0
        ],
    ];
    assert_eq!(job.cells("functions", "a", &columns), expected);
    let columns = [
        "gpu_timed_calls",
        "gpu_total_ns",
        "gpu_self_ns",
        "gpu_sum_ns",
        "gpu_min_ns",
        "gpu_max_ns",
        "gpu_p50_ns",
        "gpu_p99_ns",
        "gpu_total_ci95_ns",
        "gpu_nested_ns",
        "device",
        "device_name",
        "captured_calls",
        "untimed_calls",
        "busy_ns",
        "idle_ns",
        "bytes",
        "flops",
    ];
    let name = "Sim (simulated device)";
    let lacking = row![
        (),
        (),
        (),
        (),
        (),
        (),
        (),
        (),
        (),
        0,
        (),
        (),
        0,
        0,
        (),
        (),
        (),
        ()
    ];
    let expected = [
        row![
            1,
            300,
            290,
            301,
            100,
            101,
            101,
            101,
            9,
            4,
            0,
            name,
            1,
            2,
            250,
            50,
            1.5,
            ()
        ],
        lacking.clone(),
        lacking,
    ];
    assert_eq!(job.cells("functions", "a", &columns), expected);
    let columns = ["wall_total_ns", "wall_min_ns", "wall_max_ns"];
    let expected = [row![(), (), ()], row![(), (), ()], row![16, 16, 16]];
    assert_eq!(job.cells("functions", "a", &columns), expected);

    let columns = [
        "function",
        "kind",
        "bucket",
        "low_ns",
        "high_ns",
        "middle_ns",
        "calls",
        "min_ns",
        "max_ns",
    ];
    let expected = [
        row!["step", "cpu", 19, 19, 19, 19, 1, 19, 21],
        row!["step", "cpu", 20, 20, 20, 20, 2, 19, 21],
        // Octave 3, step 9: 100 to 103 ns.
        row!["step", "gpu", 57, 100, 103, 101, 3, 100, 101],
        row!["fetch", "cpu", 5, 5, 5, 5, 1, 5, 5],
        row!["fetch", "wall", 16, 16, 16, 16, 1, 16, 16],
    ];
    assert_eq!(job.cells("function_buckets", "a", &columns), expected);
}

#[test]
fn a_kernel_has_its_times_in_the_process_and_in_its_function() {
    let job = Job::new();
    job.add("2.json", &rich());
    job.export_all(&["--job", "a"]);
    let columns = [
        "kernel",
        "symbol",
        "device",
        "device_name",
        "multiprocessors",
        "calls",
        "graph_calls",
        "total_ns",
        "min_ns",
        "max_ns",
        "p50_ns",
        "p99_ns",
        "latency_calls",
        "latency_total_ns",
        "registers",
        "occupancy",
    ];
    let (gemm, name) = ("gemm<…> #1", "Sim (simulated device)");
    let expected = [
        row![
            gemm, "_Z4gemm", 0, name, 4, 3, 1, 61, 20, 21, 20, 21, 2, 90, 40, 0.5
        ],
        row![
            "plain",
            "plain",
            1,
            "Real",
            (),
            101,
            0,
            2_000,
            16,
            41,
            17,
            40,
            0,
            0,
            0,
            ()
        ],
    ];
    assert_eq!(job.cells("kernels", "a", &columns), expected);
    let columns = [
        "symbol",
        "device_name",
        "bucket",
        "middle_ns",
        "calls",
        "min_ns",
        "max_ns",
    ];
    let expected = [
        row!["_Z4gemm", name, 20, 20, 3, 20, 21],
        row!["plain", "Real", 17, 17, 99, 16, 41],
        row!["plain", "Real", 36, 40, 2, 16, 41],
    ];
    assert_eq!(job.cells("kernel_buckets", "a", &columns), expected);
    let columns = ["function", "namesake", "symbol", "calls", "total_ns"];
    let expected = [row!["step", 0, "_Z4gemm", 2, 41]];
    assert_eq!(job.cells("function_kernels", "a", &columns), expected);
}

#[test]
fn a_profile_without_rows_gives_tables_with_columns() {
    let job = Job::new();
    job.add("0.json", &json!({"schema": "gpuprof.profile/1"}));
    job.export_all(&[]);
    for table in TABLES {
        let rows = job.rows(table, "unnamed").len();
        assert_eq!(rows, usize::from(table == "processes"), "{table}");
        let reader = job.reader(table, "unnamed");
        let schema = reader.metadata().file_metadata().schema_descr();
        let first: Vec<_> = (0..3)
            .map(|at| schema.column(at).name().to_owned())
            .collect();
        assert_eq!(first, ["rank", "process", "host"], "{table}");
    }
}
