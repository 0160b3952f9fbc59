//! The JSON document is what its checked-in schema says, in both directions.

#![cfg(feature = "enable")]

mod report_profiles;

use gpuprof_runtime::profile::{Profile, Times};
use gpuprof_runtime::report::json;
use report_profiles::{quickstart, training, trouble, without_gpu};
use serde_json::{Value, json};

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
        let longest = Times {
            total_ns: u64::MAX,
            max_ns: u64::MAX,
            stddev_ns: u64::MAX,
            ..Times::default()
        };
        (function.cpu, function.bytes) = (longest, Some(f64::MAX));
        // Not a number has no place in JSON and becomes null.
        function.flops = Some(f64::NAN);
    }
    profile
}

#[test]
fn real_documents_hold_to_the_schema() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    for profile in [
        training(),
        trouble(),
        quickstart(),
        without_gpu(),
        extreme(),
    ] {
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
        ("/functions/0/gpu/histogram/0/count", json!(0)),
        ("/functions/0/gpu_by_device/0/ordinal", json!(-1)),
        ("/functions/0/untimed/queue_full", json!("none")),
        ("/functions/0/has_stream", json!(1)),
        ("/tree/1/parent", json!("0")),
        ("/trust/sample", json!(0)),
        ("/trust/errors", json!(["CUDA_ERROR_UNKNOWN"])),
    ];
    for (pointer, value) in breaks {
        let mut document = document(&training());
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

#[test]
fn every_field_is_required() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let whole = document(&training());
    let objects = [
        "",
        "/devices/0",
        "/functions/0",
        "/functions/0/cpu",
        "/functions/0/gpu",
        "/functions/0/gpu_by_device/0",
        "/functions/0/untimed",
        "/functions/0/gpu/histogram/0",
        "/tree/0",
        "/trust",
        "/trust/untimed",
    ];
    for pointer in objects {
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
    for profile in [training(), trouble()] {
        described(&document(&profile), &[&schema], &schema, "");
    }
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
        for several in ["allOf", "anyOf"] {
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

#[test]
fn a_document_reads_back_as_the_same_profile() {
    for profile in [training(), trouble(), without_gpu()] {
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
