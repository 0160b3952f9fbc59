//! Profiles with CUPTI's records and profiles without are not added to each other.

use crate::merge::Merger;
use crate::profile::{CuptiCompleteness, Function, GpuActivity, GpuBusy, Profile, TreeNode};

/// A rank with one call, of 352 µs of busy time where it has records.
fn rank(number: u32, has_records: bool) -> Profile {
    let busy_ns = has_records.then_some(352_000);
    let function = Function {
        name: "upload".into(),
        calls: 1,
        activity: GpuActivity {
            busy_ns,
            busy_calls: u64::from(has_records),
            ..GpuActivity::default()
        },
        ..Function::default()
    };
    let node = TreeNode {
        name: "upload".into(),
        function: Some(0),
        calls: 1,
        busy_ns,
        ..TreeNode::default()
    };
    Profile {
        rank: Some(number),
        cupti: has_records.then(CuptiCompleteness::default),
        gpu_busy: vec![GpuBusy {
            busy_ns: busy_ns.unwrap_or(2_180_000),
            ..GpuBusy::default()
        }],
        functions: vec![function],
        tree: vec![node],
        ..Profile::default()
    }
}

fn merge<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Profile {
    let mut merger = Merger::default();
    profiles.into_iter().for_each(|profile| merger.add(profile));
    merger.finish()
}

/// Ranks whose records are there or not, in this order.
fn ranks(have_records: &[bool]) -> Vec<Profile> {
    let ranks = (0..).zip(have_records);
    ranks
        .map(|(at, has_records)| rank(at, *has_records))
        .collect()
}

#[test]
fn the_fewer_profiles_are_left_out_and_named() {
    let lack = "1 of 4 profiles lacks CUPTI's records, unlike the others, and is left out: rank 2; \
                set GPUPROF_CUPTI to the same value in all";
    let have = "1 of 4 profiles has CUPTI's records, unlike the others, and is left out: rank 0; \
                set GPUPROF_CUPTI to the same value in all";
    let both = "2 of 4 profiles lack CUPTI's records, unlike the others, and are left out: rank 0, \
                rank 3; set GPUPROF_CUPTI to the same value in all";
    for (have_records, keeps_records, note) in [
        ([true, true, false, true], true, lack),
        ([true, false, false, false], false, have),
        ([false, true, true, false], true, both),
    ] {
        let all = ranks(&have_records);
        let kept = all
            .iter()
            .filter(|rank| rank.cupti.is_some() == keeps_records);
        let mut expected = merge(kept);
        expected.diagnostics.notes.push(note.to_owned());
        assert_eq!(merge(&all), expected);
    }
}

#[test]
fn the_first_of_the_left_out_is_the_one_that_was_added_first() {
    let mut merger = Merger::default();
    let first = |merger: &Merger| merger.left_out().map(|left_out| left_out.first);
    merger.add(&Profile::default());
    merger.add(&rank(0, true));
    assert_eq!(first(&merger), None);
    merger.add(&rank(1, false));
    assert_eq!(first(&merger), Some(2));
    merger.add(&rank(2, false));
    assert_eq!(first(&merger), Some(1));
}

#[test]
fn at_most_eight_of_the_left_out_are_named() {
    let mut have_records = vec![true; 30];
    have_records[10..20].fill(false);
    let notes = merge(&ranks(&have_records)).diagnostics.notes;
    let [note] = notes.as_slice() else {
        panic!("{notes:?}");
    };
    assert!(note.starts_with("10 of 30 profiles lack"), "{note}");
    assert!(note.contains("left out: rank 10, "), "{note}");
    assert!(note.contains("rank 17, …; set"), "{note}");
}

#[test]
fn a_merged_profile_counts_as_its_ranks() {
    let merged = merge(&ranks(&[false; 3]));
    let with = [rank(3, true), rank(4, true)];
    let profile = merge(with.iter().chain([&merged]));
    assert_eq!(profile.ranks.unwrap().profiles, 3);
    let expected = "2 of 5 profiles have CUPTI's records, unlike the others, and are left out: \
                    rank 3, rank 4; set GPUPROF_CUPTI to the same value in all";
    assert_eq!(profile.diagnostics.notes, [expected]);
}

#[test]
fn a_profile_in_which_nothing_ran_is_added_to_either() {
    for has_records in [true, false] {
        let profile = merge(&[Profile::default(), rank(0, has_records)]);
        assert_eq!(profile.ranks.unwrap().profiles, 2);
        assert_eq!(profile.diagnostics.notes, [""; 0]);
    }
}
