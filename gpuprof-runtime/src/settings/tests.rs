//! Reading each setting, and the message for a value that is not understood.

use super::{CuptiMode, Mode, Output, Sampling, from_env};
use gpuprof_report::setting_values::Sort;
use gpuprof_report::variables::VARIABLES;
use std::num::NonZeroU32;
use std::time::Duration;

fn read(pairs: &[(&str, &str)]) -> (super::Settings, Vec<String>) {
    from_env(
        pairs
            .iter()
            .map(|(name, value)| (name.into(), value.into())),
    )
}

#[test]
fn every_setting_is_read() {
    let (settings, problems) = read(&[
        ("GPUPROF", "on"),
        (
            "GPUPROF_REPORT",
            "table, table:full,json=/tmp/{pid}.json,folded:cpu=/tmp/cpu",
        ),
        ("GPUPROF_SORT", "calls"),
        ("GPUPROF_LIMIT", "0"),
        ("GPUPROF_FILTER", "^conv"),
        ("GPUPROF_SAMPLE", "10"),
        ("GPUPROF_EXIT_WAIT", "250ms"),
        ("GPUPROF_SIGNALS", "on"),
        ("GPUPROF_CHECKPOINT", "1.5"),
        ("GPUPROF_CUPTI", "full"),
        ("GPUPROF_CUPTI_LIBRARY", "/opt/libcupti.so.13"),
        ("GPUPROF_META", "commit=1f2e3d4,args=--sizes 1,2"),
        ("GPUPROF_SIM_KERNEL_NS", "5"),
        ("PATH", "/bin"),
    ]);
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(settings.mode, Mode::On);
    assert_eq!(
        settings.outputs,
        [
            Output::Table,
            Output::FullTable,
            Output::Json("/tmp/{pid}.json".into()),
            Output::FoldedCpu("/tmp/cpu".into()),
        ]
    );
    assert_eq!(
        (settings.sort, settings.limit, settings.sampling()),
        (
            Sort::Calls,
            None,
            Sampling::OneIn(NonZeroU32::new(10).unwrap())
        )
    );
    assert_eq!(settings.exit_wait, Duration::from_millis(250));
    assert!(settings.signals);
    assert_eq!(settings.cupti, Some(CuptiMode::Full));
    assert_eq!(settings.checkpoint, Some(Duration::from_millis(1_500)));
    assert!(settings.measures("conv::forward") && !settings.measures("deconv"));
}

#[test]
fn without_a_setting_one_percent_of_the_time_is_spent() {
    let sample = |variables: &[(&str, &str)]| {
        let (settings, problems) = read(variables);
        assert_eq!(problems, Vec::<String>::new());
        settings.sampling()
    };
    assert_eq!(sample(&[]), Sampling::parse("auto:1%").unwrap());
    assert_eq!(sample(&[("GPUPROF_CUPTI", "on")]), Sampling::AUTO);
    assert_eq!(sample(&[("GPUPROF_SAMPLE", "1")]), Sampling::EveryCall);
    let tenth = Sampling::parse("auto:0.1%").unwrap();
    assert_eq!(sample(&[("GPUPROF_SAMPLE", "auto:0.1%")]), tenth);
    let trace = ("GPUPROF_REPORT", "trace=/tmp/t.json");
    assert_eq!(sample(&[trace]), Sampling::EveryCall);
    assert_eq!(sample(&[trace, ("GPUPROF_SAMPLE", "auto:0.1%")]), tenth);
    assert_eq!(sample(&[trace, ("GPUPROF", "off")]), Sampling::AUTO);
}

