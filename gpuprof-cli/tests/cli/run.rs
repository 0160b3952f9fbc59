//! `gpuprof run`: programs end as they would alone, with the settings that were asked for.

use std::fs;

use super::{Ended, SMALL, ended, gpuprof};

/// A program that writes `PROFILE` where `GPUPROF_REPORT` asks for JSON last, as gpuprof does.
const WRITES_A_PROFILE: &str = r#"
    path=${GPUPROF_REPORT##*json=}
    printf '%s' "$PROFILE" > "${path%\{pid\}.json}$$.json"
"#;

fn run_shell(options: &[&str], script: &str, profile: &str) -> Ended {
    let mut arguments = vec!["run"];
    arguments.extend(options);
    arguments.extend(["--", "sh", "-c", script]);
    let mut command = gpuprof(&arguments);
    command.env("PROFILE", profile);
    ended(command)
}

#[test]
fn the_status_is_that_of_the_program() {
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("exit 255", 255)] {
        let script = format!("{WRITES_A_PROFILE}\n{script}");
        let ended = run_shell(&[], &script, SMALL);
        assert_eq!((ended.code, &*ended.stderr), (Some(code), ""), "{script}");
    }
    for (signal, code) in [("KILL", 137), ("TERM", 143), ("SEGV", 139)] {
        let script = format!("{WRITES_A_PROFILE}\nkill -{signal} $$");
        assert_eq!(run_shell(&[], &script, SMALL).code, Some(code), "{signal}");
    }
}

#[test]
fn a_program_that_cannot_be_started_is_one_line() {
    for (program, code, reason) in [
        (
            "/nowhere/train",
            127,
            "No such file or directory (os error 2)",
        ),
        (
            "no-such-program",
            127,
            "No such file or directory (os error 2)",
        ),
        ("/", 126, "Permission denied (os error 13)"),
    ] {
        assert_eq!(
            ended(gpuprof(&["run", "--", program])),
            Ended {
                code: Some(code),
                stdout: String::new(),
                stderr: format!("gpuprof: {program}: cannot be started: {reason}\n"),
            }
        );
    }
}

/// The settings that the program sees, without the path of the profile that is looked at.
fn settings(options: &[&str], report: Option<&str>) -> String {
    let script = "env | grep ^GPUPROF | sort";
    let mut arguments = vec!["run"];
    arguments.extend(options);
    arguments.extend(["--", "sh", "-c", script]);
    let mut command = gpuprof(&arguments);
    // No libcupti of this machine is to be found.
    command.env("GPUPROF_CUPTI_LIBRARY", "/stated/libcupti.so");
    command.envs(report.map(|report| ("GPUPROF_REPORT", report)));
    let stdout = ended(command).stdout;
    let lines = stdout.lines().map(|line| match line.rsplit_once("json=") {
        Some((before, path)) if path.ends_with("/{pid}.json") && path.contains("/gpuprof-") => {
            format!("{before}json=…\n")
        }
        _ => format!("{line}\n"),
    });
    lines.filter(|line| !line.contains("LIBRARY")).collect()
}

#[test]
fn arguments_are_the_settings_of_the_program() {
    assert_eq!(
        settings(&[], None),
        "GPUPROF_CHECKPOINT=1\nGPUPROF_REPORT=table,json=…\n"
    );
    assert_eq!(
        settings(&[], Some("csv=/a.csv")),
        "GPUPROF_CHECKPOINT=1\nGPUPROF_REPORT=csv=/a.csv,json=…\n"
    );
    assert_eq!(
        settings(&[], Some("none")),
        "GPUPROF_CHECKPOINT=1\nGPUPROF_REPORT=json=…\n"
    );
    assert_eq!(
        settings(
            &[
                "--cupti",
                "--sample",
                "auto:2%",
                "--report",
                "table:full,csv=/a.csv",
                "--report",
                "folded=/{pid}",
                "--trace",
                "/t.json",
            ],
            Some("none")
        ),
        "GPUPROF_CHECKPOINT=1\nGPUPROF_CUPTI=on\n\
         GPUPROF_REPORT=table:full,csv=/a.csv,folded=/{pid},trace=/t.json,json=…\n\
         GPUPROF_SAMPLE=auto:2%\n"
    );
    assert_eq!(
        settings(&["--cupti=full", "--report", "none"], None),
        "GPUPROF_CHECKPOINT=1\nGPUPROF_CUPTI=full\nGPUPROF_REPORT=json=…\n"
    );
    assert_eq!(
        settings(&["--stacks", "--report", "none"], None),
        "GPUPROF_CHECKPOINT=1\nGPUPROF_REPORT=json=…\nGPUPROF_STACKS=on\n"
    );
    for (option, value) in [
        ("--counters", "on"),
        ("--counters=a__b.sum,c__d.pct", "a__b.sum,c__d.pct"),
    ] {
        assert_eq!(
            settings(&[option, "--report", "none"], None),
            format!("GPUPROF_CHECKPOINT=1\nGPUPROF_COUNTERS={value}\nGPUPROF_REPORT=json=…\n")
        );
    }
    assert_eq!(
        settings(&["--memory", "--report", "none"], None),
        "GPUPROF_CHECKPOINT=1\nGPUPROF_MEMORY=on\nGPUPROF_REPORT=json=…\n"
    );
}

