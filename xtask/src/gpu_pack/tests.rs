//! What is packed, and what the programs of the pack that need no GPU say.

use super::*;

#[test]
fn a_pack_that_is_too_large_is_refused_with_its_files() {
    let sizes = |large| vec![("small".to_owned(), 1024), ("large".to_owned(), large)];
    assert_eq!(weigh(&sizes(LIMIT - 1024)), Ok(()));
    let error = weigh(&sizes(LIMIT)).expect_err("too large");
    assert!(error.starts_with("the pack has 61441 KiB, more than 61440 KiB:"));
    assert!(error.find("large") < error.find("small"), "{error}");
}

/// What of it needs no GPU: statistics, criteria, and reading what the others write.
#[test]
fn the_peers_of_the_benchmarks_are_compared_as_the_table_says() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/gpu_pack/bench_peers.py");
    let test = Command::new("python3").args([file, "--self-test"]).output();
    let test = test.expect("python3 runs");
    assert!(
        test.status.success(),
        "{}",
        String::from_utf8_lossy(&test.stderr)
    );
}

#[test]
fn the_python_programs_have_no_syntax_errors() {
    let cache = tempfile::tempdir().expect("a folder");
    for (name, _) in PYTHON {
        let file = format!("{}/src/gpu_pack/{name}", env!("CARGO_MANIFEST_DIR"));
        let compiled = Command::new("python3")
            .args(["-m", "py_compile", &file])
            .env("PYTHONPYCACHEPREFIX", cache.path())
            .output()
            .expect("python3 runs");
        let error = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{error}");
    }
}

/// NVIDIA's module as far as it is used: two launches of `copy`, whose samples at one of two
/// addresses have a line.
const NCU_REPORT: &str = r#"
class Metric:
    def __init__(self, values, places=None):
        self.values, self.places = values, places
    def num_instances(self): return len(self.places or [])
    def has_correlation_ids(self): return self.places is not None
    def correlation_ids(self): return Metric(self.places)
    def as_uint64(self, i=None): return self.values if i is None else self.values[i]
    def as_string(self): return self.values
    def value(self): return self.values

class Info:
    def file_name(self): return "/tmp/limits.cu"
    def line(self): return 19

PREFIX = "smsp__pcsamp_warps_issue_stalled_"
METRICS = {
    "group:smsp__pcsamp_warp_stall_reasons": Metric(PREFIX + "wait," + PREFIX + "selected"),
    PREFIX + "wait": Metric([3, 4], [16, 32]),
    PREFIX + "wait_not_issued": Metric([3, 4], [16, 32]),
    PREFIX + "selected": Metric(5),
    "smsp__pcsamp_interval": Metric(4),
}

class Action:
    def name(self): return "void copy(float4 const*, float4*, unsigned long)"
    def metric_names(self): return tuple(METRICS)
    def metric_by_name(self, name): return METRICS.get(name)
    def source_info(self, counter): return Info() if counter == 16 else None

class Range:
    def num_actions(self): return 2
    def action_by_idx(self, i): return Action()

class Context:
    def num_ranges(self): return 1
    def range_by_idx(self, i): return Range()

def load_report(path): return Context()
"#;