#[test]
fn a_wrong_value_is_one_line_that_says_what_is_accepted_and_leaves_the_default() {
    for (name, value, accepted) in [
        ("GPUPROF", "yes", "on, standby, nvtx or off"),
        (
            "GPUPROF_REPORT",
            "tabel,tree",
            "comma list of table, table:full, json=PATH, csv=PATH",
        ),
        ("GPUPROF_REPORT", "json=", "json=PATH"),
        ("GPUPROF_SORT", "gpus", "gpu, cpu, calls, max or name"),
        ("GPUPROF_LIMIT", "-1", "number of rows"),
        ("GPUPROF_FILTER", "(", "regular expression"),
        ("GPUPROF_SAMPLE", "0", "whole number N from 1"),
        ("GPUPROF_SAMPLE", "auto:1", "auto:P%"),
        ("GPUPROF_EXIT_WAIT", "soon", "500ms or 2s"),
        ("GPUPROF_SIGNALS", "SIGINT", "off or on"),
        ("GPUPROF_FROM_START", "never", "it takes on or off"),
        ("GPUPROF_DELAY", "10", "a duration such as 500ms or 2s"),
        ("GPUPROF_FOR", "0s", "a duration such as 500ms or 2s"),
        ("GPUPROF_CUPTI", "yes", "it takes off, on or full"),
        (
            "GPUPROF_COUNTERS",
            "yes",
            "off, on, or a comma list of at most 8 metrics of CUPTI",
        ),
        (
            "GPUPROF_COUNTERS",
            "a__b.sum,yes",
            "(\"yes\" is not the name of a metric)",
        ),
        (
            "GPUPROF_COUNTERS",
            "a__1.sum,a__2.sum,a__3.sum,a__4.sum,a__5.sum,a__6.sum,a__7.sum,a__8.sum,a__9.sum",
            "such as lts__t_sectors.sum (9 metrics are listed); using the default",
        ),
        ("GPUPROF_CHECKPOINT", "0", "number of seconds from 0.01"),
        ("GPUPROF_CHECKPOINT", "inf", "number of seconds from 0.01"),
        ("GPUPROF_META", "1f2e3d4", "KEY=VALUE,KEY=VALUE"),
        ("GPUPROF_METRICS", "listen=", "listen=ADDRESS"),
        ("GPUPROF_SAMPEL", "4", "did you mean GPUPROF_SAMPLE?"),
        (
            "GPUPROF_XYZ",
            "4",
            "unknown setting GPUPROF_XYZ; the settings are GPUPROF, and",
        ),
    ] {
        let (settings, problems) = read(&[(name, value)]);
        assert_eq!(problems.len(), 1, "{name}={value}");
        assert!(
            problems[0].contains(accepted) && !problems[0].contains('\n'),
            "{}",
            problems[0]
        );
        assert_eq!(
            format!("{settings:?}"),
            format!("{:?}", super::Settings::default())
        );
    }
}

#[test]
fn one_unknown_output_leaves_the_others() {
    let (settings, problems) = read(&[("GPUPROF_REPORT", "csv=/a.csv, tabel,folded=/b,jso=/c")]);
    let outputs = [Output::Csv("/a.csv".into()), Output::Folded("/b".into())];
    assert_eq!(settings.outputs, outputs);
    let [problem] = &problems[..] else {
        panic!("{problems:?}");
    };
    let (begin, end) = (
        "GPUPROF_REPORT=\"tabel,jso=/c\" is not understood",
        "; using the others",
    );
    assert!(
        problem.starts_with(begin) && problem.ends_with(end),
        "{problem}"
    );
}

#[test]
fn none_beside_other_outputs_has_no_effect() {
    let (settings, problems) = read(&[("GPUPROF_REPORT", "none, table")]);
    assert_eq!(settings.outputs, [Output::Table]);
    let expected = "GPUPROF_REPORT=\"none, table\": none stands alone, and has no effect beside \
                    other outputs";
    assert_eq!(problems, [expected]);
}

#[test]
fn an_unknown_placeholder_is_named_and_the_path_used_as_written() {
    let (settings, problems) = read(&[
        (
            "GPUPROF_REPORT",
            "table,json=/tmp/{pdi}.json,csv=/{exe}{Rank}{pid}{}{.csv",
        ),
        (
            "GPUPROF_METRICS",
            "listen=9464+{rank},prometheus=/{foo}/{pid}.prom",
        ),
    ]);
    let csv = Output::Csv("/{exe}{Rank}{pid}{}{.csv".into());
    let outputs = [Output::Table, Output::Json("/tmp/{pdi}.json".into()), csv];
    assert_eq!(settings.outputs, outputs);
    let problems = problems
        .iter()
        .filter(|problem| !problem.contains("feature metrics"));
    let expected = [
        "unknown placeholder {pdi} in \"/tmp/{pdi}.json\", which is used as written; known are \
         {pid}, {exe}, {rank}",
        "unknown placeholder {Rank} in \"/{exe}{Rank}{pid}{}{.csv\", which is used as written; \
         known are {rank}, {pid}, {exe}",
        "unknown placeholder {foo} in \"/{foo}/{pid}.prom\", which is used as written; known are \
         {pid}, {exe}, {rank}",
    ];
    assert_eq!(problems.collect::<Vec<_>>(), expected);
}

