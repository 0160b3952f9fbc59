//! The tests with the NVTX recorder: each compares the calls that it recorded with the attribute
//! and with the JSON report.

use std::collections::BTreeMap;

use gpuprof::Profile;
use gpuprof::profile::labelled;
use nvtx_recorder::{Call, Op, PayloadType};
use support::program::{Ended, Folder, Program, read_profile};
use support::tests;

/// Every test of this file.
pub(super) const TESTS: &[(&str, fn())] = tests![
    ranges_are_the_calls_of_the_report,
    names_are_registered_once_in_one_domain,
    async_calls_are_started_and_ended,
    colours_categories_and_payloads_arrive,
    names_that_are_not_ascii_arrive_whole,
    nvtx_alone_measures_nothing,
    off_makes_no_nvtx_call,
    what_the_filter_leaves_out_has_no_range,
    without_a_tool_no_payload_is_computed,
    sessions_share_the_names,
    ranges_are_named_with_their_labels,
];

/// Runs `scenario` under the recorder.
fn recorded(scenario: &str) -> (Profile, Vec<Call>) {
    let folder = Folder::create();
    let path = folder.path("report.json");
    let program = Program::new(scenario).env("GPUPROF_REPORT", format!("json={}", path.display()));
    let (ended, calls) = program.recorded();
    assert!(ended.status.success(), "{ended:#?}");
    (read_profile(&path, &ended), calls)
}

fn recorded_with(variable: &str, value: &str) -> (Ended, Vec<Call>) {
    let (ended, calls) = Program::new("calls").env(variable, value).recorded();
    assert!(ended.status.success(), "{ended:#?}");
    (ended, calls)
}

/// How many calls of `op` there were, by name.
fn count(calls: &[Call], op: Op) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for call in calls.iter().filter(|call| call.op == op) {
        *counts
            .entry(call.name.clone().unwrap_or_default())
            .or_default() += 1;
    }
    counts
}

/// How many calls each chain of callers had, from the pushes and pops of each thread.
fn tree_of(calls: &[Call]) -> BTreeMap<Vec<String>, u64> {
    let mut open: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut tree = BTreeMap::new();
    for call in calls {
        let stack = open.entry(call.thread).or_default();
        match call.op {
            Op::Push => {
                assert_eq!(call.level, i32::try_from(stack.len()).ok(), "{call:?}");
                stack.push(call.name.clone().expect("a range has a name"));
                *tree.entry(stack.clone()).or_default() += 1;
            }
            Op::Pop => {
                assert!(stack.pop().is_some(), "a pop without a push: {call:?}");
                assert_eq!(call.level, i32::try_from(stack.len()).ok(), "{call:?}");
            }
            _ => {}
        }
    }
    assert!(
        open.values().all(Vec::is_empty),
        "ranges that never ended: {open:?}"
    );
    tree
}

fn tree_of_report(profile: &Profile) -> BTreeMap<Vec<String>, u64> {
    let mut paths: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let mut tree = BTreeMap::new();
    for node in &profile.tree {
        let mut path = node
            .parent
            .map(|parent| paths[&parent].clone())
            .unwrap_or_default();
        path.push(match &node.label {
            Some(label) => labelled(&node.name, label),
            None => node.name.clone(),
        });
        paths.insert(node.id, path.clone());
        *tree.entry(path).or_default() += node.calls;
    }
    tree
}

fn counts_of_report(profile: &Profile) -> BTreeMap<String, u64> {
    let ran = profile
        .functions
        .iter()
        .filter(|function| function.calls > 0);
    ran.map(|function| (function.name.clone(), function.calls))
        .collect()
}

fn ranges_are_the_calls_of_the_report() {
    let (profile, calls) = recorded("calls");
    assert_eq!(count(&calls, Op::Push), counts_of_report(&profile));
    assert_eq!(tree_of(&calls), tree_of_report(&profile));
    assert!(
        profile.tree.len() > 10
            && profile
                .functions
                .iter()
                .any(|f| f.name == "the rest" && f.calls == 4)
    );
}

