//! The JSON document is what its checked-in schema says, in both directions.

mod profiles;

use gpuprof_report::json;
use gpuprof_report::profile::{Bucket, Function, GpuActivity, Profile, SpanStats, Throttle};
use profiles::{
    convolution, digits, graphs, partly_timed, quickstart, training, trouble, without_gpu,
    without_stream,
};
use serde_json::{Map, Value, json};

fn schema() -> Value {
    serde_json::from_str(include_str!("../schema/profile-1.schema.json")).unwrap()
}

fn text(profile: &Profile) -> String {
    let mut out = Vec::new();
    json::write(profile, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn document(profile: &Profile) -> Value {
    serde_json::from_str(&text(profile)).unwrap()
}

/// Some figures at the ends of their ranges.
fn extreme() -> Profile {
    let mut profile = trouble();
    profile.wall_ns = u64::MAX;
    for function in &mut profile.functions {
        let mut longest = SpanStats::default();
        longest.total_ns = u64::MAX;
        longest.max_ns = u64::MAX;
        longest.stddev_ns = u64::MAX;
        (function.cpu, function.bytes) = (longest, Some(f64::MAX));
        // Not a number has no place in JSON and becomes null.
        function.flops = Some(f64::NAN);
    }
    profile
}

fn all() -> [Profile; 11] {
    [
        training(),
        trouble(),
        quickstart(),
        partly_timed(),
        graphs(),
        without_stream(),
        without_gpu(),
        convolution(),
        digits(),
        extreme(),
        serde_json::from_value(everything()).unwrap(),
    ]
}

#[test]
fn what_is_written_is_what_serde_json_would_write() {
    for profile in all() {
        let expected = serde_json::to_value(&profile).unwrap();
        assert_eq!(document(&profile), expected, "{}", profile.program);
    }
}

#[test]
fn real_documents_hold_to_the_schema() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    for profile in all() {
        let document = document(&profile);
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", profile.program);
    }
}

#[test]
fn the_schema_itself_is_valid() {
    assert!(jsonschema::draft202012::meta::is_valid(&schema()));
}

#[test]
fn broken_documents_are_refused() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let breaks = [
        ("/schema", json!("gpuprof.profile/2")),
        ("/pid", json!("4711")),
        ("/started_at", json!("yesterday")),
        ("/wall_ns", json!(-1)),
        ("/wall_ns", json!(0.5)),
        ("/devices/0/peak_flops_f32", json!("66.9 T")),
        ("/devices/0/uuid", json!("6f0c8f1e")),
        ("/functions/0/cpu", Value::Null),
        ("/functions/0/cpu/p95_ns", Value::Null),
        ("/functions/0/gpu/timed_calls", json!(1.5)),
        ("/functions/0/gpu/total_ns", json!(-3)),
        ("/functions/0/gpu/histogram/0/1", json!(0)),
        ("/functions/0/gpu_by_device/0/ordinal", json!(-1)),
        ("/functions/0/untimed/queue_full", json!("none")),
        ("/functions/0/untimed/crossed_reset", json!(-1)),
        ("/functions/0/has_stream", json!(1)),
        ("/functions/0/replays", json!(-1)),
        ("/functions/0/graph_calls", Value::Null),
        ("/tree/0/replays", json!("3")),
        ("/diagnostics/replays", json!(0.5)),
        ("/tree/1/parent", json!("0")),
        ("/diagnostics/sampling", json!({"one_in": 0})),
        ("/diagnostics/errors", json!(["CUDA_ERROR_UNKNOWN"])),
        ("/devices/0/registers_per_sm", json!(-1)),
        ("/cupti", json!("libcupti.so.13")),
        ("/cupti/dropped_records", Value::Null),
        ("/kernels/0/total_ns", json!(0.5)),
        ("/kernels/0/launch_latency", Value::Null),
        ("/kernels/0/grid", json!([1, 1])),
        ("/kernels/0/block", json!([1, 1, 1, 1])),
        ("/kernels/0/occupancy", json!(1.01)),
        ("/copies/0/kind", json!("host to device")),
        ("/copies/0/exposed_ns", json!("0")),
        ("/api/0/kind", json!("wait")),
        ("/api/0/failed", json!(-1)),
        ("/throttled/0/reasons", json!("power cap")),
        ("/findings/0/function", json!(3)),
        ("/findings/0/evidence", Value::Null),
        ("/functions/0/kernels/0/calls", json!(-1)),
        ("/functions/0/busy_ns", json!(-1)),
        ("/functions/0/idle_ns", json!("unknown")),
        ("/functions/0/launch_latency/p50_ns", Value::Null),
    ];
    let mut whole = training();
    add_kernel_tier(&mut whole);
    assert!(validator.is_valid(&document(&whole)));
    for (pointer, value) in breaks {
        let mut document = document(&whole);
        let spoiled = document
            .pointer_mut(pointer)
            .unwrap_or_else(|| panic!("{pointer} is not there"));
        *spoiled = value;
        assert!(
            !validator.is_valid(&document),
            "{pointer} may hold anything"
        );
    }
}

