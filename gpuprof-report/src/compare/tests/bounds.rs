//! What limits a function or a kernel on both sides: a figure of each, and a note if it changed.

use crate::compare::{ComparisonOptions, compare, to_json, to_markdown, to_text};
use crate::profile::{
    CounterMean, CounterValues, Device, DurationStats, Function, KernelStats, Metric, Profile,
    SpanStats,
};

/// A run whose function and kernel have these shares of XU, issue and memory.
fn run(xu: f64, issue: f64, memory: f64) -> Profile {
    let means = [
        (Metric::XuActive, xu),
        (Metric::IssueRate, issue),
        (Metric::DramRead, memory * 1e12),
        (Metric::DramWrite, 0.0),
    ];
    let means = means.map(|(metric, mean)| CounterMean {
        metric,
        mean,
        ..CounterMean::default()
    });
    let counters = CounterValues {
        samples: 100,
        means: means.to_vec(),
        ..CounterValues::default()
    };
    let kernel = KernelStats {
        name: "convolve_kernel".into(),
        times: DurationStats {
            calls: 3,
            total_ns: 3_000,
            ..DurationStats::default()
        },
        counters: Some(Box::new(counters.clone())),
        ..KernelStats::default()
    };
    let mut function = Function {
        name: "convolve".into(),
        calls: 3,
        cpu: SpanStats {
            mean_ns: 1_000,
            ..SpanStats::default()
        },
        ..Function::default()
    };
    function.activity.kernels = vec![kernel.clone()];
    function.activity.counters = Some(Box::new(counters));
    Profile {
        devices: vec![Device {
            peak_bytes_per_s: Some(1_000_000_000_000),
            ..Device::default()
        }],
        functions: vec![function],
        kernels: vec![kernel],
        ..Profile::default()
    }
}

/// The notes about bounds of the comparison, which the function and its kernel have alike.
fn note(old: &[Profile], new: &[Profile]) -> Option<String> {
    let comparison = compare(old, new, &ComparisonOptions::default());
    let mut notes = comparison.items.iter().map(|item| {
        let mut notes = item.notes.iter();
        notes.find(|note| note.starts_with("bound ")).cloned()
    });
    let (first, second) = (notes.next().unwrap(), notes.next().unwrap());
    assert_eq!(first, second);
    assert_eq!(notes.next(), None);
    first
}

fn changed(old: [f64; 3], new: [f64; 3]) -> Option<String> {
    let [old, new] = [old, new].map(|[xu, issue, memory]| run(xu, issue, memory));
    note(&[old], &[new])
}

#[test]
fn another_bound_is_noted_in_every_format() {
    let (old, new) = ([run(0.94, 0.47, 0.03)], [run(0.0, 0.85, 0.24)]);
    assert_eq!(note(&old, &new).unwrap(), "bound XU 94 % → issue 85 %");
    let comparison = compare(&old, &new, &ComparisonOptions::default());
    let text = to_text(&comparison, 10, false);
    assert_eq!(
        text.matches("\n  bound XU 94 % → issue 85 %\n").count(),
        2,
        "{text}"
    );
    let markdown = to_markdown(&comparison);
    assert!(
        markdown.contains("`convolve` CPU<br>bound XU 94 % → issue 85 % |"),
        "{markdown}"
    );
    let json: serde_json::Value = serde_json::from_str(&to_json(&comparison)).unwrap();
    for item in json["items"].as_array().unwrap() {
        let side = |side: &str| {
            (
                item[side]["bound"].clone(),
                item[side]["bound_share"].clone(),
            )
        };
        assert_eq!(side("old"), ("XU".into(), 0.94.into()));
        assert_eq!(side("new"), ("issue".into(), 0.85.into()));
    }
}

#[test]
fn a_share_is_noted_from_five_points_on() {
    assert_eq!(
        changed([0.94, 0.4, 0.1], [0.8, 0.4, 0.1]).unwrap(),
        "bound XU 94 % → XU 80 %"
    );
    assert_eq!(changed([0.94, 0.4, 0.1], [0.9, 0.4, 0.1]), None);
    // Two units that are equally near take turns.
    assert_eq!(changed([0.8, 0.79, 0.1], [0.79, 0.8, 0.1]), None);
    assert_eq!(
        changed([0.8, 0.75, 0.1], [0.8, 0.82, 0.1]).unwrap(),
        "bound XU 80 % → issue 82 %"
    );
}

#[test]
fn latency_is_a_bound_whose_shares_say_nothing() {
    assert_eq!(
        changed([0.1, 0.3, 0.5], [0.1, 0.3, 0.62]).unwrap(),
        "bound latency → memory 62 %"
    );
    assert_eq!(changed([0.1, 0.3, 0.58], [0.1, 0.3, 0.62]), None);
    assert_eq!(changed([0.1, 0.3, 0.1], [0.1, 0.3, 0.5]), None);
    let side = [run(0.1, 0.3, 0.5)];
    let json = to_json(&compare(&side, &side, &ComparisonOptions::default()));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["items"][0]["new"]["bound"], "latency");
    assert_eq!(
        json["items"][0]["new"]["bound_share"],
        serde_json::Value::Null
    );
}

#[test]
fn sides_whose_runs_overlap_have_no_note_and_the_median_is_the_bound() {
    let old = [0.94, 0.92, 0.7].map(|xu| run(xu, 0.4, 0.1));
    let new = [0.75, 0.71, 0.6].map(|xu| run(xu, 0.4, 0.1));
    assert_eq!(note(&old, &new), None);
    assert_eq!(
        note(&old[..2], &new).unwrap(),
        "bound XU 93 % → XU 71 %",
        "by the medians"
    );
}

#[test]
fn nothing_is_said_unless_both_sides_have_a_bound() {
    let sampled = run(0.94, 0.47, 0.03);
    let mut unsampled = run(0.0, 0.85, 0.24);
    unsampled.functions[0].activity.counters = None;
    unsampled.kernels[0].counters = None;
    let mut divided = run(0.0, 0.85, 0.24);
    let of_function = &mut divided.functions[0].activity.counters;
    of_function.as_mut().unwrap().is_divided = true;
    divided.kernels[0].counters.as_mut().unwrap().is_divided = true;
    let mut unknown_peak = run(0.0, 0.85, 0.24);
    unknown_peak.devices.clear();
    for other in [unsampled, divided, unknown_peak] {
        let (sampled, other) = ([sampled.clone()], [other]);
        assert_eq!(note(&sampled, &other), None);
        assert_eq!(note(&other, &sampled), None);
        let comparison = compare(&sampled, &other, &ComparisonOptions::default());
        assert_eq!(comparison.items[0].new.unwrap().bound, None);
    }
}
