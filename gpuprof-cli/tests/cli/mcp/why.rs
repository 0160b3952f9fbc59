//! Why a function or kernel is slow.

use gpuprof_report::json;
use gpuprof_report::profile::{
    CounterMean, CounterValues, DeviceCounters, Finding, Metric, Profile,
};
use serde_json::{Value, json};

use super::{Agent, digits, file, parsed};
use crate::SMALL;

pub(super) const WITHOUT_COUNTERS: &str = "the program ran without hardware counters, which say \
    what limits a kernel: run it with gpuprof run --counters, or with GPUPROF_COUNTERS=on";
pub(super) const WITHOUT_STALLS: &str = "for what its warps wait, and at which lines, is not \
    sampled: run it with gpuprof run --stalls, or with GPUPROF_STALLS=on, and without counters";

/// Shares of XU, L1 and issue; the memory has a quarter of the bandwidth of the recorded H200.
fn counters(samples: u64, shares: [f64; 3]) -> Option<Box<CounterValues>> {
    let [xu, l1, issue] = shares;
    let means = [
        (Metric::XuActive, xu),
        (Metric::L1Throughput, l1),
        (Metric::IssueRate, issue),
        (Metric::DramRead, 4_814_304_000_000.0 / 4.0),
        (Metric::DramWrite, 0.0),
    ];
    let mut values = CounterValues::default();
    (values.samples, values.sampled_ns) = (samples, samples * 1_000);
    values.means = means
        .into_iter()
        .map(|(metric, mean)| {
            let mut of = CounterMean::default();
            (of.metric, of.mean) = (metric, mean);
            of
        })
        .collect();
    Some(Box::new(values))
}

/// The recorded profile with counters of the kernel `matmul_tiled` and of `gpu::Gpu::transpose`,
/// and two findings about kernels.
pub(super) fn sampled() -> Profile {
    let (_, mut profile) = digits();
    let mut device = DeviceCounters::default();
    device.samples = 500;
    profile.counters = vec![device];
    profile.kernels[0].counters = counters(321, [0.938_04, 0.7223, 0.468]);
    let transpose = "gpu::Gpu::transpose";
    let mut functions = profile.functions.iter_mut();
    let function = functions.find(|function| function.name == transpose);
    let activity = &mut function.expect("it is recorded").activity;
    activity.counters = counters(40, [0.1, 0.2, 0.3]);
    activity.counters.as_mut().expect("counters").is_divided = true;
    for evidence in ["21 %: matmul_tiled uses", "2 %: matmul_tiled_2 uses"] {
        let mut finding = Finding::default();
        finding.evidence = format!("{evidence} double precision");
        profile.findings.push(finding);
    }
    profile
}

/// The answers about a name in this profile.
fn why(profile: &Profile, name: &str) -> Result<Vec<Value>, String> {
    let (_folder, path) = file(&json::to_string(profile));
    let mut agent = Agent::of(&path);
    let answer = agent.call("why", json!({"name": name}));
    agent.end();
    let answer = parsed(&answer?);
    assert_eq!(answer["wall_ns"], profile.wall_ns);
    Ok(answer["answers"].as_array().expect("a list").clone())
}

/// The only answer.
pub(super) fn the(profile: &Profile, name: &str) -> Value {
    let mut answers = why(profile, name).expect("an answer");
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers.remove(0)
}

#[test]
fn a_kernel_has_its_limit_with_the_nearest_peaks_first() {
    let profile = sampled();
    let finding = serde_json::to_value(&profile.findings[6]).expect("JSON");
    assert_eq!(
        the(&profile, "matmul_tiled"),
        json!({
            "kernel": "matmul_tiled",
            "device": 0,
            "gpu_ns": 5_694_527,
            "gpu_share": 0.2112,
            "bound": "XU",
            "peak_shares": [
                {"unit": "XU", "share": 0.938},
                {"unit": "L1/shared", "share": 0.7223},
                {"unit": "issue", "share": 0.468},
                {"unit": "memory", "share": 0.25},
            ],
            "samples": 321,
            "sampled_ns": 321_000,
            "is_divided": false,
            "findings": [finding],
            "know_more": [WITHOUT_STALLS],
        })
    );
}

#[test]
fn a_kernel_that_no_unit_limits_has_its_occupancy() {
    let mut profile = sampled();
    let occupancies = |profile: &Profile, name: &str| {
        let answer = the(profile, name);
        ["bound", "achieved_occupancy", "theoretical_occupancy"].map(|key| answer[key].clone())
    };
    let limited = occupancies(&profile, "matmul_tiled");
    assert_eq!(limited, [json!("XU"), Value::Null, Value::Null]);
    profile.kernels[0].counters = counters(321, [0.1, 0.2, 0.3]);
    profile.kernels[0].occupancy = Some(0.625);
    let theoretical = occupancies(&profile, "matmul_tiled");
    assert_eq!(theoretical, [json!("latency"), Value::Null, json!(0.625)]);
    let warps = CounterMean::new(Metric::WarpsActive, 0.314_15, 0.01);
    let values = profile.kernels[0].counters.as_mut().expect("counters");
    values.means.push(warps);
    let achieved = occupancies(&profile, "matmul_tiled");
    assert_eq!(achieved, [json!("latency"), json!(0.3142), Value::Null]);
    let functions = profile.functions.iter_mut();
    let sampled = functions.filter_map(|function| function.activity.counters.as_mut());
    sampled.for_each(|values| values.means.push(warps));
    let of_function = occupancies(&profile, "Gpu::transp");
    assert_eq!(of_function, [json!("latency"), json!(0.3142), Value::Null]);
}

