//! Documents of older and newer versions read.

use gpuprof_report::profile::{GpuActivity, Profile};
use serde_json::json;

use crate::documents::{OBJECTS, everything, fields};

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
            function.remove(key);
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