/// Gives the profile, and its first function, what CUPTI could have told of another one.
fn add_kernel_tier(profile: &mut Profile) {
    let seen = digits();
    let worked = |function: &&Function| !function.activity.kernels.is_empty();
    profile.functions[0].activity = seen.functions.iter().find(worked).unwrap().activity.clone();
    profile.functions[0].activity.copies = seen.copies.clone();
    (profile.cupti, profile.kernels, profile.copies) = (seen.cupti, seen.kernels, seen.copies);
    (profile.api, profile.findings) = (seen.api, seen.findings);
    profile.throttled = vec![{
        let mut throttle = Throttle::default();
        throttle.device = 0;
        throttle.reasons = vec!["power cap".into()];
        throttle.sm_clock_mhz = Some(1_350);
        throttle.max_sm_clock_mhz = Some(1_980);
        throttle
    }];
}

/// One object of every kind that a document may hold, of [`everything`].
const OBJECTS: [&str; 25] = [
    "",
    "/devices/0",
    "/cupti",
    "/kernels/0",
    "/kernels/0/launch_latency",
    "/copies/0",
    "/api/0",
    "/throttled/0",
    "/findings/0",
    "/functions/0/kernels/0",
    "/functions/0/kernels/0/launch_latency",
    "/functions/0/copies/0",
    "/functions/0/api/0",
    "/functions/0/launch_latency",
    "/functions/0",
    "/functions/0/cpu",
    "/functions/0/wall",
    "/functions/0/gpu",
    "/functions/0/gpu/estimate",
    "/functions/0/gpu_by_device/0",
    "/functions/0/untimed",
    "/tree/0",
    "/diagnostics",
    "/diagnostics/untimed",
    "/diagnostics/errors/0",
];

/// A document with one of everything, so that no object of [`OBJECTS`] is missing or null.
fn everything() -> Value {
    let mut profile = trouble();
    profile.tree = training().tree;
    let estimated = |function: &&Function| {
        let gpu = function.gpu.as_ref();
        gpu.is_some_and(|gpu| gpu.estimate.is_some())
    };
    let mut function = partly_timed()
        .functions
        .iter()
        .find(estimated)
        .unwrap()
        .clone();
    function.wall = Some(function.cpu.clone());
    profile.functions.insert(0, function);
    add_kernel_tier(&mut profile);
    document(&profile)
}

/// The fields of the object at `pointer`.
fn fields<'a>(document: &'a mut Value, pointer: &str) -> &'a mut Map<String, Value> {
    let object = document.pointer_mut(pointer).and_then(Value::as_object_mut);
    object.unwrap_or_else(|| panic!("{pointer} is no object"))
}

#[test]
fn a_document_without_a_newer_field_still_reads() {
    let older_than = |pointer: &str, key: &str| {
        let mut document = everything();
        fields(&mut document, pointer).remove(key).unwrap();
        serde_json::from_value::<Profile>(document)
    };
    for pointer in OBJECTS {
        for key in fields(&mut everything(), pointer).keys() {
            let read = older_than(pointer, key);
            assert!(read.is_ok(), "{pointer}/{key}: {read:?}");
        }
    }
    let mut newest: Profile = serde_json::from_value(everything()).unwrap();
    newest.diagnostics.untimed.queue_full = 0;
    let read = older_than("/diagnostics/untimed", "queue_full").unwrap();
    assert_eq!(read, newest, "the rest is not as it was written");
}

#[test]
fn a_document_from_before_the_kernel_tier_reads_as_one_without_it() {
    let mut expected: Profile = serde_json::from_value(everything()).unwrap();
    let mut older = everything();
    for key in ["cupti", "kernels", "copies", "api", "throttled", "findings"] {
        fields(&mut older, "").remove(key).unwrap();
    }
    let of_work = serde_json::to_value(GpuActivity::default()).unwrap();
    for at in 0..expected.functions.len() {
        let function = fields(&mut older, &format!("/functions/{at}"));
        for key in of_work.as_object().unwrap().keys() {
            function.remove(key).unwrap();
        }
        expected.functions[at].activity = GpuActivity::default();
    }
    let (kept, none) = (expected.clone(), Profile::default());
    expected = {
        let mut profile = kept;
        profile.cupti = none.cupti;
        profile.kernels = none.kernels;
        profile.copies = none.copies;
        profile.api = none.api;
        profile.throttled = none.throttled;
        profile.findings = none.findings;
        profile
    };
    assert_eq!(serde_json::from_value::<Profile>(older).unwrap(), expected);
}