fn ranges_are_named_with_their_labels() {
    let (profile, calls) = recorded("labels");
    let named = |counts: &[(&str, u64)]| -> BTreeMap<_, _> {
        let counts = counts.iter();
        counts
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    };
    let pushed = [
        ("block[0]", 2),
        ("block[1]", 1),
        ("half[a]", 2),
        ("half[b]", 1),
        ("inner", 3),
    ];
    assert_eq!(count(&calls, Op::Push), named(&pushed));
    assert_eq!(count(&calls, Op::Start), named(&[("request[long]", 1)]));
    let mut in_report = tree_of_report(&profile);
    in_report.remove(&vec!["request[long]".to_owned()]);
    assert_eq!(tree_of(&calls), in_report);
    assert_eq!(push(&calls, "block[1]").color, Some(0xff76_b900));
    let registered = count(&calls, Op::RegisterString);
    assert!(
        registered.values().all(|times| *times == 1),
        "{registered:?}"
    );
}

fn names_are_registered_once_in_one_domain() {
    let (profile, calls) = recorded("calls");
    assert_eq!(
        count(&calls, Op::DomainCreate),
        BTreeMap::from([("gpuprof".to_owned(), 1)])
    );
    let elsewhere: Vec<_> = calls
        .iter()
        .filter(|call| call.domain.as_deref() != Some("gpuprof"))
        .collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    assert!(
        calls
            .iter()
            .all(|call| call.op != Op::Push || call.registered)
    );
    let once = counts_of_report(&profile)
        .into_keys()
        .map(|name| (name, 1))
        .collect();
    assert_eq!(count(&calls, Op::RegisterString), once);
}

fn async_calls_are_started_and_ended() {
    let (profile, calls) = recorded("async");
    assert_eq!(
        count(&calls, Op::Start),
        BTreeMap::from([("waits".to_owned(), 2)])
    );
    assert_eq!(
        count(&calls, Op::Push),
        BTreeMap::from([("inner".to_owned(), 2)])
    );
    tree_of(&calls);
    let of = |op| calls.iter().filter(move |call| call.op == op);
    let ids = |op| of(op).map(|call| call.id).collect::<Vec<_>>();
    assert_eq!(
        ids(Op::End),
        ids(Op::Start),
        "each range ends once, here in the order of the starts"
    );
    let threads = |op| of(op).map(|call| call.thread).collect::<Vec<_>>();
    let (started, ended) = (threads(Op::Start), threads(Op::End));
    assert!(
        started[0] != ended[0] && started[1] == ended[1],
        "{started:?} {ended:?}"
    );
    assert_eq!(
        of(Op::Start)
            .map(|call| (call.color, call.registered))
            .next(),
        Some((Some(0xff00_00ff), true))
    );
    assert_eq!(counts_of_report(&profile)["waits"], 2);
}

fn push<'a>(calls: &'a [Call], name: &str) -> &'a Call {
    let mut pushes = calls
        .iter()
        .filter(|call| call.op == Op::Push && call.name.as_deref() == Some(name));
    let (Some(push), None) = (pushes.next(), pushes.next()) else {
        panic!("{name}: {calls:#?}")
    };
    push
}