#[test]
fn a_function_has_its_kernels_and_findings_too() {
    let answer = the(&sampled(), "Gpu::transp");
    for (field, expected) in [
        ("function", json!("gpu::Gpu::transpose")),
        ("gpu_ns", json!(4_188_670)),
        ("gpu_share", json!(0.1554)),
        (
            "kernels",
            json!([{"name": "transpose", "total_ns": 2_273_952}]),
        ),
        ("nested_functions", json!([])),
        ("bound", json!("latency")),
        ("samples", json!(40)),
        ("is_divided", json!(true)),
        ("know_more", json!([WITHOUT_STALLS])),
    ] {
        assert_eq!(answer[field], expected, "{field}");
    }
    let findings = answer["findings"].as_array().expect("a list");
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0]["function"], "gpu::Gpu::transpose");
}

#[test]
fn without_a_limit_it_says_how_to_know_more() {
    let know_more = |profile: &Profile, name: &str| {
        let answer = the(profile, name);
        assert_eq!(answer["bound"], Value::Null);
        assert_eq!(answer["peak_shares"], json!([]));
        answer["know_more"].clone()
    };
    let (_, without) = digits();
    let off = json!([WITHOUT_COUNTERS, WITHOUT_STALLS]);
    assert_eq!(know_more(&without, "matmul_tiled"), off);
    let small = json::from_str(SMALL).expect("a profile");
    assert_eq!(know_more(&small, "model::step"), off);
    // What nested functions launch is theirs.
    assert_eq!(
        know_more(&sampled(), "train"),
        json!(["it launches no kernel itself: ask for a nested function"])
    );
    assert_eq!(
        know_more(&sampled(), "sgd"),
        json!([
            "hardware counters have 0 samples of it, of the 10 that a value needs: run it longer",
            WITHOUT_STALLS
        ])
    );
    let mut few = sampled();
    few.kernels[0].counters = counters(9, [0.9, 0.5, 0.5]);
    few.kernels[0].counters.as_mut().expect("counters").means = Vec::new();
    assert_eq!(
        know_more(&few, "matmul_tiled"),
        json!([
            "hardware counters have 9 samples of it, of the 10 that a value needs: run it longer",
            WITHOUT_STALLS
        ])
    );
    let mut unknown_peak = sampled();
    unknown_peak.devices[0].peak_bytes_per_s = None;
    assert_eq!(
        know_more(&unknown_peak, "matmul_tiled"),
        json!([
            "the memory bandwidth or the issue rate of the device is unknown",
            WITHOUT_STALLS
        ])
    );
    let mut refused = without;
    let note = "hardware counters are not sampled (GPUPROF_COUNTERS): no permission";
    refused.diagnostics.notes.push(note.into());
    assert_eq!(
        know_more(&refused, "matmul_tiled"),
        json!([note, WITHOUT_STALLS])
    );
}

#[test]
fn a_name_that_is_unknown_or_of_several_is_answered_with_names() {
    let profile = sampled();
    let wrong = |name: &str| why(&profile, name).expect_err("it says no one");
    let unknown = wrong("matmul_tilde");
    let expected = "matmul_tilde: no function or kernel has this name; did you mean matmul_tiled? \
                    There are: train, step, ";
    assert!(unknown.starts_with(expected), "{unknown}");
    let far = wrong("zzz");
    let expected = "zzz: no function or kernel has this name; there are: train, step, ";
    assert!(far.starts_with(expected), "{far}");
    assert_eq!(
        wrong("relu"),
        "relu: 3 functions and kernels have this in their name: gpu::Gpu::relu_backward, \
         bias_relu, relu_backward"
    );
}

#[test]
fn a_function_and_a_kernel_of_one_name_are_both_answered() {
    let mut profile = sampled();
    let mut functions = profile.functions.iter_mut();
    let product = functions.find(|function| function.name == "gpu::Gpu::product");
    product.expect("it is recorded").name = "matmul_tiled".into();
    let answers = why(&profile, "matmul_tiled").expect("answers");
    let of = |key: &str| -> Vec<Value> { answers.iter().map(|of| of[key].clone()).collect() };
    assert_eq!(of("function"), [json!("matmul_tiled"), Value::Null]);
    assert_eq!(of("kernel"), [Value::Null, json!("matmul_tiled")]);
    // A part that both have is of one name.
    assert_eq!(why(&profile, "matmul_t").expect("answers"), answers);
}