#[test]
fn arguments_that_need_cupti_override_that_it_is_off() {
    let cupti = |options: &[&str]| {
        let mut command = gpuprof(&["run"]);
        command.args(options);
        command.args(["--", "sh", "-c", "echo $GPUPROF_CUPTI"]);
        command.env("GPUPROF_CUPTI", "off");
        ended(command).stdout
    };
    for option in ["--counters", "--stacks", "--stalls", "--memory"] {
        assert_eq!(cupti(&[option]), "on\n", "{option}");
    }
    assert_eq!(cupti(&["--profile-from-start", "off"]), "on\n");
    for (option, value) in [("--profile-from-start", "on"), ("--for", "1s")] {
        assert_eq!(cupti(&[option, value]), "off\n", "{option}");
    }
}

#[test]
fn the_part_to_measure_is_a_setting_of_the_program() {
    let of_part = |options: &[&str]| -> Vec<String> {
        let all = settings(options, None);
        let lines = all.lines().filter(|line| {
            ["FROM_START", "DELAY", "FOR"]
                .iter()
                .any(|name| line.contains(name))
        });
        lines.map(str::to_owned).collect()
    };
    let marked = of_part(&["--profile-from-start", "off"]);
    assert_eq!(marked, ["GPUPROF_FROM_START=off"]);
    let timed = of_part(&[
        "--profile-from-start=on",
        "--delay",
        "1m 2s",
        "--for",
        "500ms",
    ]);
    let expected = [
        "GPUPROF_DELAY=1m 2s",
        "GPUPROF_FOR=500ms",
        "GPUPROF_FROM_START=on",
    ];
    assert_eq!(timed, expected);
    for time in ["--delay", "--for"] {
        let options = ["--profile-from-start", "off", time, "1s"];
        let ended = run_shell(&options, "echo started", SMALL);
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""));
        let line = "gpuprof: --profile-from-start off leaves it to the program when it is \
                    measured: --delay and --for cannot be given too\n";
        assert_eq!(ended.stderr, line);
    }
}

#[test]
fn wrong_arguments_are_refused_before_the_program_starts() {
    for options in [
        &["--cupti=yes"][..],
        &["--profile-from-start", "no"],
        &["--delay", "0s"],
        &["--for", "soon"],
        &["--stacks=yes"],
        &["--counters=yes"],
        &["--counters=off"],
        &["--counters=a__1.b,a__2.b,a__3.b,a__4.b,a__5.b,a__6.b,a__7.b,a__8.b,a__9.b"],
        &["--sample", "0"],
        &["--report", "tree"],
        &["--report", "csv="],
        &["--trace", "a,b"],
        &["--trace", ""],
    ] {
        let ended = run_shell(options, "echo started", SMALL);
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{options:?}");
    }
    assert_eq!(ended(gpuprof(&["run"])).code, Some(2));
}

#[test]
fn arguments_of_the_program_are_its_own() {
    let ended = ended(gpuprof(&["run", "echo", "--cupti", "--", "-h", "{pid}"]));
    assert_eq!(ended.stdout, "--cupti -- -h {pid}\n");
}

#[test]
fn a_program_without_a_profile_is_told_and_its_status_kept() {
    // Whether gpuprof's own library is found depends on what was built.
    let mut command = gpuprof(&["run", "--", "sh", "-c", "echo $CUDA_INJECTION64_PATH"]);
    command.env("CUDA_INJECTION64_PATH", "/opt/tool.so");
    assert_eq!(
        ended(command),
        Ended {
            code: Some(0),
            stdout: "/opt/tool.so\n".into(),
            stderr: "gpuprof: sh wrote no profile: it is not built with gpuprof, or no function \
                     with #[gpu_profile] ran; other programs are not measured: \
                     CUDA_INJECTION64_PATH names /opt/tool.so, which is left as it is\n"
                .into(),
        }
    );
    // ncu ends a program into which another library is injected.
    let mut command = gpuprof(&["run", "--", "sh", "-c", "echo $CUDA_INJECTION64_PATH."]);
    command.env("NV_NSIGHT_INJECTION_TRANSPORT_TYPE", "uds");
    let under_ncu = ended(command);
    assert_eq!(under_ncu.stdout, ".\n");
    let end = "other programs are not measured: Nsight Compute measures them\n";
    assert!(under_ncu.stderr.ends_with(end), "{}", under_ncu.stderr);
    // The rest depends on whether this machine has a driver.
    let failed = run_shell(&[], "exit 3", SMALL);
    assert_eq!(failed.code, Some(3));
    let begin = "gpuprof: sh exited with status 3";
    assert!(failed.stderr.starts_with(begin), "{}", failed.stderr);
    assert_eq!(
        run_shell(&[], "kill -TERM $$", SMALL).stderr,
        "gpuprof: sh was ended by signal 15 before it wrote a profile, which it does from its \
         first CUDA calls on; GPUPROF_SIGNALS=on writes it on SIGINT and SIGTERM too\n"
    );
}