#[test]
fn a_checkpoint_may_be_a_duration_and_a_path_counts_from_here() {
    let (settings, _) = read(&[
        ("GPUPROF_CHECKPOINT", "200ms"),
        ("GPUPROF_REPORT", "json=reports/{pid}.json"),
    ]);
    assert_eq!(settings.checkpoint, Some(Duration::from_millis(200)));
    let here = std::env::current_dir().expect("a folder");
    let path = here.join("reports/{pid}.json");
    assert_eq!(settings.outputs, [Output::Json(path)]);
}

#[test]
fn cupti_is_on_in_every_feature_set() {
    let (settings, problems) = read(&[("GPUPROF_CUPTI", "on")]);
    assert_eq!((settings.cupti, problems), (Some(CuptiMode::On), vec![]));
}

#[test]
fn the_programs_marks_win_over_times() {
    let bounds = |variables: &[(&str, &str)]| {
        let (settings, problems) = read(variables);
        let bounds = (settings.from_start, settings.delay, settings.length);
        (bounds, problems.len())
    };
    let (delay, length) = (("GPUPROF_DELAY", "1s"), ("GPUPROF_FOR", "2s"));
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let on = ("GPUPROF_FROM_START", "on");
    assert_eq!(
        bounds(&[length, on, delay]),
        ((true, seconds(1), seconds(2)), 0)
    );
    for times in [vec![delay], vec![length], vec![delay, length]] {
        for at in 0..=times.len() {
            let mut variables = times.clone();
            variables.insert(at, ("GPUPROF_FROM_START", "off"));
            assert_eq!(
                bounds(&variables),
                ((false, None, None), 1),
                "{variables:?}"
            );
        }
    }
}

#[test]
fn metrics_without_their_feature_are_one_line() {
    let (settings, problems) = read(&[("GPUPROF_METRICS", "listen=9464")]);
    assert_eq!(settings.metrics.listen.as_deref(), Some("9464"));
    let expected: &[&str] = if cfg!(feature = "metrics") {
        &[]
    } else {
        &["GPUPROF_METRICS has no effect: gpuprof is built without its feature metrics"]
    };
    assert_eq!(problems, expected);
}

#[test]
fn a_hostile_value_stays_one_short_line() {
    let (_, problems) = read(&[(
        "GPUPROF_SORT",
        &format!("\x1b[31m\n{}", "x".repeat(1 << 20)),
    )]);
    assert!(problems[0].len() < 300 && !problems[0].contains(['\n', '\x1b']));
    let (_, problems) = read(&[(&format!("GPUPROF_\x1b[31m\n{}", "x".repeat(1 << 20)), "on")]);
    assert!(problems[0].len() < 400 && !problems[0].contains(['\n', '\x1b']));
}

#[test]
fn the_documented_defaults_are_the_defaults() {
    for variable in VARIABLES {
        // Others say in words what applies without a value.
        if let "on" | "table" | "gpu" | "30" | "2s" | "off" = variable.default {
            let (mut settings, problems) = read(&[(variable.name, variable.default)]);
            // Stated, it is off even if counters are asked for.
            settings.cupti = settings.cupti.filter(|mode| *mode != CuptiMode::Off);
            assert_eq!(problems, Vec::<String>::new(), "{}", variable.name);
            assert_eq!(
                format!("{settings:?}"),
                format!("{:?}", super::Settings::default()),
                "{}",
                variable.name
            );
        }
    }
}

#[test]
fn what_needs_records_switches_them_on_unless_they_are_stated_off() {
    let asks = |variables: &[(&str, &str)]| read(variables).0.asks_for_cupti();
    for name in ["GPUPROF_COUNTERS", "GPUPROF_STACKS", "GPUPROF_MEMORY"] {
        assert!(asks(&[(name, "on")]), "{name}");
    }
    assert!(asks(&[("GPUPROF_FROM_START", "off")]));
    assert!(!asks(&[
        ("GPUPROF_COUNTERS", "on"),
        ("GPUPROF_CUPTI", "off")
    ]));
    assert!(!asks(&[]));
}
