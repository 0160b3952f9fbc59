//! Tests of the tables of what the GPU ran.

use super::*;

fn kernel(name: &str, device: u32, total_ns: u64) -> KernelStats {
    KernelStats {
        name: name.into(),
        device,
        times: DurationStats {
            calls: 2,
            total_ns,
            ..DurationStats::default()
        },
        ..KernelStats::default()
    }
}

fn names(profile: &Profile, limit: usize) -> Vec<(String, u64)> {
    let rows = ActivityRow::limited(
        ActivityRow::of_profile(profile, &TableOptions::default()),
        limit,
    );
    let name = |row: &ActivityRow<'_>| (row.label.name.clone(), row.total_ns);
    rows.iter().map(name).collect()
}

#[test]
fn rows_are_ordered_by_time_and_what_the_limit_cuts_is_summed() {
    let profile = Profile {
        kernels: vec![kernel("a", 0, 5), kernel("b", 0, 9), kernel("c", 0, 1)],
        copies: vec![CopyStats {
            kind: "memset".into(),
            times: kernel("", 0, 7).times,
            ..CopyStats::default()
        }],
        ..Profile::default()
    };
    let expected = [("b", 9), ("[CUDA memset]", 7), ("… 2 others", 6)];
    assert_eq!(
        names(&profile, 2),
        expected.map(|(name, ns)| (name.into(), ns))
    );
    assert_eq!(names(&profile, usize::MAX).len(), 4);
    assert_eq!(names(&profile, 4).len(), 4);
}

#[test]
fn devices_are_named_where_there_are_several() {
    let profile = Profile {
        kernels: vec![kernel("a", 1, 5), kernel("a", 0, 9)],
        ..Profile::default()
    };
    assert_eq!(
        names(&profile, usize::MAX),
        [("GPU 0: a".into(), 9), ("GPU 1: a".into(), 5)]
    );
}

#[test]
fn a_copy_of_no_time_has_no_rate_and_a_sum_never_overflows() {
    let copies = CopyStats {
        bytes: 5,
        ..CopyStats::default()
    };
    let row = ActivityRow {
        copies: Some(&copies),
        ..ActivityRow::default()
    };
    assert_eq!(row.rate(), None);
    assert_eq!(total([u64::MAX, 1].into_iter()), u64::MAX);
}

#[test]
fn dimensions_leave_out_the_ones_at_the_end() {
    for (shape, text) in [
        ([4_096, 1, 1], "4096"),
        ([64, 32, 1], "64×32"),
        ([1, 1, 8], "1×1×8"),
        ([0, 0, 0], "0"),
    ] {
        assert_eq!(dimensions(shape), text);
    }
}
