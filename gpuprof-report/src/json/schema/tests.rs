//! Documents hold to the schema, and the schema allows nothing else.

use gpuprof_report::profile::GpuActivity;
use serde_json::{Value, json};

use super::documents::{OBJECTS, add_kernel_tier, all, document, each_reason_once, everything};
use super::profiles::{partly_timed, training, trouble};
use super::schema;

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
        ("/functions/0/gpu/device", json!(-1)),
        ("/functions/0/untimed/queue_full", json!("none")),
        ("/functions/0/untimed/crossed_reset", json!(-1)),
        ("/functions/0/has_stream", json!(1)),
        ("/functions/0/captured_calls", Value::Null),
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
    whole.functions[0].untimed = each_reason_once();
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

/// Whether a document may lack this field.
fn may_be_omitted(pointer: &str, key: &str) -> bool {
    let activity = serde_json::to_value(GpuActivity::default()).unwrap();
    let of_function = key == "labels" || activity.get(key).is_some();
    let optional = [
        ("", "ranks"),
        ("", "steps"),
        ("", "stalls"),
        ("", "double_lines"),
        ("/stalls/kernels/1", "instructions"),
        ("/ranks", "collectives"),
        ("/ranks", "collective_processes"),
        ("/ranks", "step_windows"),
        ("/ranks", "late_steps"),
        ("/ranks/collective_processes/0", "window_ns"),
        ("/steps", "windows"),
        ("/steps", "open_collectives"),
        ("/steps", "open_collective_ns"),
        ("/ranks/functions/0", "collectives"),
        ("/steps/slowest/0", "rank"),
        ("/kernels/0", "histogram"),
    ];
    optional.contains(&(pointer, key))
        || pointer.ends_with("/untimed")
        || (pointer == "/functions/0" && of_function)
}

#[test]
fn every_field_is_required_but_reasons_labels_and_cupti_activity() {
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
            assert_eq!(
                validator.is_valid(&document),
                may_be_omitted(pointer, key),
                "{pointer}/{key}"
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