#[test]
fn a_process_without_exit_handlers_is_reported_from_its_checkpoint() {
    let checkpoint = SMALL.replace(r#""at_exit": true,"#, r#""pid": 4000000000,"#);
    let script = format!("{WRITES_A_PROFILE}\nkill -KILL $$");
    let killed = run_shell(&[], &script, &checkpoint);
    assert_eq!(killed.code, Some(137));
    let table = &killed.stderr;
    let line = "gpuprof: train, process 4000000000, ended without its exit handlers";
    assert!(
        table.contains("model::step") && table.contains(line),
        "{table}"
    );
    let quiet = run_shell(&["--report", "none"], &script, &checkpoint);
    assert_eq!(quiet.stderr.lines().count(), 1, "{}", quiet.stderr);
    assert!(quiet.stderr.starts_with(line), "{}", quiet.stderr);
    // A server in the background, for example; process 1 always runs.
    let running = checkpoint.replace("4000000000", "1");
    let left = run_shell(&["--report", "none"], WRITES_A_PROFILE, &running);
    assert_eq!(
        left.stderr,
        "gpuprof: train, process 1, still runs: its report comes when it ends\n"
    );
    // An interval of the user's own is kept.
    let mut command = gpuprof(&["run", "--", "sh", "-c", "echo $GPUPROF_CHECKPOINT"]);
    command.env("GPUPROF_CHECKPOINT", "off");
    assert_eq!(ended(command).stdout, "off\n");
}

#[test]
fn the_report_from_a_checkpoint_has_the_order_and_rows_that_the_environment_states() {
    // Functions beside one another: model::step has more GPU time, and train more CPU time.
    let others = (2..42).map(|id| format!(r#", {{"id": {id}, "name": "other", "calls": 1}}"#));
    let checkpoint = SMALL
        .replace(r#""at_exit": true,"#, r#""pid": 4000000000,"#)
        .replace(r#""parent": 0, "#, "")
        .replace(r#", "gpu_nested_ns": 3600000"#, "")
        .replace(
            "\n    ],\n    \"diagnostics",
            &format!("{}], \"diagnostics", others.collect::<String>()),
        );
    let functions = |environment: &[(&str, &str)]| {
        let mut command = gpuprof(&["run", "--", "sh", "-c", WRITES_A_PROFILE]);
        command.env("PROFILE", &checkpoint);
        command.envs(environment.iter().copied());
        let table = ended(command).stderr;
        let starts = table.lines().filter_map(|line| line.split(' ').next());
        let names = starts.filter(|start| ["model::step", "train", "other"].contains(start));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let order = |environment: &[(&str, &str)]| functions(environment)[..2].join(" ");
    assert_eq!(order(&[]), "model::step train");
    assert_eq!(order(&[("GPUPROF_SORT", " cpu")]), "train model::step");
    let rows = |limit| functions(&[("GPUPROF_LIMIT", limit)]).len();
    assert_eq!(
        (rows(""), rows("2"), rows("0"), rows("-1")),
        (30, 2, 42, 30)
    );
}

#[test]
fn records_that_were_asked_for_and_are_missing_are_explained() {
    let note = "kernels are not recorded (GPUPROF_CUPTI): libcupti is not found.";
    let noted = SMALL.replace(
        r#""diagnostics": {"#,
        &format!(r#""diagnostics": {{"notes": ["{note}"], "#),
    );
    for outputs in ["none", "csv=/a.csv"] {
        let options = ["--cupti", "--report", outputs];
        let ended = run_shell(&options, WRITES_A_PROFILE, &noted);
        assert_eq!(
            (ended.code, ended.stderr),
            (Some(0), format!("gpuprof: {note}\n"))
        );
    }
    // The table has the note.
    for options in [
        &["--cupti"][..],
        &["--cupti", "--report", "csv=/a.csv,table:full"],
    ] {
        assert_eq!(run_shell(options, WRITES_A_PROFILE, &noted).stderr, "");
    }
    let recorded = SMALL.replace(r#""wall_ns""#, r#""cupti": {}, "wall_ns""#);
    assert_eq!(
        run_shell(&["--cupti"], WRITES_A_PROFILE, &recorded).stderr,
        ""
    );
    assert_eq!(run_shell(&[], WRITES_A_PROFILE, &noted).stderr, "");
}

#[test]
fn nothing_is_left_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = gpuprof(&["run", "--", "sh", "-c", WRITES_A_PROFILE]);
    command.env("PROFILE", SMALL).env("TMPDIR", folder.path());
    assert_eq!(ended(command).stderr, "");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

#[test]
fn without_a_temporary_folder_the_program_runs_all_the_same() {
    let mut command = gpuprof(&["run", "--", "sh", "-c", "echo \"$GPUPROF_REPORT\"; exit 4"]);
    command.env("TMPDIR", "/nowhere");
    assert_eq!(
        ended(command),
        Ended {
            code: Some(4),
            stdout: "table\n".into(),
            stderr: String::new(),
        }
    );
}