fn colours_categories_and_payloads_arrive() {
    let (_, calls) = recorded("attributes");
    let payload = |name| {
        let push = push(&calls, name);
        (
            push.payload_type,
            push.payload
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
        )
    };
    let single = f64::from(0.1_f32).to_string();
    for (name, kind, value) in [
        ("green", PayloadType::U64, "18446744073709551615"),
        ("forward", PayloadType::I64, "-9223372036854775808"),
        ("backward", PayloadType::I32, "-1"),
        ("double", PayloadType::F64, "0.1"),
        ("single", PayloadType::F32, &single),
        ("truth", PayloadType::U32, "1"),
        ("length", PayloadType::U64, "4"),
    ] {
        assert_eq!(payload(name), (Some(kind), value.to_owned()), "{name}");
    }
    assert_eq!(payload("畳み込み/naïve 🙂"), (None, String::new()));

    // NVTX colours are ARGB, so an opaque alpha is added; a function without a colour has none.
    assert_eq!(
        (push(&calls, "green").color, push(&calls, "forward").color),
        (Some(0xff76_b900), None)
    );

    let named: BTreeMap<_, _> = calls
        .iter()
        .filter(|call| call.op == Op::NameCategory)
        .map(|call| (call.category, call.name.as_deref()))
        .collect();
    assert_eq!(
        count(&calls, Op::NameCategory)
            .into_values()
            .collect::<Vec<_>>(),
        [1, 1]
    );
    let category = |name| named.get(&push(&calls, name).category).copied().flatten();
    assert_eq!(
        ["green", "forward", "backward"].map(category),
        [Some("forward"), Some("forward"), Some("вперёд")]
    );
    assert_eq!(push(&calls, "double").category, None);
}

/// NUL, which NVTX could not carry, is refused by the compiler: see tests/suite/ui.
fn names_that_are_not_ascii_arrive_whole() {
    let (profile, calls) = recorded("attributes");
    assert!(push(&calls, "畳み込み/naïve 🙂").registered);
    assert_eq!(count(&calls, Op::Push), counts_of_report(&profile));
}

fn nvtx_alone_measures_nothing() {
    let (_, measured) = recorded("calls");
    let (ended, calls) = recorded_with("GPUPROF", "nvtx");
    assert_eq!(tree_of(&calls), tree_of(&measured));
    assert_eq!(
        ended
            .stderr
            .lines()
            .filter(|line| line.contains("gpuprof"))
            .count(),
        0,
        "{}",
        ended.stderr
    );
}

fn off_makes_no_nvtx_call() {
    let (ended, calls) = recorded_with("GPUPROF", "off");
    assert_eq!(calls, []);
    assert_eq!(ended.stdout, b"computed 0\n");
}

fn what_the_filter_leaves_out_has_no_range() {
    let (ended, calls) = recorded_with("GPUPROF_FILTER", "^(outer|recursive)$");
    let names: Vec<_> = count(&calls, Op::Push).into_keys().collect();
    assert_eq!(names, ["outer", "recursive"]);
    assert_eq!(
        count(&calls, Op::RegisterString)
            .into_keys()
            .collect::<Vec<_>>(),
        names
    );
    assert_eq!(
        tree_of(&calls)[&vec!["outer".to_owned(), "recursive".to_owned()]],
        4
    );
    assert_eq!(ended.stdout, b"computed 0\n");
}

fn without_a_tool_no_payload_is_computed() {
    let (ended, calls) = recorded_with("GPUPROF_REPORT", "none");
    assert_eq!(
        (ended.stdout.as_slice(), count(&calls, Op::Push)["counted"]),
        (b"computed 3\n".as_slice(), 3)
    );
    let (ended, profile) = Program::new("calls").profiled();
    assert_eq!(
        (ended.status.code(), ended.stdout.as_slice()),
        (Some(0), b"computed 0\n".as_slice())
    );
    assert_eq!(counts_of_report(&profile)["counted"], 3);
    // A missing tool must not fail the program either.
    let ended = Program::new("calls")
        .env("NVTX_INJECTION64_PATH", "/nonexistent/tool.so")
        .run();
    assert_eq!(
        (ended.status.code(), ended.stdout.as_slice()),
        (Some(0), b"computed 0\n".as_slice())
    );
}

fn sessions_share_the_names() {
    let (ended, calls) = Program::new("sessions").recorded();
    assert!(ended.status.success(), "{ended:#?}");
    let counts = |op| count(&calls, op).into_iter().collect::<Vec<_>>();
    assert_eq!(
        counts(Op::Push),
        [("inner".to_owned(), 2), ("outer".to_owned(), 1)]
    );
    assert_eq!(
        counts(Op::RegisterString),
        [("inner".to_owned(), 1), ("outer".to_owned(), 1)]
    );
}
