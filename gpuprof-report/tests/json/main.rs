//! The JSON document of a profile.

mod documents;
#[path = "../profiles/mod.rs"]
mod profiles;
mod versions;

use documents::{all, document, fields, text};
use gpuprof_report::profile::{Bucket, Function, Profile};
use profiles::{
    digits, partly_timed, quickstart, training, trouble, with_stalls, with_steps, without_gpu,
    without_stream,
};
use serde_json::json;

#[test]
fn what_is_written_is_what_serde_json_would_write() {
    for profile in all() {
        let expected = serde_json::to_value(&profile).unwrap();
        assert_eq!(document(&profile), expected, "{}", profile.program);
        // A document that is read drops all but the last of several fields of one name.
        let fields = |text: &str| text.matches("\": ").count();
        let by_serde = serde_json::to_string_pretty(&profile).unwrap();
        assert_eq!(fields(&text(&profile)), fields(&by_serde), "a field twice");
    }
}

#[test]
fn reasons_of_no_call_and_cupti_fields_without_cupti_are_omitted() {
    let mut document = document(&quickstart());
    let function = fields(&mut document, "/functions/0");
    assert_eq!(function["untimed"], json!({}));
    for key in ["kernels", "busy_ns", "first_call_ns"] {
        assert!(!function.contains_key(key), "{key} without CUPTI");
    }
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

    let mut on_gpu = quickstart().functions.remove(0);
    on_gpu.cpu.histogram = histogram(25);
    on_gpu.gpu.as_mut().unwrap().times.histogram = histogram(25);
    let bytes = compact_bytes(&on_gpu);
    assert!(bytes <= 1_500, "{bytes} bytes");
}

#[test]
fn a_document_reads_back_as_the_same_profile() {
    for profile in [
        training(),
        trouble(),
        partly_timed(),
        without_gpu(),
        digits(),
        with_steps(training()),
        with_stalls(digits()),
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
