//! For what the warps of a kernel waited, and where, in the answers of `why`.

use gpuprof_report::profile::{
    DoubleLine, KernelStalls, Profile, StallLine, StallReasonSamples, Stalls,
};
use serde_json::{Value, json};

use super::digits;
use super::why::{WITHOUT_COUNTERS, WITHOUT_STALLS, sampled, the};

fn reasons(of: &[(&str, u64)]) -> Vec<StallReasonSamples> {
    let of = of.iter().map(|(reason, samples)| {
        let mut of = StallReasonSamples::default();
        (of.reason, of.samples) = ((*reason).to_owned(), *samples);
        of
    });
    of.collect()
}

fn line(number: u32, samples: u64, of: &[(&str, u64)]) -> StallLine {
    let mut line = StallLine::default();
    (line.file, line.line) = ("/src/digits.cu".into(), number);
    (line.samples, line.reasons) = (samples, reasons(of));
    line
}

fn double_line(kernel: &str, number: u32, instructions: u32) -> DoubleLine {
    let mut line = DoubleLine::default();
    (line.kernel, line.file) = (kernel.into(), "/src/digits.cu".into());
    (line.line, line.instructions) = (number, instructions);
    line.names = vec!["DFMA".into()];
    line
}

/// Samples of two kernels, the first with nine lines of which seven have few samples.
fn with_stalls(mut profile: Profile) -> Profile {
    let mut tiled = KernelStalls::default();
    (tiled.name, tiled.samples) = ("matmul_tiled".into(), 1_000);
    tiled.samples_without_line = 50;
    tiled.reasons = reasons(&[
        ("long_scoreboard", 600),
        ("selected", 150),
        ("barrier", 100),
        ("not_selected", 50),
        ("wait", 40),
        ("of_a_newer_chip", 30),
        ("drain", 20),
        ("misc", 10),
    ]);
    tiled.lines = vec![
        line(41, 580, &[("long_scoreboard", 550), ("selected", 30)]),
        line(47, 120, &[("selected", 80), ("barrier", 40)]),
    ];
    tiled
        .lines
        .extend((50..57).map(|number| line(number, 30, &[])));
    let mut transpose = KernelStalls::default();
    (transpose.name, transpose.samples) = ("transpose".into(), 99);
    transpose.reasons = reasons(&[("drain", 99)]);
    let mut stalls = Stalls::default();
    stalls.samples = 1_099;
    stalls.kernels = vec![tiled, transpose];
    profile.stalls = Some(stalls);
    profile.double_lines = vec![
        double_line("matmul_tiled", 12, 1),
        double_line("transpose", 30, 9),
        double_line("matmul_tiled", 47, 3),
    ];
    profile
}

fn field(answer: &Value, list: &str, field: &str) -> Vec<Value> {
    let list = answer[list].as_array().expect("a list");
    list.iter().map(|of| of[field].clone()).collect()
}

#[test]
fn a_kernel_has_its_waits_and_the_hottest_lines() {
    let (_, profile) = digits();
    let answer = the(&with_stalls(profile), "matmul_tiled");
    let stalls = &answer["stalls"];
    assert_eq!(stalls["samples"], 1_000);
    assert_eq!(stalls["ready_share"], 0.2);
    assert_eq!(stalls["without_line_share"], 0.05);
    assert_eq!(
        stalls["waits"][0],
        json!({
            "reason": "long_scoreboard",
            "words": "for global or local memory",
            "share": 0.6,
            "helps": "keep more loads in flight: more warps, several loads per thread before \
                      their use",
        })
    );
    assert_eq!(
        field(stalls, "waits", "reason"),
        [
            "long_scoreboard",
            "barrier",
            "wait",
            "of_a_newer_chip",
            "drain"
        ]
    );
    assert_eq!(
        stalls["lines"][0],
        json!({
            "file": "/src/digits.cu",
            "line": 41,
            "share": 0.58,
            "reason": "long_scoreboard",
            "words": "for global or local memory",
        })
    );
    assert_eq!(
        field(stalls, "lines", "line"),
        [41, 47, 50, 51, 52, 53, 54, 55]
    );
    // What is known by now is not asked for.
    assert_eq!(answer["know_more"], json!([WITHOUT_COUNTERS]));
}

#[test]
fn a_kernel_has_its_lines_of_double_precision() {
    let lines = |number: u32, instructions: u32| {
        json!({
            "file": "/src/digits.cu",
            "line": number,
            "instructions": instructions,
            "names": ["DFMA"],
        })
    };
    let profile = with_stalls(sampled());
    let answer = the(&profile, "matmul_tiled");
    assert_eq!(
        answer["double_lines"],
        json!([lines(47, 3), lines(12, 1)]),
        "most instructions first"
    );
    assert_eq!(the(&profile, "relu_backward")["double_lines"], Value::Null);
}

#[test]
fn a_function_has_the_waits_of_its_kernels() {
    let answer = the(&with_stalls(sampled()), "gpu::Gpu::product");
    let kernels = answer["kernels"].as_array().expect("a list");
    let tiled = kernels.iter().find(|of| of["name"] == "matmul_tiled");
    let tiled = tiled.expect("it launches this kernel");
    assert_eq!(
        field(&tiled["stalls"], "waits", "reason"),
        ["long_scoreboard", "barrier", "wait"]
    );
    assert_eq!(field(&tiled["stalls"], "lines", "line"), [41, 47]);
    assert_eq!(field(tiled, "double_lines", "line"), [47, 12]);
}

#[test]
fn of_few_samples_only_the_number_is_said() {
    let profile = with_stalls(sampled());
    let few = json!([
        "program counters have 99 samples of it, of the 100 that shares need: run it \
         longer"
    ]);
    let function = the(&profile, "gpu::Gpu::transpose");
    assert_eq!(function["kernels"][0]["stalls"], json!({"samples": 99}));
    assert_eq!(function["know_more"], few);
}

#[test]
fn waits_that_are_unknown_name_the_option() {
    let profile = sampled();
    let latency = the(&profile, "gpu::Gpu::transpose");
    assert_eq!(latency["bound"], "latency");
    assert_eq!(latency["know_more"], json!([WITHOUT_STALLS]));
    assert_eq!(latency["kernels"][0].get("stalls"), None);
    let mut refused = profile;
    let gave_way = "sampling of hardware counters stopped after 5.0 s (GPUPROF_COUNTERS): the rest \
                    of the run is for stalls (GPUPROF_STALLS)";
    let short = "stalls are not sampled (GPUPROF_STALLS): leave out GPUPROF_COUNTERS";
    refused.diagnostics.notes = vec![gave_way.into(), short.into()];
    let answer = the(&refused, "gpu::Gpu::transpose");
    assert_eq!(answer["know_more"], json!([short]));
    let failed = "stalls are no longer sampled in a context (GPUPROF_STALLS): it failed";
    refused.diagnostics.notes = vec![failed.into()];
    let answer = the(&refused, "gpu::Gpu::transpose");
    assert_eq!(answer["know_more"], json!([failed]));
    // This note is no reason for missing counters.
    refused.diagnostics.notes = vec![short.into()];
    refused.counters = Vec::new();
    refused.kernels[0].counters = None;
    let answer = the(&refused, "matmul_tiled");
    assert_eq!(answer["know_more"], json!([WITHOUT_COUNTERS, short]));
}