#[test]
fn a_field_that_is_not_known_is_passed_over() {
    let known: Profile = serde_json::from_value(everything()).unwrap();
    let mut newer = everything();
    for pointer in OBJECTS {
        fields(&mut newer, pointer).insert("of_version_9".into(), json!({"any": [1, null]}));
    }
    assert_eq!(serde_json::from_value::<Profile>(newer).unwrap(), known);
}

#[test]
fn every_field_is_required() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let whole = everything();
    assert!(validator.is_valid(&whole));
    for pointer in OBJECTS {
        for key in whole
            .pointer(pointer)
            .and_then(Value::as_object)
            .unwrap()
            .keys()
        {
            let mut document = whole.clone();
            document
                .pointer_mut(pointer)
                .and_then(Value::as_object_mut)
                .unwrap()
                .remove(key);
            assert!(
                !validator.is_valid(&document),
                "{pointer}/{key} may be missing"
            );
        }
    }
}

#[test]
fn every_field_that_is_written_is_described() {
    let schema = schema();
    for profile in [training(), trouble(), partly_timed()] {
        described(&document(&profile), &[&schema], &schema, "");
    }
    described(&everything(), &[&schema], &schema, "");
}

/// Holds every key of `value` against the properties of `rules`, with references followed.
fn described(value: &Value, rules: &[&Value], schema: &Value, path: &str) {
    let rules = expanded(rules, schema);
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let found: Vec<&Value> = rules
                    .iter()
                    .filter_map(|rule| rule.get("properties").and_then(|all| all.get(key)))
                    .collect();
                assert!(!found.is_empty(), "{path}/{key} is not in the schema");
                assert!(
                    expanded(&found, schema)
                        .iter()
                        .any(|rule| rule.get("description").is_some()),
                    "{path}/{key} is not described"
                );
                described(field, &found, schema, &format!("{path}/{key}"));
            }
        }
        Value::Array(items) => {
            let found: Vec<&Value> = rules.iter().filter_map(|rule| rule.get("items")).collect();
            for item in items {
                described(item, &found, schema, &format!("{path}[]"));
            }
        }
        _ => {}
    }
}

/// `rules` and all that they refer to.
fn expanded<'a>(rules: &[&'a Value], schema: &'a Value) -> Vec<&'a Value> {
    let mut all = Vec::new();
    let mut open = rules.to_vec();
    while let Some(rule) = open.pop() {
        all.push(rule);
        if let Some(target) = rule.get("$ref").and_then(Value::as_str) {
            open.push(schema.pointer(target.trim_start_matches('#')).unwrap());
        }
        for several in ["allOf", "anyOf", "oneOf"] {
            open.extend(
                rule.get(several)
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten(),
            );
        }
    }
    all
}

fn histogram(n: u32) -> Vec<Bucket> {
    (0..n).map(|index| (200 + index, 1_000).into()).collect()
}

fn compact_bytes(function: &Function) -> usize {
    serde_json::to_string(function).unwrap().len()
}

#[test]
fn a_function_with_fifty_filled_buckets_takes_at_most_1500_bytes() {
    let mut on_cpu = without_stream().functions.remove(0);
    on_cpu.cpu.histogram = histogram(50);
    let bytes = compact_bytes(&on_cpu);
    assert!(bytes <= 1_500, "{bytes} bytes");

    // Statistics of the GPU, in all and by device, add their other fields twice.
    let mut on_gpu = quickstart().functions.remove(0);
    on_gpu.cpu.histogram = histogram(20);
    let gpu = on_gpu.gpu.as_mut().unwrap();
    gpu.times.histogram = histogram(15);
    on_gpu.gpu_by_device[0].gpu = gpu.clone();
    let bytes = compact_bytes(&on_gpu);
    assert!(bytes <= 2_150, "{bytes} bytes");
}

#[test]
fn a_document_reads_back_as_the_same_profile() {
    for profile in [
        training(),
        trouble(),
        partly_timed(),
        without_gpu(),
        digits(),
    ] {
        let back: Profile = serde_json::from_str(&text(&profile)).unwrap();
        assert_eq!(back, profile);
    }
}

#[test]
fn it_is_one_indented_document_with_a_newline_at_its_end() {
    let text = text(&quickstart());
    assert!(text.starts_with("{\n  \"schema\": \"gpuprof.profile/1\",\n"));
    assert!(text.ends_with("\n}\n"));
}