#[test]
fn a_report_of_nsight_compute_is_summed_by_reason_and_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let read = |module: &str| {
        fs::write(folder.path().join("ncu_report.py"), module).expect("a file");
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/gpu_pack/ncu_stalls.py");
        let ran = Command::new("python3")
            .args(["-B", file, "x.ncu-rep"])
            .arg(folder.path())
            .output()
            .expect("python3 runs");
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        String::from_utf8_lossy(&ran.stdout).trim().to_owned()
    };
    let kernel = r#"{"kernel": "copy", "samples": 24, "reasons": {"selected": 10, "wait": 14}, "#;
    let lines = r#""lines": [{"file": "", "line": 0, "samples": 8}, "#;
    let line = r#"{"file": "limits.cu", "line": 19, "samples": 6}], "#;
    let settings = r#""settings": {"smsp__pcsamp_interval": "4"}}"#;
    let kernel = [kernel, lines, line, settings].concat();
    let whole = format!(r#"{{"kernels": [{kernel}], "problems": []}}"#);
    assert_eq!(read(NCU_REPORT), whole);
    // A module of another version.
    let without_group = NCU_REPORT.replace("group:smsp__pcsamp_warp", "group:other");
    assert_eq!(read(&without_group), whole);
    let without_reasons = NCU_REPORT.replace("smsp__pcsamp_warps_issue", "issue");
    let said = read(&without_reasons);
    assert!(
        said.contains("there are: group:smsp__pcsamp_warp_stall_reasons"),
        "{said}"
    );
    let without_lines = NCU_REPORT.replace("def source_info", "def source");
    let said = read(&without_lines);
    assert!(
        said.contains("AttributeError") && said.contains("an action has: ["),
        "{said}"
    );
}

/// Runs run.sh on the simulated device, with programs that only say what they are asked for.
/// Returns whether it succeeded, what it printed, and peers.json.
fn run_peers(arguments: &[&str], status: u8) -> (bool, String, Option<String>) {
    let root = tempfile::tempdir().expect("a folder");
    let (pack, out) = (root.path().join("pack"), root.path().join("out"));
    fill(&pack, &[]).expect("packed");
    let csv = "benchmark,mode,median_ns,device\nsaxpy n=1,hot,7,it";
    let kernels = format!("#!/bin/sh\necho '{csv}'\nexit {status}\n");
    for (name, text) in [
        ("gpu-checks", "#!/bin/sh\necho checks: \"$@\"\n"),
        ("cost", "#!/bin/sh\n"),
        ("kernels", kernels.as_str()),
    ] {
        fs::write(pack.join(name), text).expect("a file");
    }
    let ran = Command::new("sh")
        .arg(pack.join("run.sh"))
        .args(["--simulated", "--short"])
        .args(arguments)
        .arg(&out)
        .output()
        .expect("it runs");
    let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
    let peers = fs::read_to_string(out.join("peers.json")).ok();
    (ran.status.success(), printed, peers)
}

#[test]
fn the_peers_are_a_part_of_their_own() {
    let (succeeded, printed, peers) = run_peers(&["--only", "peers"], 0);
    assert!(succeeded && !printed.contains("checks:"), "{printed}");
    assert!(printed.contains("nvbench is NOT MEASURED: the device is simulated"));
    assert!(peers.expect("written").contains("saxpy n=1"));
    let (succeeded, printed, peers) = run_peers(&["--skip", "peers"], 0);
    assert!(succeeded && printed.contains("checks: --out"), "{printed}");
    assert_eq!(peers, None);
    assert_eq!(run_peers(&["--only", "ends"], 0).2, None);
    assert!(run_peers(&[], 0).2.is_some());
    assert!(!run_peers(&["--only", "peers"], 1).0);
}

#[test]
fn the_folder_is_made_anew_and_runs() {
    let root = tempfile::tempdir().expect("a folder");
    let pack = root.path().join("pack");
    fs::create_dir_all(&pack).expect("a folder");
    fs::write(pack.join("old"), "").expect("a file");
    let program = root.path().join("program");
    fs::write(&program, b"\0GLIBC_2.17\0GLIBC_2.34\0").expect("a file");
    let sizes = fill(&pack, &[program]).expect("packed");
    assert_eq!(sizes[0], ("program".into(), 23));
    assert!(!pack.join("old").exists());
    let script = fs::read_to_string(pack.join("run.sh")).expect("packed");
    assert!(script.contains("glibc 2.34") && !script.contains(GLIBC));
    for (name, text) in PYTHON.into_iter().chain(CUDA_C) {
        let packed = fs::read_to_string(pack.join(name)).expect("packed");
        assert_eq!(packed, text);
    }
    let help = Command::new(pack.join("run.sh"))
        .arg("--help")
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&help.stdout);
    assert!(help.status.success() && text.contains("--short"), "{text}");
}
