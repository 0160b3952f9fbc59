use super::{DeviceBusy, MAX_PENDING_ACTIVITIES, RowTime, TimedActivity};
use crate::cupti::attribution::activity_path::{ActivityPath, ClosedNs};
use crate::cupti::attribution::row_keys::{CopyKey, KernelKey, RowKey};
use gpuprof_report::profile::CopyKind;

const MANY: u64 = 3 * MAX_PENDING_ACTIVITIES as u64;

fn activity(is_kernel: bool, start: u64, end: u64) -> TimedActivity {
    let (path, device) = (ActivityPath::Called(1), 0);
    let row = if is_kernel {
        RowKey::Kernel(KernelKey {
            path,
            symbol: Some(0),
            device,
        })
    } else {
        RowKey::Copy(CopyKey {
            path,
            kind: CopyKind::HtoD,
            device,
        })
    };
    TimedActivity {
        start,
        end,
        launch: None,
        closed: ClosedNs::default(),
        row,
    }
}

fn total_ns(finished: &[RowTime]) -> u64 {
    finished.iter().map(|row| row.ns).sum()
}

/// A kernel of 40 ns and a copy that is exposed for 20 ns in each 100 ns.
fn add_many(timeline: &mut DeviceBusy) -> u64 {
    let mut exposed_ns = 0;
    for at in (0..MANY).map(|index| 1_000 + index * 100) {
        // The copy comes first.
        for activity in [
            activity(false, at + 30, at + 60),
            activity(true, at, at + 40),
        ] {
            exposed_ns += total_ns(&timeline.add(activity));
        }
        assert!(timeline.pending.len() <= MAX_PENDING_ACTIVITIES);
    }
    exposed_ns
}

#[test]
fn beyond_the_limit_it_is_exact_in_whatever_order_they_came() {
    let mut timeline = DeviceBusy::default();
    let exposed_ns = add_many(&mut timeline);
    let exposed_ns = exposed_ns + total_ns(&timeline.finish());
    assert_eq!(exposed_ns, 20 * MANY);
    let times = timeline.times().expect("nothing came late");
    assert_eq!(times.kernel_ns, 40 * MANY);
    assert_eq!(times.copy_only_ns, 20 * MANY);
    assert_eq!(times.gaps, MANY - 1);
}

#[test]
fn what_comes_too_late_is_left_out_up_to_one_percent() {
    let mut timeline = DeviceBusy::default();
    let _ = add_many(&mut timeline);
    let limit = 60 * MANY / 100;
    assert!(timeline.add(activity(true, 5, 5 + limit)).is_empty());
    let mut finished = timeline.clone();
    let _ = finished.finish();
    assert_eq!(
        finished.times().map(|times| times.busy_ns()),
        Some(60 * MANY)
    );
    assert!(timeline.add(activity(false, 5, 6)).is_empty());
    let _ = timeline.finish();
    assert_eq!(timeline.times(), None);
}

#[test]
fn what_a_window_gets_after_its_end_is_late() {
    let mut timeline = DeviceBusy::default();
    assert!(timeline.add(activity(true, 1_000, 2_000)).is_empty());
    let _ = timeline.finish();
    assert!(timeline.add(activity(true, 1_500, 1_510)).is_empty());
    let _ = timeline.finish();
    assert_eq!(timeline.times().map(|times| times.kernel_ns), Some(1_000));
    assert!(timeline.add(activity(false, 3_000, 3_001)).is_empty());
    let _ = timeline.finish();
    assert_eq!(timeline.times(), None);
}

/// None of them ends.
#[test]
fn activities_at_once_are_bounded() {
    let mut timeline = DeviceBusy::default();
    for index in 0..MANY {
        let _ = timeline.add(activity(true, 1_000 + index, 1 << 40));
    }
    assert_eq!(timeline.sweep.running(), MAX_PENDING_ACTIVITIES);
    let _ = timeline.finish();
    assert_eq!(timeline.times(), None);
}
